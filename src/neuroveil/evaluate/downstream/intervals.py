"""Intervals that carry both few patients and few rounds.

A round has its own noise, folds and starting weights, all on the same patients. So the mean over
rounds errs in two ways: by the rounds, s² / R with Student's t, and by the patients, for which
the textbook interval of each figure is taken. Neither vanishes with the other, and the two add
up in squares. The part of the patients is that of a single round, although a mean over rounds
varies less: the intervals are rather too wide. That training sets overlap is in no interval of
cross-validation (Bengio and Grandvalet 2004).
"""

from __future__ import annotations

import math

import numpy as np

from neuroveil.evaluate.intervals import CONFIDENCE
from neuroveil.types.downstream import Figure
from neuroveil.types.recording import FloatArray

_EDGE = 1e-9


def proportion_figure(rounds: FloatArray, n: float) -> Figure:
    """Give a share of patients with its interval.

    Parameters
    ----------
    rounds : ndarray of float64, shape (n_rounds,)
        The share in every round, from 0 to 1.
    n : float
        Patients that it is a share of.

    Returns
    -------
    Figure
        Wilson's interval, wider by what rounds differ: all p with
        (share - p)² <= z² p (1 - p) / n + t² s² / R.

    References
    ----------
    Wilson 1927.
    """
    mean, spread, extra = _over_rounds(rounds)
    z2 = _z() ** 2
    # (1 + z²/n) p² - (2 m + z²/n) p + m² - extra = 0
    a, b, c = 1 + z2 / n, 2 * mean + z2 / n, mean**2 - extra
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return _figure(mean, (b - root) / (2 * a), (b + root) / (2 * a), spread)


def f1_figure(rounds: FloatArray, n_relevant: float) -> Figure:
    """Give an F1 score with its interval.

    Given how many patients are positive or called so, the share J of them that is both is a
    binomial share, and F1 = 2 J / (1 + J).

    Parameters
    ----------
    rounds : ndarray of float64, shape (n_rounds,)
        The F1 score in every round.
    n_relevant : float
        Patients that are positive or called so, mean over the rounds.

    Returns
    -------
    Figure
        Wilson's interval of J, carried over.
    """
    share = proportion_figure(rounds / (2 - rounds), max(n_relevant, 1.0))
    low, high = (2 * bound / (1 + bound) for bound in (share.low, share.high))
    mean, spread, _ = _over_rounds(rounds)
    # The mean over rounds is not carried over exactly by a curved function.
    return _figure(mean, min(low, mean), max(high, mean), spread)


def balanced_figure(rounds: FloatArray, recall: Figure, specificity: Figure) -> Figure:
    """Give balanced accuracy with its interval.

    Parameters
    ----------
    rounds : ndarray of float64, shape (n_rounds,)
        Balanced accuracy in every round.
    recall, specificity : Figure
        Its two halves, which rest on different patients.

    Returns
    -------
    Figure
        Limits of both halves put together in squares.

    References
    ----------
    Zou and Donner 2008 (method of variance estimates recovery).
    """
    mean, spread, _ = _over_rounds(rounds)
    below = math.hypot(recall.mean - recall.low, specificity.mean - specificity.low) / 2
    above = math.hypot(recall.high - recall.mean, specificity.high - specificity.mean) / 2
    return _figure(mean, mean - below, mean + above, spread)


def auc_figure(rounds: FloatArray, n_positive: int, n_negative: int) -> Figure:
    """Give an area under the curve with its interval.

    Parameters
    ----------
    rounds : ndarray of float64, shape (n_rounds,)
        The area in every round.
    n_positive, n_negative : int
        Patients of both classes.

    Returns
    -------
    Figure
        All a with (area - a)² <= z² V(a) + t² s² / R, where V is the variance of Hanley and
        McNeil; so an area of 1 in a small cohort has an interval too.

    References
    ----------
    Newcombe 2006, Stat. Med. 25, 559-573, method 5; Hanley and McNeil 1982.
    """
    from scipy.optimize import brentq

    mean, spread, extra = _over_rounds(rounds)
    z2, half = _z() ** 2, (n_positive + n_negative) / 2 - 1

    def excess(area: float) -> float:
        shape = 1 + half * (1 - area) / (2 - area) + half * area / (1 + area)
        variance = area * (1 - area) * shape / (n_positive * n_negative)
        return (mean - area) ** 2 - z2 * variance - extra

    # At an area of 0 or 1 the equation also holds at that end itself, which is not the limit.
    inside = min(max(mean, _EDGE), 1 - _EDGE)
    low = 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, inside))
    high = 1.0 if excess(1.0) <= 0 else float(brentq(excess, inside, 1.0))
    return _figure(mean, low, high, spread)


def student(degrees: int) -> float:
    """Give the two-sided 95 % point of Student's t.

    Parameters
    ----------
    degrees : int
        Degrees of freedom, at least 1.

    Returns
    -------
    float
        1.96 for many.
    """
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + CONFIDENCE / 2))


def _z() -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 + CONFIDENCE / 2))


def _over_rounds(rounds: FloatArray) -> tuple[float, float, float]:
    """Mean, standard deviation, and the squared half width that is due to the rounds."""
    n_rounds = rounds.size
    spread = float(rounds.std(ddof=1))
    return float(rounds.mean()), spread, (student(n_rounds - 1) * spread) ** 2 / n_rounds


def _figure(mean: float, low: float, high: float, spread: float) -> Figure:
    low, high = (float(np.clip(bound, 0.0, 1.0)) for bound in (low, high))
    return Figure(mean, min(low, mean), max(high, mean), spread)
