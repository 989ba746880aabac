"""Streams of noise that follow each other at some lag: full cross-correlation by FFT.

Values are replaced by normal scores, so that heavy tails cannot raise an alarm. Every lag is
looked at, within a run and between two runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from neuroveil.audit.randomness.streams import Streams
from neuroveil.types.recording import FloatArray

_LARGEST_LAG = 0.75  # of a stream: beyond it, too few values overlap
_MAD_OF_NORMAL = 0.6745


@dataclass(frozen=True, eq=False)
class Correlation:
    """The strongest correlation between noise and noise at a distance.

    Parameters
    ----------
    n_values : int
        Values that overlap at the strongest lag.
    n_lags : int
        Lags that were looked at, over all comparisons.
    lag : int
        Strongest lag, in values; across two runs it may be 0 or negative.
    across_runs : bool
        Whether it lies between the two runs, or within one.
    value : float
        Correlation there (no unit).
    p_value : float
        Chance of one as strong at any lag in independent noise, from the normal law.
    threshold : float
        Correlation that would have been called one at this lag (no unit).
    smallest_detectable : float
        Correlation that is called one at every lag that was looked at (no unit): what the lag
        with the fewest overlapping values needs. Unlike `threshold` it does not depend on which
        lag happens to be the strongest.
    lags : ndarray of int64, shape (n_lags,)
        Lags of the strongest comparison.
    values : ndarray of float64, shape (n_lags,)
        Correlations at these lags (no unit).
    """

    n_values: int
    n_lags: int
    lag: int
    across_runs: bool
    value: float
    p_value: float
    threshold: float
    smallest_detectable: float
    lags: npt.NDArray[np.int64]
    values: FloatArray


def strongest_correlation(
    streams: Streams, false_alarm: float, *, independent_cells: bool
) -> Correlation:
    """Correlate the two runs with each other and each with itself, at all lags.

    Parameters
    ----------
    streams : Streams
        Both runs.
    false_alarm : float
        Chance at most that independent noise passes the threshold.
    independent_cells : bool
        Whether the cells of one row are meant to be independent; if not, only whole rows are
        compared with whole rows within a run.

    Returns
    -------
    Correlation
        The strongest.
    """
    step = 1 if independent_cells else streams.dimension
    scores = np.stack([_normal_scores(run).ravel() for run in streams.units])
    compared = [
        # Two runs are independent at every lag, whatever the cells of a row have in common.
        _compare(scores[0], scores[1], 1, across_runs=True),
        _compare(scores[0], scores[0], step, across_runs=False),
        _compare(scores[1], scores[1], step, across_runs=False),
    ]
    n_lags = sum(len(each.lags) for each in compared)
    best = max(compared, key=lambda each: each.largest)
    place = int(np.abs(best.z).argmax())
    n_values = scores.shape[1] - abs(int(best.lags[place]))
    needed = _normal_quantile(false_alarm / (2 * n_lags))
    return Correlation(
        n_values=n_values,
        n_lags=n_lags,
        lag=int(best.lags[place]),
        across_runs=best.across_runs,
        value=float(best.values[place]),
        p_value=min(1.0, n_lags * math.erfc(best.largest / math.sqrt(2))),
        threshold=needed * best.width / math.sqrt(n_values),
        smallest_detectable=max(each.hardest(len(scores[0])) for each in compared) * needed,
        lags=best.lags,
        values=best.values,
    )


@dataclass(frozen=True, eq=False)
class _Compared:
    lags: npt.NDArray[np.int64]
    values: FloatArray
    z: FloatArray
    across_runs: bool
    width: float

    @property
    def largest(self) -> float:
        return float(np.abs(self.z).max(initial=0.0))

    def hardest(self, n: int) -> float:
        """Correlation that one unit of z means at the lag with the fewest values in common."""
        return self.width / math.sqrt(n - int(np.abs(self.lags).max()))


def _compare(one: FloatArray, other: FloatArray, step: int, *, across_runs: bool) -> _Compared:
    from scipy.fft import irfft, next_fast_len, rfft

    n = len(one)
    length = next_fast_len(2 * n, real=True)
    products = irfft(rfft(one, length).conj() * rfft(other, length), length)
    furthest = max(step, int(_LARGEST_LAG * n) // step * step)
    lags = np.arange(-furthest if across_runs else step, furthest + 1, step, dtype=np.int64)
    lags = lags[np.abs(lags) < n]
    overlap = n - np.abs(lags)
    # Divided by the squares of the very values that overlap, it is a correlation: of independent
    # normal values its tails are those of the normal law or lighter, also far out. Divided by
    # their number, it would have the heavier tails of a sum of products.
    values = products[lags % length] / np.sqrt(_squares(one, -lags) * _squares(other, lags))
    z = values * np.sqrt(overlap)
    # Cells of a row that depend on each other widen the whole function, and no lag alone.
    width = max(1.0, float(np.median(np.abs(z))) / _MAD_OF_NORMAL)
    return _Compared(lags, values, z / width, across_runs, width)


def _squares(scores: FloatArray, lags: npt.NDArray[np.int64]) -> FloatArray:
    """Sums of squares of the scores from `lag` on, or up to the last `-lag`."""
    up_to = np.concatenate([[0.0], np.cumsum(scores**2)])
    sums: FloatArray = np.where(
        lags >= 0, up_to[-1] - up_to[np.maximum(lags, 0)], up_to[len(scores) + np.minimum(lags, 0)]
    )
    return np.where(sums > 0, sums, 1.0)


def _normal_scores(values: FloatArray) -> FloatArray:
    """Normal quantiles of the ranks in each column, of mean 0 and variance 1."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores = np.asarray(ndtri((rankdata(values, axis=0) - 0.5) / len(values)))
    scores -= scores.mean(axis=0)
    spread = scores.std(axis=0)
    scaled: FloatArray = scores / np.where(spread > 0, spread, 1.0)
    return scaled


def _normal_quantile(tail: float) -> float:
    from scipy.special import ndtri

    return float(-ndtri(tail))
