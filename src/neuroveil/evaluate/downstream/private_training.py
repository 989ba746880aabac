"""Logistic regression that a trusted curator trains on clear rows under a guarantee.

Full-batch gradient descent: in every step the gradients of all patients, each clipped to a
public norm, are added up, Gaussian noise is added to the sum, and the weights take a step. The
sum moves by at most twice the clipping norm when one patient, row and label together, is
replaced. There is no sampling, so T steps of one noise scale are exactly one Gaussian mechanism
with sqrt(T) times the sensitivity-to-noise ratio, and the scale has a closed form; the privacy
loss distribution of the T steps is its cross-check.

This is a simulation for comparing ways of sharing. Its noise has a seed and continuous values;
it releases nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.privacy.accounting import Event, epsilon_by_pld
from neuroveil.privacy.bounds import adjacency_factor
from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.types.recording import FloatArray

STEPS = 3
STEP_SIZE = 1.0
PENALTY = 0.05
"""Public settings, the same for every cohort: chosen on simulated people, where few large steps
did better than many small ones, each with more noise (200 and 2000 people, epsilon 1 and 5)."""

_FLOOR = 1e-12


@dataclass(frozen=True)
class TrainingSpec:
    """Public settings of a private training.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee for one patient's row and label together.
    row_norm : float
        Largest L2 norm of a row that enters (no unit).
    steps : int
        Number T of steps.

    Raises
    ------
    ChainError
        If the noise cannot be calibrated.
    """

    epsilon: float
    delta: float
    row_norm: float
    steps: int = STEPS

    @property
    def gradient_norm(self) -> float:
        """Norm to which a patient's gradient is clipped.

        A gradient is (probability - label) (row, 1). From weights of zero it is half as long as
        the longest row, and as the model learns it gets shorter for those it gets right.
        """
        return math.sqrt(self.row_norm**2 + 1) / 2

    @property
    def sensitivity(self) -> float:
        """L2 sensitivity of the sum of gradients under replace-one (no unit)."""
        return adjacency_factor("replace_one") * self.gradient_norm

    @property
    def noise_std(self) -> float:
        """Noise in a coordinate of the sum of gradients, in every step (no unit)."""
        return self.sensitivity * _noise_multiplier(self.epsilon, self.delta, self.steps)

    def epsilon_by_losses(self) -> float:
        """Ask the privacy loss distribution what all steps together cost at this delta.

        Returns
        -------
        float
            Epsilon, a slight overestimate.
        """
        event = Event("gaussian", self.noise_std / self.sensitivity, self.steps)
        return epsilon_by_pld((event,), self.delta)


@lru_cache(maxsize=64)
def _noise_multiplier(epsilon: float, delta: float, steps: int) -> float:
    return gaussian_sigma(math.sqrt(steps), epsilon, delta)


def train_privately(rows: FloatArray, labels: Labels, spec: TrainingSpec, seed: int) -> FloatArray:
    """Train logistic regression under the guarantee of a specification.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_train, k)
        Clear rows (no unit); longer ones are clipped to ``spec.row_norm``.
    labels : ndarray of bool, shape (n_train,)
        True for the positive class.
    spec : TrainingSpec
        Public settings.
    seed : int
        Seed of the simulated noise.

    Returns
    -------
    ndarray of float64, shape (k + 1,)
        Weights and, last, the intercept: mean over the second half of all steps.

    References
    ----------
    Song, Chaudhuri and Sarwate 2013; Abadi et al. 2016 (clipping of each gradient); Balle and
    Wang 2018, Theorem 8 (noise).
    """
    generator = np.random.default_rng(seed)
    inputs = with_intercept(rows, spec.row_norm)
    n, d = inputs.shape
    weights, averaged = np.zeros(d), np.zeros(d)
    for step in range(spec.steps):
        wrong = 0.5 * (1 + np.tanh(inputs @ weights / 2)) - labels
        gradients = clip_each(inputs * wrong[:, None], spec.gradient_norm)
        noisy = gradients.sum(axis=0) + generator.normal(0.0, spec.noise_std, d)
        weights = weights - STEP_SIZE * (noisy / n + PENALTY * weights)
        if 2 * step >= spec.steps - 1:
            averaged += weights
    return averaged / sum(2 * step >= spec.steps - 1 for step in range(spec.steps))


def with_intercept(rows: FloatArray, row_norm: float) -> FloatArray:
    """Clip rows and append a column of ones.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, k)
        Rows (no unit).
    row_norm : float
        Largest L2 norm (no unit).

    Returns
    -------
    ndarray of float64, shape (n, k + 1)
        Rows within the norm, and ones.
    """
    return np.column_stack([clip_each(rows, row_norm), np.ones(rows.shape[0])])


def clip_each(rows: FloatArray, norm: float) -> FloatArray:
    """Shorten every row that is longer than a norm.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, k)
        Rows (no unit).
    norm : float
        Largest L2 norm (no unit).

    Returns
    -------
    ndarray of float64, shape (n, k)
        Rows within the norm.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.minimum(1.0, norm / np.maximum(lengths, _FLOOR)))


def probabilities(weights: FloatArray, rows: FloatArray, row_norm: float) -> FloatArray:
    """Judge rows with trained weights.

    Parameters
    ----------
    weights : ndarray of float64, shape (k + 1,)
        From :func:`train_privately`.
    rows : ndarray of float64, shape (n, k)
        Rows (no unit).
    row_norm : float
        The norm that rows were clipped to in training (no unit).

    Returns
    -------
    ndarray of float64, shape (n,)
        Probability of the positive class.
    """
    return np.asarray(0.5 * (1 + np.tanh(with_intercept(rows, row_norm) @ weights / 2)))
