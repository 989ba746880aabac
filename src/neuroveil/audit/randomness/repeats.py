"""Noise that comes twice: bit by bit the same, anywhere in two runs.

Fresh noise with 40 bits after the point never repeats. Where it does, randomness was used
twice: a seed that is fixed, counted up, made from the row, or too short. Mechanisms with few
possible outputs repeat by their nature, but at no lag more than at another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuroveil.audit.bits_events import lowest_bit
from neuroveil.audit.randomness.streams import Streams
from neuroveil.types.recording import FloatArray

FALSE_ALARM = 1e-6
"""Chance at most that independent noise is called repeated."""

_MOST_PAIRS = 2_000_000
_MOST_PLACES = 1500
_ATOM = 0.01  # a value that is more frequent has a chance of its own, and no spacing


@dataclass(frozen=True)
class Repeats:
    """Pairs of equal noise.

    Parameters
    ----------
    n_compared : int
        Pieces of noise that were compared, each with each.
    n_pairs : int
        Equal pairs among them; counting stops after two million.
    expected : float
        Pairs that chance alone would make, from the spacing of the values.
    p_value : float
        Chance of so many pairs in fresh noise with this spacing.
    lag : int or None
        Distance, in pieces, at which most equal pairs lie; none where there is no pair.
    lag_p_value : float
        Chance that pairs that are spread evenly would pile up like this at one distance.
    """

    n_compared: int
    n_pairs: int
    expected: float
    p_value: float
    lag: int | None
    lag_p_value: float


def repeated_rows(streams: Streams) -> Repeats:
    """Look for rows of noise that come twice.

    Parameters
    ----------
    streams : Streams
        Both runs.

    Returns
    -------
    Repeats
        Of whole rows, over both runs one after the other.
    """
    rows = streams.units.reshape(-1, streams.dimension)
    keys = np.ascontiguousarray(rows).view([("", rows.dtype)] * streams.dimension).ravel()
    single = _chance(rows)
    if streams.dimension == 1:
        return _repeats(keys, single)
    chance = math.prod(max(single, _equal_share(column)) for column in rows.T)
    # Shares are estimates, and numbers of equal pairs vary more than rare events do.
    return _repeats(keys, chance if chance == single**streams.dimension else 2 * chance)


def repeated_values(streams: Streams) -> Repeats:
    """Look for single values of noise that come twice, in any column.

    Parameters
    ----------
    streams : Streams
        Both runs.

    Returns
    -------
    Repeats
        Of single values, over both runs one after the other.
    """
    cells = streams.units.ravel()
    values, place, counts = np.unique(cells, return_inverse=True, return_counts=True)
    rare = counts <= max(1.0, _ATOM * cells.size)
    if values.size > 1 and rare.any():  # a range that values are clamped to, or zeros by design
        cells = cells[rare[place.ravel()]]
    return _repeats(cells, _chance(streams.units))


def _chance(values: FloatArray) -> float:
    """Chance that two fresh values are equal: spacing over the interquartile range.

    That is more than it really is for Gaussian and Laplace noise, so p values are too large
    rather than too small. Releases may be rounded, which costs no privacy and makes values equal:
    the spacing is that of binary places or the smallest distance of two values that differ,
    whichever is larger. Of noise without any grid, that distance makes about one pair of equal
    values likely, however many there are.
    """
    cells = values[values != 0]
    if not cells.size:
        return 1.0
    lower, upper = np.quantile(values, [0.25, 0.75])
    # Where half of the values are one and the same, their size has to do.
    width = float(upper - lower) or float(np.abs(cells).max())
    spacing: float = 2.0 ** float(np.median(lowest_bit(cells)))
    distances = np.diff(np.unique(values))
    if distances.size:  # else all are one and the same
        spacing = max(spacing, float(distances.min()))
    return min(1.0, spacing / width)


def _equal_share(column: FloatArray) -> float:
    """Share of equal pairs in one column, which says how often whole rows are equal by chance.

    Noise that is used twice raises it too, but by the share of repeated rows alone, and the
    product over columns stays far below that share.
    """
    counts = np.unique(column, return_counts=True)[1].astype(np.float64)
    n = column.size
    return 0.0 if counts.size == 1 else float(counts @ (counts - 1)) / (n * (n - 1))


def _repeats(keys: npt.NDArray[np.generic], chance: float) -> Repeats:
    from scipy.special import pdtrc

    n = len(keys)
    lags = _lags_of_equal_pairs(keys)
    expected = n * (n - 1) / 2 * chance
    p_value = float(pdtrc(len(lags) - 1, expected)) if len(lags) else 1.0
    if not len(lags):
        return Repeats(n, 0, expected, p_value, None, 1.0)
    found, counts = np.unique(lags, return_counts=True)
    # Pairs that are spread evenly lie at a lag as often as there are pairs of that lag.
    even = len(lags) * 2 * (n - found) / (n * (n - 1))
    tails = np.asarray(pdtrc(counts - 1, even))
    place = int(tails.argmin())
    lag_p_value = min(1.0, float(tails[place]) * (n - 1))
    return Repeats(n, len(lags), expected, p_value, int(found[place]), lag_p_value)


def _lags_of_equal_pairs(keys: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """Distances of all equal pairs, or of two million of them."""
    order = np.argsort(keys, kind="stable")
    _, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    lags: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    n_pairs = 0
    generator = np.random.default_rng(0)
    for start, count in zip(starts[counts > 1], counts[counts > 1], strict=True):
        places = order[start : start + count]
        if count > _MOST_PLACES:  # some of them, from everywhere, so that lags stay as they are
            places = np.sort(generator.choice(places, _MOST_PLACES, replace=False))
        first, second = np.triu_indices(len(places), 1)
        lags.append(places[second] - places[first])
        n_pairs += len(first)
        if n_pairs >= _MOST_PAIRS:
            break
    return np.abs(np.concatenate(lags))
