"""A Bayes classifier that knows how much noise its rows carry.

Rows of both classes are taken to be normal with one covariance S around two means; what is
shared of them is S + v I wide, v being the public error of a released coordinate. S is the
public covariance where there is one, and else what is left of the training rows' own
covariance once v is taken off. The difference of the means is itself only seen through noise:
it is taken to be normal around 0 with covariance t S, and t is the value that makes the
training rows most likely. All of it is post-processing of what is shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neuroveil.evaluate.downstream.rows import Lesson, Rows
from neuroveil.types.recording import FloatArray

_EFFECTS = tuple(float(effect) for effect in np.geomspace(1e-4, 10.0, 31))
_SMALLEST_SHARE = 1e-6
"""Smallest variance along a component, as a share of the mean one."""


@dataclass(frozen=True, eq=False)
class _Frame:
    """Where the coordinates of a lesson have a diagonal covariance.

    Parameters
    ----------
    basis : ndarray of float64, shape (m, k), optional
        Orthonormal columns; none where the coordinates are such ones already.
    variances : ndarray of float64, shape (k,)
        Variances of clear rows along them (no unit).
    """

    basis: FloatArray | None
    variances: FloatArray

    def along(self, coordinates: FloatArray) -> FloatArray:
        return coordinates if self.basis is None else np.asarray(coordinates @ self.basis)


def noise_aware_classifier(lesson: Lesson) -> Callable[[Rows], FloatArray]:
    """Learn both class means through the noise.

    Parameters
    ----------
    lesson : Lesson
        Training rows with the size of their noise, and the public variances where known.

    Returns
    -------
    callable
        From rows, which may carry another amount of noise than the training rows, to the
        probability of the positive class, shape (n_test,).

    References
    ----------
    Anderson 2003, section 6.4 (linear discriminant); Efron and Morris 1973 (empirical Bayes).
    """
    frame = _frame(lesson)
    rows, labels = frame.along(lesson.rows.coordinates), lesson.labels
    n_positive = int(labels.sum())
    n_negative = labels.size - n_positive
    negative, positive = rows[~labels].mean(axis=0), rows[labels].mean(axis=0)
    seen = positive - negative
    error = (frame.variances + lesson.rows.noise_variance) * (1 / n_positive + 1 / n_negative)
    effect = _effect(seen, frame.variances, error)
    gain = effect * frame.variances / (effect * frame.variances + error)
    difference = gain * seen
    # What stays unknown of both means widens the rows that a class is expected to have.
    unknown = gain * error / 4 + (frame.variances + lesson.rows.noise_variance) / labels.size
    middle = rows.mean(axis=0)
    # Half way between both means, corrected for a cohort that is not half positive.
    offset = middle + difference * (0.5 - n_positive / labels.size)
    prior = float(np.log(n_positive / n_negative))

    def judge(shown: Rows) -> FloatArray:
        weights = difference / (frame.variances + shown.noise_variance + unknown)
        log_odds = (frame.along(shown.coordinates) - offset) @ weights + prior
        return np.asarray(0.5 * (1 + np.tanh(log_odds / 2)))

    return judge


def _frame(lesson: Lesson) -> _Frame:
    """Take the public covariance, or what the training rows say of their own."""
    if lesson.variances is not None:
        floor = _SMALLEST_SHARE * float(lesson.variances.mean())
        return _Frame(None, np.maximum(lesson.variances, floor))
    from sklearn.covariance import ledoit_wolf

    rows, labels = lesson.rows.coordinates, lesson.labels
    means = np.where(labels[:, None], rows[labels].mean(axis=0), rows[~labels].mean(axis=0))
    widths, basis = np.linalg.eigh(ledoit_wolf(rows - means, assume_centered=True)[0])
    floor = max(_SMALLEST_SHARE * float(widths.mean()), 1e-300)
    return _Frame(basis, np.maximum(widths - lesson.rows.noise_variance, floor))


def _effect(seen: FloatArray, variances: FloatArray, error: FloatArray) -> float:
    """Choose how large the difference of means is, in units of the variance: most likely t."""

    def minus_log_likelihood(effect: float) -> float:
        total = effect * variances + error
        return float((np.log(total) + seen**2 / total).sum())

    return min(_EFFECTS, key=minus_log_likelihood)
