"""Confusion matrices, thresholds and Wilson intervals."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.evaluate.downstream.scores import (
    best_threshold,
    check_labels,
    confusion,
    majority,
    wilson,
)
from neuroveil.types.downstream import ConfusionMatrix

LABELS = np.array([True, True, True, False, False, False, False])


def test_counts_of_a_table_by_hand():
    called = np.array([True, True, False, True, False, False, False])
    counted = confusion(LABELS, called)
    assert counted == ConfusionMatrix(3, 1, 1, 2)
    assert counted.figures() == pytest.approx(
        {
            "accuracy": 5 / 7, "precision": 2 / 3, "recall": 2 / 3, "specificity": 3 / 4,
            "balanced_accuracy": (2 / 3 + 3 / 4) / 2, "f1": 2 / 3,
        }
    )  # fmt: skip


def test_figures_without_a_denominator_are_not_defined():
    nobody_called = ConfusionMatrix(4, 0, 3, 0)
    assert nobody_called.precision is None
    assert nobody_called.f1 == 0
    assert ConfusionMatrix(4, 1, 0, 0).recall is None
    assert ConfusionMatrix(4, 1, 0, 0).balanced_accuracy is None


def test_the_majority_is_called_and_a_tie_is_negative():
    assert majority(LABELS) == ConfusionMatrix(4, 0, 3, 0)
    assert majority(~LABELS) == ConfusionMatrix(0, 3, 0, 4)
    assert majority(np.array([True, False])) == ConfusionMatrix(1, 0, 1, 0)


def test_the_smallest_of_the_best_thresholds_is_chosen():
    probabilities = np.array([0.9, 0.8, 0.4, 0.45, 0.1, 0.1, 0.1])
    # Above 0.45: 2 of 3 found, none wrong (F1 = 0.8). From 0.40 on: all, and one wrong (0.857).
    assert best_threshold(probabilities, LABELS, (0.2, 0.3, 0.4, 0.5)) == 0.2
    assert best_threshold(probabilities, LABELS, (0.41, 0.5, 0.6)) == 0.5
    # A probability that equals the threshold is a positive call.
    assert best_threshold(probabilities, LABELS, (0.4, 0.41)) == 0.4


def test_f1_of_the_grid_is_the_f1_of_the_counts():
    generator = np.random.default_rng(0)
    for _ in range(50):
        probabilities, labels = generator.random(12), generator.random(12) < 0.4
        grid = tuple(np.linspace(0, 1, 21))
        chosen = best_threshold(probabilities, labels, grid)
        scores = [confusion(labels, probabilities >= t).f1 or 0.0 for t in grid]
        assert scores[grid.index(chosen)] == max(scores)


@pytest.mark.parametrize(
    ("successes", "n"), [(-1, 4), (5, 4), (0, 0)], ids=["negative", "too many", "nobody"]
)
def test_impossible_counts_are_refused(successes, n):
    with pytest.raises(RecordingError, match="Wilson"):
        wilson(successes, n)


def test_wilson_agrees_with_scipy():
    from scipy.stats import binomtest

    for successes, n in ((0, 9), (3, 9), (9, 9), (700, 2000)):
        ours = wilson(successes, n)
        theirs = binomtest(successes, n).proportion_ci(0.95, method="wilson")
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert wilson(0, 9).low == 0.0
    assert wilson(9, 9).high == 1.0


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (np.zeros((7, 2)), LABELS[:6]),
        (np.zeros((7, 2)), LABELS.astype(float)),
        (np.full((7, 2), np.nan), LABELS),
        (np.zeros((7, 2)), np.array([True] * 6 + [False])),
    ],
    ids=["shape", "type", "missing", "one patient in a class"],
)
def test_rows_and_labels_that_do_not_fit_are_refused(rows, labels):
    with pytest.raises(RecordingError):
        check_labels(rows, labels)


def test_a_confusion_matrix_of_nobody_is_refused():
    with pytest.raises(RecordingError, match="confusion matrix"):
        ConfusionMatrix(0, 0, 0, 0)
    with pytest.raises(RecordingError, match="confusion matrix"):
        ConfusionMatrix(-1, 0, 0, 2)
