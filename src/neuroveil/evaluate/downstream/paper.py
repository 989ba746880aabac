"""The downstream check of the paper, as it was done.

One patient is left out, a multilayer perceptron learns from the others, and after all are
through the threshold that gives the best F1 score on all of them is chosen. So the threshold
has seen the answers; :mod:`~neuroveil.evaluate.downstream.nested` does it without. The paper
states the ends of its grids and thresholds of 0.05, 0.10 and 0.40, which lie on steps of
0.05; that step, and the smallest of equally good thresholds, are ours.
"""

from __future__ import annotations

import numpy as np

from neuroveil.evaluate.downstream.folds import derived_seed
from neuroveil.evaluate.downstream.models import multilayer_perceptron
from neuroveil.evaluate.downstream.scores import (
    Labels,
    best_threshold,
    check_labels,
    confusion,
    majority,
    wilson,
)
from neuroveil.types.downstream import DownstreamResult
from neuroveil.types.recording import FloatArray


def _grid(low: int, high: int) -> tuple[float, ...]:
    return tuple(hundredths / 100 for hundredths in range(low, high + 1, 5))


BASELINE_GRID = _grid(20, 80)
"""Thresholds that the paper tried on unprotected features: 0.20 to 0.80."""

PROTECTED_GRID = _grid(5, 95)
"""Thresholds that the paper tried on protected features: 0.05 to 0.95."""


def paper_protocol(
    rows: FloatArray, labels: Labels, grid: tuple[float, ...], seed: int
) -> DownstreamResult:
    """Do the check of the paper once: one table, one seed.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, n_features)
        Rows, protected or not (no unit), finite.
    labels : ndarray of bool, shape (n_patients,)
        True for the positive class; at least two patients of each.
    grid : tuple of float
        Thresholds to choose from, :data:`BASELINE_GRID` or :data:`PROTECTED_GRID`.
    seed : int
        Seed of the starting weights; the paper's are not fixed.

    Returns
    -------
    DownstreamResult
        Internal. Its figures are optimistic, since the threshold has seen the labels.

    Raises
    ------
    RecordingError
        If rows and labels do not fit, or a class has fewer than two patients.

    References
    ----------
    Section 4.3, Tables 6 and 7 of the paper.
    """
    probabilities = leave_one_out_probabilities(rows, labels, seed)
    return paper_result(probabilities, labels, grid, seed, rows.shape[1])


def leave_one_out_probabilities(rows: FloatArray, labels: Labels, seed: int) -> FloatArray:
    """Let a perceptron that has not seen a patient say how likely the positive class is.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, n_features)
        Rows (no unit), finite.
    labels : ndarray of bool, shape (n_patients,)
        True for the positive class; at least two patients of each.
    seed : int
        Seed of the starting weights; every fold has its own.

    Returns
    -------
    ndarray of float64, shape (n_patients,)
        Probability of the positive class, from 0 to 1. Private.

    Raises
    ------
    RecordingError
        If rows and labels do not fit, or a class has fewer than two patients.
    """
    check_labels(rows, labels)
    n = labels.size
    probabilities = np.empty(n)
    for left_out in range(n):
        others = np.arange(n) != left_out
        judge = multilayer_perceptron(rows[others], labels[others], derived_seed(seed, left_out))
        probabilities[left_out] = judge(rows[[left_out]])[0]
    return probabilities


def paper_result(
    probabilities: FloatArray,
    labels: Labels,
    grid: tuple[float, ...],
    seed: int,
    n_features: int,
) -> DownstreamResult:
    """Choose the threshold on pooled predictions, and count.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n_patients,)
        From :func:`leave_one_out_probabilities`.
    labels : ndarray of bool, shape (n_patients,)
        True for the positive class.
    grid : tuple of float
        Thresholds to choose from.
    seed : int
        Seed of the starting weights, for the record.
    n_features : int
        Columns that the classifier saw, for the record.

    Returns
    -------
    DownstreamResult
        Internal.
    """
    threshold = best_threshold(probabilities, labels, grid)
    counted = confusion(labels, probabilities >= threshold)
    right = counted.true_negative + counted.true_positive
    return DownstreamResult(
        n_patients=counted.n_patients,
        n_positive=counted.n_positive,
        n_features=n_features,
        seed=seed,
        threshold=threshold,
        confusion=counted,
        accuracy=wilson(right, counted.n_patients),
        recall=wilson(counted.true_positive, counted.n_positive),
        specificity=wilson(counted.true_negative, counted.n_negative),
        majority=majority(labels),
    )
