"""From calls to figures: confusion matrices, thresholds, Wilson intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from neuroveil.errors import RecordingError
from neuroveil.evaluate.intervals import CONFIDENCE
from neuroveil.types.downstream import ConfusionMatrix, Proportion
from neuroveil.types.recording import FloatArray

Labels = npt.NDArray[np.bool_]
"""One label a patient: true for the positive class."""


def wilson(successes: int, n: int) -> Proportion:
    """Give a share with its two-sided 95 % Wilson score interval.

    Parameters
    ----------
    successes : int
        How often it happened.
    n : int
        How often it could have happened; at least 1.

    Returns
    -------
    Proportion
        Share and interval, from 0 to 1.

    Raises
    ------
    RecordingError
        If the counts cannot be.

    References
    ----------
    Wilson 1927, J. Am. Stat. Assoc. 22, 209-212.
    """
    from scipy.special import ndtri

    if not 0 <= successes <= n or n < 1:
        raise RecordingError(
            "Wilson interval", "0 <= successes <= n and n >= 1", "other counts",
            "Count at least one patient.",
        )  # fmt: skip
    z = float(ndtri(0.5 + CONFIDENCE / 2))
    share, z2 = successes / n, z * z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * float(np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)))
    # At 0 and at n the formula gives 0 and 1 exactly, but for rounding.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Proportion(share, low, high)


def confusion(labels: Labels, called: Labels) -> ConfusionMatrix:
    """Count right and wrong calls.

    Parameters
    ----------
    labels : ndarray of bool, shape (n_patients,)
        True for the positive class.
    called : ndarray of bool, shape (n_patients,)
        True where a patient was called positive.

    Returns
    -------
    ConfusionMatrix
        Counts.
    """
    return ConfusionMatrix(
        true_negative=int((~labels & ~called).sum()),
        false_positive=int((~labels & called).sum()),
        false_negative=int((labels & ~called).sum()),
        true_positive=int((labels & called).sum()),
    )


def majority(labels: Labels) -> ConfusionMatrix:
    """Call everybody what most patients are: the control that needs no data.

    Parameters
    ----------
    labels : ndarray of bool, shape (n_patients,)
        True for the positive class.

    Returns
    -------
    ConfusionMatrix
        Counts; on a tie everybody is called negative.
    """
    return confusion(labels, np.full(labels.shape, bool(labels.mean() > 0.5)))


def best_threshold(probabilities: FloatArray, labels: Labels, grid: tuple[float, ...]) -> float:
    """Choose the threshold with the largest F1 score on these very patients.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n_patients,)
        Probability of the positive class.
    labels : ndarray of bool, shape (n_patients,)
        True for the positive class.
    grid : tuple of float
        Candidates, rising. A probability at or above a threshold is called positive.

    Returns
    -------
    float
        The smallest of the best candidates.
    """
    called = probabilities[None, :] >= np.asarray(grid)[:, None]
    right = (called & labels).sum(axis=1)
    both = called.sum(axis=1) + labels.sum()
    # F1 = 2 TP / (positive calls + positive patients), zero where neither exists.
    f1 = 2 * right / np.maximum(both, 1)
    return grid[int(np.argmax(f1))]


def check_labels(rows: FloatArray, labels: Labels, fewest: int = 2) -> None:
    """Refuse rows and labels that no classifier can be judged on.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, n_features)
        Rows (no unit), finite.
    labels : ndarray of bool, shape (n_patients,)
        True for the positive class.
    fewest : int
        Patients that each class needs.

    Raises
    ------
    RecordingError
        If shapes disagree, a value is not finite, or a class has too few patients.
    """
    fits = rows.ndim == 2 and labels.shape == (rows.shape[0],) and labels.dtype == np.bool_
    if not fits:
        raise RecordingError(
            "labels", "one true or false for each row", f"shapes {rows.shape}, {labels.shape}",
            "Give one label a patient.",
        )  # fmt: skip
    if not bool(np.isfinite(rows).all()):
        raise RecordingError(
            "rows", "finite values", "missing or infinite ones",
            "Scale the table first: a missing cell becomes the public centre.",
        )  # fmt: skip
    n_positive = int(labels.sum())
    check_classes(n_positive, labels.size - n_positive, fewest)


def check_classes(n_positive: int, n_negative: int, fewest: int = 2) -> None:
    """Refuse classes that are too small to learn from and to be judged.

    Parameters
    ----------
    n_positive, n_negative : int
        Patients of each class.
    fewest : int
        Patients that each class needs.

    Raises
    ------
    RecordingError
        If a class has too few patients.
    """
    if min(n_positive, n_negative) < fewest:
        raise RecordingError(
            "labels", f"at least {fewest} patients in each class",
            "fewer", "Choose another label, or other categories.",
        )  # fmt: skip
