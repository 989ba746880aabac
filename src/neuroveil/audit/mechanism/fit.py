"""Whether noise follows the law that a chain promises, apart from its scale.

The scale is estimated from the noise itself, so that a fit that fails speaks of the shape.
Counts in bins are compared with what the law expects (Pearson's chi-square). Where a scale is
estimated from the values themselves, the statistic lies between two chi-square laws (Chernoff
and Lehmann 1954); the larger one is taken, so that a good mechanism is rejected no more often
than stated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from neuroveil.audit.mechanism.noise_scale import Family
from neuroveil.types.recording import FloatArray

_CENTRAL_BINS = 40
_EXPECTED_IN_TAIL = 20.0
_SMALLEST_SAMPLE = 50


@dataclass(frozen=True)
class LawFit:
    """How well noise follows a law.

    Parameters
    ----------
    family : str
        The law.
    n_values : int
        Values it rests on.
    p_value : float
        Chance of a fit at least as bad under the law, at most.
    bins : int
        Number of bins.
    detectable : float
        Smallest chi-square distance, sqrt(sum of (p - q)^2 / q over bins), that a run of this
        size finds in about 80 of 100 runs at a level of 2.5 %.
    """

    family: str
    n_values: int
    p_value: float
    bins: int
    detectable: float


def noise_fit(noise: FloatArray, family: Family) -> LawFit | None:
    """Compare the shape of noise around 0 with a law.

    Parameters
    ----------
    noise : ndarray of float64, shape (n_rows, dimension)
        Released minus bounded rows (no unit).
    family : {"gaussian", "laplace"}
        The law that is promised.

    Returns
    -------
    LawFit or None
        Nothing below 50 values, where shapes cannot be told apart.
    """
    values = _off_the_grid(noise.ravel())
    if values.size < _SMALLEST_SAMPLE:
        return None
    if family == "gaussian":
        scale = math.sqrt(float(np.mean(values**2)))
    else:
        scale = float(np.mean(np.abs(values)))
    return _pearson(_cumulative(values / scale, family), family)


def normal_fit(scores: FloatArray) -> LawFit | None:
    """Compare the shape of scores with a normal law of their own mean and variance.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_trials,)
        Scores of an attack on one table.

    Returns
    -------
    LawFit or None
        Nothing below 50 values, or where all scores are the same.
    """
    spread = float(scores.std())
    if scores.size < _SMALLEST_SAMPLE or spread == 0:
        return None
    return _pearson(_cumulative((scores - scores.mean()) / spread, "gaussian"), "gaussian")


def _off_the_grid(values: FloatArray) -> FloatArray:
    """Spread rounded values evenly over the steps that they were rounded to.

    Rounding costs no privacy. Values on a grid fill bins of a few steps unevenly, which would
    pass for noise of another shape.
    """
    distances = np.diff(np.unique(values))
    if not distances.size or distances.size + 1 == values.size:  # nothing is equal: no grid
        return values
    steps = np.random.default_rng(0).uniform(-0.5, 0.5, values.size)
    return values + float(distances.min()) * steps


def _cumulative(values: FloatArray, family: Family) -> FloatArray:
    """Distribution function of the law with scale 1; its two tails keep their digits."""
    from scipy.special import ndtr

    if family == "gaussian":
        return ndtr(values)
    small = 0.5 * np.exp(-np.abs(values))
    return np.where(values < 0, small, 1 - small)


def _pearson(uniform: FloatArray, family: Family) -> LawFit:
    """Count values in bins that are finer in the tails, where privacy is decided."""
    from scipy.stats import chi2

    n_values = uniform.size
    edges = _edges(n_values)
    counts = np.histogram(uniform, bins=edges)[0]
    expected = n_values * np.diff(edges)
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    freedom = len(expected) - 1
    return LawFit(
        family, n_values, float(chi2.sf(statistic, freedom)), len(expected),
        math.sqrt(_detectable_noncentrality(freedom) / n_values),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _detectable_noncentrality(freedom: int) -> float:
    """Noncentrality at which a chi-square test at 2.5 % rejects in 80 of 100 runs."""
    from scipy.stats import chi2, ncx2

    critical = float(chi2.isf(0.025, freedom))
    low, high = 0.0, 20.0 * (critical + 1)
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if ncx2.sf(critical, freedom, middle) > 0.8 else (middle, high)
    return high


def _edges(n_values: int) -> FloatArray:
    """Bin edges in probability: even in the middle, halving towards both ends."""
    middle = np.linspace(0, 1, _CENTRAL_BINS + 1)
    if n_values / _CENTRAL_BINS < _EXPECTED_IN_TAIL:
        return np.linspace(0, 1, max(4, int(n_values / _EXPECTED_IN_TAIL)) + 1)
    tails = []
    edge = middle[1] / 2
    while edge * n_values >= _EXPECTED_IN_TAIL:
        tails.append(edge)
        edge /= 2
    tail = np.array(tails[::-1])
    return np.concatenate([[0.0], tail, middle[1:-1], 1 - tail[::-1], [1.0]])
