"""Which event to certify: chosen on one half of the trials, counted on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL, clopper_pearson, epsilon_bounds
from neuroveil.types.recording import FloatArray

_CANDIDATES = 300
_CAUTION = 50.0
"""The event is chosen at a level with so many times less doubt. Otherwise the best of many
thresholds is one with a lucky count far out in a tail, which the other half does not repeat."""


@dataclass(frozen=True)
class Event:
    """A score beyond a threshold, in one of the two directions.

    Parameters
    ----------
    threshold : float
        Scores strictly beyond it belong to the event.
    upwards : bool
        Whether larger scores do, which speak for the first table; smaller ones, for the second.
    """

    threshold: float
    upwards: bool

    def happens(self, scores: FloatArray) -> int:
        """Count how often the event happens.

        Parameters
        ----------
        scores : ndarray of float64, shape (n_trials,)
            Scores of releases.

        Returns
        -------
        int
            From 0 to n_trials.
        """
        beyond = scores > self.threshold if self.upwards else scores < self.threshold
        return int(np.count_nonzero(beyond))


@dataclass(frozen=True)
class Certified:
    """A lower bound of epsilon, and the counts that it rests on.

    Parameters
    ----------
    event : Event
        The event, chosen on other trials.
    bound : float
        Lower bound of epsilon (no unit).
    hits, false_hits : int
        How often the event happened on the table that it speaks for, and on the other.
    n_trials : int
        Certifying trials on each side.
    level : float
        Confidence of the bound.
    """

    event: Event
    bound: float
    hits: int
    false_hits: int
    n_trials: int
    level: float

    def bound_at(self, delta: float, level: float) -> float:
        """Give the bound of the same counts at another confidence.

        Parameters
        ----------
        delta : float
            Delta of the claim.
        level : float
            Confidence.

        Returns
        -------
        float
            Lower bound of epsilon (no unit).
        """
        counts = np.array([[self.hits], [self.false_hits]], dtype=np.float64)
        return float(epsilon_bounds(counts[0], counts[1], self.n_trials, delta, level)[0])

    def rates(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Give true and false positive rate, each with its interval.

        Returns
        -------
        tuple
            Rate, low and high end for the table that the event speaks for, then for the other.
        """
        counts = np.array([self.hits, self.false_hits], dtype=np.float64)
        low, high = clopper_pearson(counts, self.n_trials, self.level)
        rates = counts / self.n_trials
        return (
            (float(rates[0]), float(low[0]), float(high[0])),
            (float(rates[1]), float(low[1]), float(high[1])),
        )


def choose_event(
    first: FloatArray, second: FloatArray, delta: float, level: float = LEVEL
) -> Event:
    """Choose the event that certifies most on these trials.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n_trials,)
        Scores on the two tables; as many on both.
    delta : float
        Delta of the claim.
    level : float
        Confidence that the bound will have.

    Returns
    -------
    Event
        To be counted on other trials.
    """
    best, chosen = -1.0, Event(np.inf, True)
    for upwards in (True, False):
        sign = 1.0 if upwards else -1.0
        target, other = np.sort(sign * first), np.sort(sign * second)
        if not upwards:
            target, other = other, target
        thresholds = _candidates(target, other)
        n_trials = len(target)
        hits = n_trials - np.searchsorted(target, thresholds, side="right").astype(np.float64)
        false_hits = n_trials - np.searchsorted(other, thresholds, side="right").astype(np.float64)
        bounds = epsilon_bounds(hits, false_hits, n_trials, delta, 1 - (1 - level) / _CAUTION)
        index = int(np.argmax(bounds))
        if bounds[index] > best:
            best, chosen = float(bounds[index]), Event(sign * float(thresholds[index]), upwards)
    return chosen


def certify(
    event: Event, first: FloatArray, second: FloatArray, delta: float, level: float = LEVEL
) -> Certified:
    """Count an event on trials that had no say in choosing it.

    Parameters
    ----------
    event : Event
        From :func:`choose_event`, on other trials.
    first, second : ndarray of float64, shape (n_trials,)
        Scores on the two tables; as many on both.
    delta : float
        Delta of the claim.
    level : float
        Confidence of the bound.

    Returns
    -------
    Certified
        The bound with its counts.
    """
    counts = event.happens(first), event.happens(second)
    hits, false_hits = counts if event.upwards else counts[::-1]
    n_trials = len(first)
    bound = epsilon_bounds(
        np.array([float(hits)]), np.array([float(false_hits)]), n_trials, delta, level
    )
    return Certified(event, float(bound[0]), hits, false_hits, n_trials, level)


def _candidates(target: FloatArray, other: FloatArray) -> FloatArray:
    """Thresholds at evenly spaced logarithms of counts, of both samples."""
    n_trials = len(target)
    counts = np.unique(np.geomspace(1, n_trials, _CANDIDATES).astype(np.int64))
    return np.concatenate([other[n_trials - counts], target[n_trials - counts], target[counts - 1]])
