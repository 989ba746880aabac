"""Where a bound of delta crosses its target, always from the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

_SMALLEST = 1e-300


def safe_crossing(
    bound: Callable[[float], float], safe: float, unsafe: float, delta: float, width: float
) -> float:
    """Find a point near the crossing of a bound and its target where the bound holds.

    Parameters
    ----------
    bound : callable
        Upper bound of delta as a function of one parameter.
    safe : float
        A value at which the bound is at most ``delta``.
    unsafe : float
        A value at which it is above, or the end of the range of interest.
    delta : float
        Target.
    width : float
        Distance from the crossing that is tolerated, positive.

    Returns
    -------
    float
        A value at which ``bound`` was evaluated and is at most ``delta``, within about
        ``width`` of the crossing; ``unsafe`` itself where the bound holds even there.
    """
    from scipy.optimize import brentq

    def gap(value: float) -> float:
        # Square roots of logarithms of normal tails are almost straight lines.
        found = min(1.0, max(_SMALLEST, bound(value)))
        return math.sqrt(-math.log(delta)) - math.sqrt(-math.log(found))

    if gap(unsafe) <= 0:
        return unsafe
    if gap(safe) >= 0:
        return safe
    found = float(brentq(gap, safe, unsafe, xtol=width / 4, rtol=1e-14))
    away = math.copysign(width / 2, safe - unsafe)
    while bound(found) > delta:
        found += away
        if (found - safe) * (unsafe - safe) <= 0:
            return safe
    return found
