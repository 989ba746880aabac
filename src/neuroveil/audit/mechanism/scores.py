"""Scores that speak for one table or the other: derived where the law is known, else learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.canaries import CanaryPair
from neuroveil.audit.subject import SubjectFacts
from neuroveil.types.recording import FloatArray

Score = Callable[[FloatArray], FloatArray]
"""From releases of shape (n_trials, n_values) to scores of shape (n_trials,)."""

_MOST_VALUES_FOR_COVARIANCE = 512
_TRIALS_A_VALUE = 5
_RIDGE = 1e-3
_STEPS = 25


def known_score(facts: SubjectFacts, pair: CanaryPair) -> Score | None:
    """Give the score that needs no learning.

    Parameters
    ----------
    facts : SubjectFacts
        With the law that is promised.
    pair : CanaryPair
        The two tables.

    Returns
    -------
    callable or None
        The projection on the displacement where a replay has measured it, else the
        log-likelihood ratio of the promised law; nothing where neither is known.
    """
    displacement, law = pair.displacement, facts.law
    if displacement is not None:
        length = float(np.linalg.norm(displacement))
        direction = displacement / length if length > 0 else displacement
        return lambda values: values @ direction
    if law is not None:
        return lambda values: law.log_ratio(values, pair.first, pair.second)
    return None


def learned_score(first: FloatArray, second: FloatArray, pair: CanaryPair) -> Score:
    """Learn a score from releases of both tables that are used for nothing else.

    A linear discriminant, the projections that are best for Gaussian and for Laplace noise, and
    the length of a release, weighted by a logistic regression.

    Parameters
    ----------
    first, second : ndarray of float64, shape (n_trials, n_values)
        Releases of the two tables (no unit).
    pair : CanaryPair
        The two tables.

    Returns
    -------
    callable
        Larger for the first table.
    """
    features = _Features.learn(first, second, pair)
    values = np.concatenate([features(first), features(second)])
    centre, spread = values.mean(axis=0), values.std(axis=0)
    spread[spread == 0] = 1.0
    truth = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
    weights = _logistic((values - centre) / spread, truth) / spread
    return lambda releases: features(releases) @ weights


@dataclass(frozen=True, eq=False)
class _Features:
    """A handful of numbers of a release that tell tables apart under many laws."""

    direction: FloatArray
    middle: FloatArray
    apart: FloatArray | None

    @classmethod
    def learn(cls, first: FloatArray, second: FloatArray, pair: CanaryPair) -> _Features:
        n_trials, n_values = first.shape
        difference = first.mean(axis=0) - second.mean(axis=0)
        few_values = n_values <= _MOST_VALUES_FOR_COVARIANCE
        if few_values and n_trials >= _TRIALS_A_VALUE * n_values:
            covariance = np.atleast_2d(np.cov(first.T) + np.cov(second.T)) / 2
            ridge = _RIDGE * np.trace(covariance) / n_values
            regular = covariance + (ridge or 1.0) * np.eye(n_values)
            direction = np.linalg.solve(regular, difference)
        else:
            variance = (first.var(axis=0) + second.var(axis=0)) / 2
            direction = difference / np.where(variance > 0, variance, 1.0)
        middle = (first.mean(axis=0) + second.mean(axis=0)) / 2
        same_size = pair.first.size == n_values
        return cls(direction, middle, (pair.first - pair.second).ravel() if same_size else None)

    def __call__(self, releases: FloatArray) -> FloatArray:
        centred = releases - self.middle
        columns = [centred @ self.direction, np.einsum("ij,ij->i", centred, centred)]
        if self.apart is not None:
            half = np.abs(self.apart) / 2
            columns += [centred @ self.apart, np.clip(centred, -half, half) @ np.sign(self.apart)]
        return np.stack(columns, axis=1)


def _logistic(values: FloatArray, truth: FloatArray) -> FloatArray:
    """Weights of a ridge logistic regression with intercept, by Newton's method."""
    design = np.column_stack([np.ones(len(values)), values])
    penalty = np.diag([0.0] + [_RIDGE * len(values)] * values.shape[1])
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        gradient = design.T @ (truth - chance) - penalty @ weights
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + penalty
        curvature[np.diag_indices_from(curvature)] += 1e-9 * len(values)
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step
        if float(np.abs(step).max()) < 1e-6:
            break
    fitted: FloatArray = weights[1:]
    return fitted
