"""Classifiers made of a mean and covariance that a trusted curator releases.

The label is one more column, +b or -b, with b the norm of the rows, so that rows and labels are
under one guarantee. The mechanism is the one that releases mean and covariance. From what it
gives, two classifiers are made at no further cost: the linear discriminant that follows from
mean and covariance, and one that is trained on a synthetic table drawn from them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuroveil.evaluate.downstream.private_training import clip_each
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.privacy.central.covariance import CovarianceEstimate, estimate_covariance
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.synthetic import synthetic_table
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray

_N_SYNTHETIC = 2000
_RIDGE = 0.1
_CERTAIN = 0.01

Judgement = Callable[[FloatArray], FloatArray]
"""From clear rows of shape (n, k) to the probability of the positive class, shape (n,)."""


def release_moments(
    rows: FloatArray, labels: Labels, mechanism: MeanCovariance, row_norm: float, seed: int
) -> CovarianceEstimate:
    """Simulate a release of mean and covariance of rows and labels together.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_train, k)
        Clear rows (no unit); longer ones are clipped.
    labels : ndarray of bool, shape (n_train,)
        True for the positive class.
    mechanism : MeanCovariance
        For ``k + 1`` columns, n_train patients and a clipping norm of sqrt(2) ``row_norm``.
    row_norm : float
        Largest L2 norm of a row (no unit).
    seed : int
        Seed of the simulated noise.

    Returns
    -------
    CovarianceEstimate
        Of k + 1 columns; the last one is the label, at plus or minus ``row_norm``.
    """
    label = np.where(labels, row_norm, -row_norm)
    augmented = mechanism.bound(np.column_stack([clip_each(rows, row_norm), label]))
    noisy = mechanism.apply(augmented, mechanism.draw(SimulationRandomness(seed)))
    return estimate_covariance(noisy)


def discriminant(estimate: CovarianceEstimate, row_norm: float) -> Judgement:
    """Make the linear discriminant that follows from mean and covariance.

    Parameters
    ----------
    estimate : CovarianceEstimate
        From :func:`release_moments`.
    row_norm : float
        Largest L2 norm of a row (no unit).

    Returns
    -------
    callable
        The label's regression on rows, as a probability between 0.01 and 0.99. Its direction is
        that of Fisher's discriminant (Fisher 1936).
    """
    covariance, mean = estimate.covariance, estimate.mean
    among_rows, with_label = covariance[:-1, :-1], covariance[:-1, -1]
    ridge = _RIDGE * float(np.trace(among_rows)) / among_rows.shape[0] + 1e-12
    weights = np.linalg.solve(among_rows + ridge * np.eye(among_rows.shape[0]), with_label)

    def judge(rows: FloatArray) -> FloatArray:
        label = mean[-1] + (clip_each(rows, row_norm) - mean[:-1]) @ weights
        return np.asarray(np.clip((1 + label / row_norm) / 2, _CERTAIN, 1 - _CERTAIN))

    return judge


def learn_from_synthetic(estimate: CovarianceEstimate, row_norm: float, seed: int) -> Judgement:
    """Train logistic regression on people who do not exist.

    Parameters
    ----------
    estimate : CovarianceEstimate
        From :func:`release_moments`.
    row_norm : float
        Largest L2 norm of a row (no unit).
    seed : int
        Seed of the synthetic table.

    Returns
    -------
    callable
        The trained classifier. A synthetic person is positive where the label's column is
        above 0; where all are of one class, everybody gets that share.
    """
    from sklearn.linear_model import LogisticRegression

    drawn = synthetic_table(estimate, _N_SYNTHETIC, SimulationRandomness(seed)).values
    positive = drawn[:, -1] > 0
    if positive.all() or not positive.any():
        share = float(positive.mean())
        return lambda rows: np.full(rows.shape[0], share)
    fitted = LogisticRegression(C=1.0, max_iter=500).fit(drawn[:, :-1], positive)
    return lambda rows: np.asarray(fitted.predict_proba(clip_each(rows, row_norm))[:, 1])
