"""Whether constants of scaling lie on the public grid that quantiles are drawn from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify.statement import as_number

_ROUNDING = 1e-9
_LARGEST = Fraction(10**150)


def is_candidate(entry: Mapping[str, Any], scale: Fraction, points: int) -> bool:
    """Whether a centre and a spread are on the grid, up to the rounding of doubles.

    Centres are ``public + unit * scale * t(s)`` for s = (2i + 1 - P) / P and spreads
    ``2 * unit * scale * t(s)`` for s = (2i + 1) / (2P), with i from 0 to P - 1 and
    t(s) = s sqrt(2 / (1 - s²)), the quantiles of Student's t with two degrees of freedom.

    Parameters
    ----------
    entry : mapping
        A column's entry of the dictionary, with ``Centre``, ``Spread``, ``PublicCentre`` and
        ``PublicSpread`` (all on the column's scale).
    scale : Fraction
        Scale of the grid, in public spreads; positive.
    points : int
        Number P of candidates, at least 2.

    Returns
    -------
    bool
        False where a number is missing, or out of all proportion.
    """
    numbers = [
        as_number(entry.get(key)) for key in ("Centre", "Spread", "PublicCentre", "PublicSpread")
    ]
    centre, spread, public, unit = numbers
    if centre is None or spread is None or public is None or unit is None:
        return False
    if unit <= 0 or spread <= 0 or max(map(abs, (centre, spread, public))) > unit * _LARGEST:
        return False
    step = unit * scale
    if step * _LARGEST < 1 or max(abs(centre - public), spread) > step * _LARGEST:
        return False
    # A centre near the public one has lost digits in the sum, and they are lost for good.
    lost = 4 * math.ulp(float(max(abs(centre), abs(public)))) / float(step)
    at, width = float((centre - public) / step), float(spread / (2 * step))
    index = _nearest((points * _share(at) + points - 1) / 2, points)
    right = _quantile((2 * index + 1 - points) / points)
    far = _nearest((2 * points * _share(width) - 1) / 2, points)
    distance = _quantile((2 * far + 1) / (2 * points))
    return (
        abs(at - right) <= lost + _ROUNDING * (1 + abs(right))
        and abs(width - distance) <= _ROUNDING * (1 + distance)
    )  # fmt: skip


def _nearest(place: float, points: int) -> int:
    return min(max(round(place), 0), points - 1)


def _quantile(step: float) -> float:
    """Quantile of Student's t with two degrees of freedom at probability (1 + step) / 2."""
    return step * math.sqrt(2 / (1 - step * step))


def _share(value: float) -> float:
    """The step that belongs to a quantile."""
    return value / math.hypot(math.sqrt(2), value)
