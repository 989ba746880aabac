"""From scores of a guessing game to figures: areas, rates at fixed false alarms, intervals.

A game has two sides: the patient is behind the released row, or is not. Scores of both are
compared by threshold, with ties counted as they fall. Intervals come from bootstrap tables in
which patients are drawn again, each with all of its trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.privacy.bounds import IntArray
from neuroveil.types.recording import FloatArray

POWER_FACTOR = 1.96 + 0.84
"""Standard errors of the null control between chance and what is found four times of five."""

LOW_RATES = (1e-3, 1e-2)
"""False alarm rates that are always kept of a curve."""

_LOG_POINTS = 41


@dataclass(frozen=True, eq=False)
class Game:
    """Scores of a guessing game with the patients that they belong to.

    Parameters
    ----------
    inside, outside : ndarray of float64, shape (n_trials,)
        Scores where the patient is in, and where somebody else took the place.
    inside_patient, outside_patient : ndarray of int64, shape (n_trials,)
        Number of the patient of each trial.
    n_patients : int
        Number of patients.
    others : tuple of two ndarray of int64, shape (n_trials,), optional
        Number of the patient who takes the place, for both sides. A trial rests on two patients
        then, and counts as often as both together: with one of them alone, intervals would be
        about half as wide as they have to be.
    """

    inside: FloatArray
    outside: FloatArray
    inside_patient: IntArray
    outside_patient: IntArray
    n_patients: int
    others: tuple[IntArray, IntArray] | None = None

    def curve(self, weights: FloatArray | None = None) -> RateCurve:
        """Count both sides above every threshold.

        Parameters
        ----------
        weights : ndarray of float64, shape (n_patients,), optional
            How often each patient counts; once by default.

        Returns
        -------
        RateCurve
            With one point for each different score.
        """
        levels, place = self._levels
        each = np.ones(self.n_patients) if weights is None else weights
        n_inside = self.inside.size
        counts = [each[self.inside_patient], each[self.outside_patient]]
        if self.others is not None:
            counts = [own * each[who] for own, who in zip(counts, self.others, strict=True)]
        inside = np.bincount(place[:n_inside], counts[0], levels)
        outside = np.bincount(place[n_inside:], counts[1], levels)
        sides = np.array([inside, outside], dtype=np.float64)
        return RateCurve(_share_above(sides[0]), _share_above(sides[1]))

    def bootstrap(self, n_tables: int, generator: np.random.Generator) -> list[CurveSample]:
        """Draw tables of patients with replacement.

        Parameters
        ----------
        n_tables : int
            How many.
        generator : numpy.random.Generator
            Source of the choices.

        Returns
        -------
        list of CurveSample
            One a table; tables in which a side is empty are left out.
        """
        n = self.n_patients
        rates = np.union1d(false_alarm_axis(self.outside.size), LOW_RATES)
        tables = generator.multinomial(n, np.full(n, 1 / n), size=n_tables).astype(np.float64)
        curves = (self.curve(weights) for weights in tables)
        return [curve.sample(rates) for curve in curves if curve.is_defined]

    @cached_property
    def _levels(self) -> tuple[int, IntArray]:
        """How many different scores there are, and which of them each trial has."""
        scores, place = np.unique(np.concatenate([self.inside, self.outside]), return_inverse=True)
        return scores.size, place


@dataclass(frozen=True, eq=False)
class RateCurve:
    """True and false positive rates, from the strictest threshold to the loosest.

    Parameters
    ----------
    true_positive, false_positive : ndarray of float64, shape (n_levels,)
        Shares of both sides at or above each different score.
    """

    true_positive: FloatArray
    false_positive: FloatArray

    @property
    def is_defined(self) -> bool:
        """Whether both sides have trials."""
        return bool(np.isfinite(self.true_positive[-1] + self.false_positive[-1]))

    @property
    def area(self) -> float:
        """Area under the curve: the chance of telling both sides apart, ties counted half."""
        true = np.concatenate([[0.0], self.true_positive])
        false = np.concatenate([[0.0], self.false_positive])
        return float(((true[1:] + true[:-1]) / 2) @ np.diff(false))

    def at(self, false_positive: float) -> tuple[float, float]:
        """Give the true positive rate at the loosest threshold within a false alarm rate.

        Parameters
        ----------
        false_positive : float
            Largest false positive rate that is allowed.

        Returns
        -------
        true_positive, realised : float
            Both 0 where ties leave no threshold that strict; the realised rate is below the
            allowed one where ties do not split.
        """
        place = int(np.searchsorted(self.false_positive, false_positive + 1e-12, side="right")) - 1
        if place < 0:
            return 0.0, 0.0
        return float(self.true_positive[place]), float(self.false_positive[place])

    def sample(self, rates: FloatArray) -> CurveSample:
        """Keep the area, and what happens at some false alarm rates.

        Parameters
        ----------
        rates : ndarray of float64, shape (n_rates,)
            Allowed false positive rates, in increasing order.

        Returns
        -------
        CurveSample
            Small, however many trials there were.
        """
        found = np.array([self.at(rate) for rate in rates.tolist()])
        return CurveSample(self.area, rates, found[:, 0], found[:, 1])


@dataclass(frozen=True, eq=False)
class CurveSample:
    """What is kept of a curve.

    Parameters
    ----------
    area : float
        Area under the whole curve.
    rates : ndarray of float64, shape (n_rates,)
        Allowed false positive rates, in increasing order.
    true_positive, realised : ndarray of float64, shape (n_rates,)
        True positive and realised false positive rate at each.
    """

    area: float
    rates: FloatArray
    true_positive: FloatArray
    realised: FloatArray

    def at(self, rate: float) -> tuple[float, float]:
        """Give what was kept at a rate.

        Parameters
        ----------
        rate : float
            One of :attr:`rates`.

        Returns
        -------
        true_positive, realised : float
            As of :meth:`RateCurve.at`.
        """
        place = int(np.searchsorted(self.rates, rate))
        return float(self.true_positive[place]), float(self.realised[place])

    def sampled(self, rates: FloatArray) -> FloatArray:
        """Give true positive rates at several rates that were kept.

        Parameters
        ----------
        rates : ndarray of float64, shape (n,)
            Some of :attr:`rates`.

        Returns
        -------
        ndarray of float64, shape (n,)
            True positive rates.
        """
        return self.true_positive[np.searchsorted(self.rates, rates)]


def false_alarm_axis(n_trials: int) -> FloatArray:
    """Give false alarm rates for a curve, from the smallest that trials can show to 1.

    Parameters
    ----------
    n_trials : int
        Trials on the side without the patient.

    Returns
    -------
    ndarray of float64, shape (41,)
        Evenly spaced logarithms.
    """
    smallest = max(1e-4, min(0.1, 10 / n_trials))
    return np.logspace(np.log10(smallest), 0.0, _LOG_POINTS)


def smallest_rate(samples: FloatArray, chance: float, margin: float = 0.0) -> float:
    """Give the smallest rate that would be told from chance four times of five.

    Parameters
    ----------
    samples : ndarray of float64, shape (n_tables,)
        The null control in every bootstrap table.
    chance : float
        Rate of guessing.
    margin : float
        Distance from chance below which nothing is called a success: the whole interval has to
        lie beyond it.

    Returns
    -------
    float
        At most 1; 1 where there are too few samples to tell.
    """
    if samples.size < 2:
        return 1.0
    return min(1.0, chance + margin + POWER_FACTOR * float(samples.std(ddof=1)))


def interval(samples: FloatArray, level: float = LEVEL) -> tuple[float, float]:
    """Give the middle part of bootstrap samples.

    Parameters
    ----------
    samples : ndarray of float64, shape (n_tables,)
        A figure in every bootstrap table.
    level : float
        Confidence of the interval.

    Returns
    -------
    low, high : float
        Percentiles; not a number where there is no sample.
    """
    if samples.size == 0:
        return float("nan"), float("nan")
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(samples, [tail, 100 - tail])
    return float(low), float(high)


def _share_above(counts: FloatArray) -> FloatArray:
    """Cumulative shares from the highest score down."""
    summed = np.cumsum(counts[::-1])
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: FloatArray = summed / summed[-1]
    return shares
