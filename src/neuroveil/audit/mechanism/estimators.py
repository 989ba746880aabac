"""From counts of right and wrong guesses to a certified lower bound of epsilon.

An (epsilon, delta) guarantee makes every event obey P(event | first table) <= e^epsilon
P(event | second table) + delta. So two binomial counts of one event, with Clopper-Pearson
intervals, bound epsilon from below, whatever the mechanism is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neuroveil.types.recording import FloatArray

LEVEL = 0.95
"""Confidence of a bound or of a two-sided interval, unless another is asked for."""

VERDICT_LEVEL = 0.999
"""Confidence that it takes to call a claim violated, in each attack.

Figures are given at :data:`LEVEL`. Of sound mechanisms, one in forty has an interval beyond its
claim at that level, and an audit of several attacks would accuse one in ten.
"""

_THRESHOLDS = 1001


def verdict_level(level: float) -> float:
    """Give the confidence of a verdict for figures of a confidence.

    Parameters
    ----------
    level : float
        Confidence of the figures.

    Returns
    -------
    float
        At least :data:`VERDICT_LEVEL`.
    """
    return max(level, VERDICT_LEVEL)


def clopper_pearson(hits: FloatArray, n_trials: int, level: float) -> tuple[FloatArray, FloatArray]:
    """Give exact two-sided intervals of probabilities from binomial counts.

    Parameters
    ----------
    hits : ndarray of float64, shape (n_events,)
        Counts between 0 and ``n_trials``; fractions are allowed, for expected counts.
    n_trials : int
        Trials behind each count.
    level : float
        Confidence of the interval; each end misses with at most half of the rest.

    Returns
    -------
    low, high : ndarray of float64, shape (n_events,)
        Ends of the intervals.

    References
    ----------
    Clopper and Pearson 1934, "The use of confidence or fiducial limits".
    """
    return _lower_end(hits, n_trials, (1 - level) / 2), _upper_end(hits, n_trials, (1 - level) / 2)


def epsilon_bounds(
    hits: FloatArray, false_hits: FloatArray, n_trials: int, delta: float, level: float = LEVEL
) -> FloatArray:
    """Give lower bounds of epsilon from counts of events on both sides.

    Each bound holds on its own with the stated confidence: choose the event on other trials.

    Parameters
    ----------
    hits, false_hits : ndarray of float64, shape (n_events,)
        How often each event happened on the first and on the second table.
    n_trials : int
        Trials on each side.
    delta : float
        Delta of the claim, a probability.
    level : float
        Confidence of a bound.

    Returns
    -------
    ndarray of float64, shape (n_events,)
        Lower bounds of epsilon (no unit), at least 0.
    """
    low = _lower_end(hits, n_trials, (1 - level) / 2)
    high = _upper_end(false_hits, n_trials, (1 - level) / 2)
    with np.errstate(divide="ignore"):
        bounds: FloatArray = np.log(np.maximum(low - delta, 0.0)) - np.log(high)
    return np.maximum(bounds, 0.0)


def epsilon_cap(n_trials: int, delta: float = 0.0, level: float = LEVEL) -> float:
    """Give the largest lower bound that so many certifying trials a side can show.

    Parameters
    ----------
    n_trials : int
        Certifying trials on each side.
    delta : float
        Delta of the claim, a probability.
    level : float
        Confidence of the bound.

    Returns
    -------
    float
        The bound when every guess is right (no unit).
    """
    every, none = np.array([float(n_trials)]), np.array([0.0])
    return float(epsilon_bounds(every, none, n_trials, delta, level)[0])


@dataclass(frozen=True, eq=False)
class TradeOff:
    """What the best test achieves between two known laws, threshold by threshold.

    Parameters
    ----------
    true_positive, false_positive : ndarray of float64, shape (n_thresholds,)
        Probability that the log-likelihood ratio lies above each threshold, on the first and
        on the second table.
    """

    true_positive: FloatArray
    false_positive: FloatArray

    def epsilon(self, delta: float) -> float:
        """Give the smallest epsilon that these two laws allow at a delta.

        Parameters
        ----------
        delta : float
            A probability, above the rounding of the curve (1e-12).

        Returns
        -------
        float
            Epsilon (no unit); infinity where an event happens on one side only.
        """
        excess = self.true_positive - delta
        worth = excess > 0
        with np.errstate(divide="ignore"):
            ratios = np.log(excess[worth]) - np.log(self.false_positive[worth])
        return max(0.0, float(ratios.max(initial=0.0)))

    def oracle(self, n_trials: int, delta: float, level: float = LEVEL) -> float:
        """Give the bound that the best threshold certifies when counts are as expected.

        Parameters
        ----------
        n_trials : int
            Certifying trials on each side.
        delta : float
            Delta of the claim.
        level : float
            Confidence of the bound.

        Returns
        -------
        float
            Lower bound of epsilon (no unit): no attack does better on the average.
        """
        some = np.unique(np.linspace(0, self.true_positive.size - 1, _THRESHOLDS).astype(np.int64))
        hits, false_hits = self.true_positive[some], self.false_positive[some]
        bounds = epsilon_bounds(hits * n_trials, false_hits * n_trials, n_trials, delta, level)
        return float(bounds.max())


def gaussian_trade_off(mu: float) -> TradeOff:
    """Give the trade-off between two normal laws of variance 1 whose means are ``mu`` apart.

    Parameters
    ----------
    mu : float
        Distance of the means in standard deviations (no unit).

    Returns
    -------
    TradeOff
        At thresholds from far below to far above both means.
    """
    from scipy.special import ndtr

    thresholds = np.linspace(-9.0, mu + 9.0, 20_001)
    return TradeOff(ndtr(mu - thresholds), ndtr(-thresholds))


def smallest_detectable_epsilon(
    claimed: float, delta: float, n_trials: int, level: float = LEVEL
) -> float:
    """Give the smallest true epsilon that a run of this size would tell from a claim.

    Among Gaussian mechanisms, whose guarantee at the same delta is the comparison: the one
    whose expected counts certify more than the claim.

    Parameters
    ----------
    claimed : float
        Epsilon of the claim (no unit).
    delta : float
        Delta of the claim; for a pure claim, 1e-5 is taken to name the mechanism.
    n_trials : int
        Certifying trials on each side.
    level : float
        Confidence of the bound.

    Returns
    -------
    float
        Epsilon (no unit); infinity where no mechanism at all could be told from the claim.
    """
    from neuroveil.privacy.calibration import gaussian_epsilon

    if epsilon_cap(n_trials, delta, level) <= claimed:
        return math.inf
    low, high = 0.0, 100.0
    while high - low > 1e-4:
        mu = (low + high) / 2
        if gaussian_trade_off(mu).oracle(n_trials, delta, level) > claimed:
            high = mu
        else:
            low = mu
    return gaussian_epsilon(high, 1.0, delta or 1e-5)


def _lower_end(hits: FloatArray, n_trials: int, tail: float) -> FloatArray:
    from scipy.special import betaincinv

    some = np.maximum(hits, 1e-9)
    return np.where(hits > 0, betaincinv(some, n_trials - some + 1, tail), 0.0)


def _upper_end(hits: FloatArray, n_trials: int, tail: float) -> FloatArray:
    from scipy.special import betaincinv

    missed = np.maximum(n_trials - hits, 1e-9)
    return np.where(hits < n_trials, betaincinv(n_trials - missed + 1, missed, 1 - tail), 1.0)
