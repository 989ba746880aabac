"""Ridge regression on class labels, with the penalty chosen among training patients alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.privacy.bounds import IntArray
from neuroveil.types.recording import FloatArray

_PENALTIES = np.logspace(-3, 3, 7)  # shares of the mean variance along a principal direction


@dataclass(frozen=True, eq=False, repr=False)
class RidgeModel:
    """Linear scores, one set of weights a column of targets.

    Parameters
    ----------
    centre : ndarray of float64, shape (n_features,)
        Mean training row (no unit).
    weights : ndarray of float64, shape (n_features, n_targets)
        Weights.
    """

    centre: FloatArray
    weights: FloatArray

    def scores(self, rows: FloatArray) -> FloatArray:
        """Score rows.

        Parameters
        ----------
        rows : ndarray of float64, shape (n, n_features)
            On the scaled axis (no unit).

        Returns
        -------
        ndarray of float64, shape (n, n_targets)
            Larger for the class; comparable within this model alone.
        """
        scored: FloatArray = (rows - self.centre) @ self.weights
        return scored


def fit_ridge(
    rows: FloatArray, patients: IntArray, targets: FloatArray, noise_variance: float = 0.0
) -> RidgeModel:
    """Fit linear scores, and choose each column's penalty by leaving training patients out.

    A patient's rows are left out together. The squared error is what is compared: unlike a
    pooled area under the curve, it may be added up over models.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
        Training rows on the scaled axis (no unit).
    patients : ndarray of int64, shape (n_rows,)
        Patient of each row.
    targets : ndarray of float64, shape (n_rows, n_targets)
        1 for the class and 0 for the others, a column a question.
    noise_variance : float
        Variance of the noise that rows to be scored carry and training rows do not. Fitting
        to the expectation over that noise is a penalty of n times the variance.

    Returns
    -------
    RidgeModel
        Ready to score.
    """
    centre = rows.mean(axis=0)
    left, squares, back = _principal(rows - centre)
    n = rows.shape[0]
    centred = targets - targets.mean(axis=0)
    unit = float(squares.sum()) / n if squares.any() else 1.0
    penalties = _PENALTIES * unit + n * noise_variance
    shrunk = squares[:, None] / (squares[:, None] + penalties)
    groups = _groups(patients)
    losses = [_left_out(left * shrunk[:, each], left, centred, groups) for each in range(7)]
    best = np.argmin(losses, axis=0)
    weights = back @ ((left.T @ centred) / (squares[:, None] + penalties[best]))
    return RidgeModel(centre, weights)


def _principal(centred: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Left vectors, squared lengths, and right vectors times lengths, from the smaller side."""
    n, d = centred.shape
    if n <= d:
        squares, left = np.linalg.eigh(centred @ centred.T)
        return left, np.maximum(squares, 0.0), centred.T @ left
    squares, right = np.linalg.eigh(centred.T @ centred)
    squares = np.maximum(squares, 0.0)
    lengths = np.sqrt(squares)
    left = centred @ right / np.where(lengths > 0, lengths, 1.0)
    return left, squares, right * lengths


def _groups(patients: IntArray) -> IntArray:
    """Rows of each patient, shape (n_patients, most rows), -1 where there are fewer."""
    _, place, counts = np.unique(patients, return_inverse=True, return_counts=True)
    groups = np.full((counts.size, int(counts.max())), -1, dtype=np.int64)
    order = np.argsort(place, kind="stable")
    rank = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts, counts)
    groups[place[order], rank] = order
    return groups


def _left_out(
    smoothed: FloatArray, left: FloatArray, centred: FloatArray, groups: IntArray
) -> FloatArray:
    """Squared error of patients who are left out, without fitting again, by column."""
    there = (groups >= 0)[:, :, None]
    residuals = centred - smoothed @ (left.T @ centred)
    blocks = np.einsum("gik,gjk->gij", smoothed[groups], left[groups]) + 1 / left.shape[0]
    blocks = np.where(there & there.swapaxes(1, 2), blocks, 0.0)
    kept = np.eye(groups.shape[1]) * (1 + 1e-9) - blocks
    errors = np.linalg.solve(kept, np.where(there, residuals[groups], 0.0))
    squares: FloatArray = np.square(errors).sum(axis=(0, 1))
    return squares
