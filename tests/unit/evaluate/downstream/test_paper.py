"""The protocol of the paper on made-up rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.evaluate.downstream.paper import (
    BASELINE_GRID,
    PROTECTED_GRID,
    leave_one_out_probabilities,
    paper_protocol,
    paper_result,
)

LABELS = np.arange(12) < 5


def separable(shift: float, seed: int = 3) -> np.ndarray:
    """Twelve rows of six columns; the positive class stands ``shift`` apart."""
    rows = np.random.default_rng(seed).normal(size=(12, 6))
    rows[LABELS] += shift
    return rows


def test_grids_are_those_of_the_paper():
    assert (BASELINE_GRID[0], BASELINE_GRID[-1], len(BASELINE_GRID)) == (0.2, 0.8, 13)
    assert (PROTECTED_GRID[0], PROTECTED_GRID[-1], len(PROTECTED_GRID)) == (0.05, 0.95, 19)
    assert {0.05, 0.1, 0.4} <= set(PROTECTED_GRID)


@pytest.mark.slow
def test_classes_that_stand_apart_are_told_apart():
    result = paper_protocol(separable(5.0), LABELS, BASELINE_GRID, seed=0)
    assert result.confusion.figures() == dict.fromkeys(result.confusion.figures(), 1.0)
    assert (result.n_patients, result.n_positive, result.n_features) == (12, 5, 6)
    assert result.majority.accuracy == pytest.approx(7 / 12)
    document = json.loads(json.dumps(result.to_json()))
    assert document["internal"] is True
    assert document["figures"]["f1"] == 1.0


@pytest.mark.slow
def test_a_left_out_patient_has_no_part_in_what_is_learned():
    """Exchanging one patient's label changes the others' probabilities and not its own."""
    rows, labels = separable(1.0), LABELS.copy()
    before = leave_one_out_probabilities(rows, labels, seed=4)
    labels[8] = True
    after = leave_one_out_probabilities(rows, labels, seed=4)
    assert after[8] == before[8]
    assert np.count_nonzero(after != before) == 11


@pytest.mark.slow
def test_the_same_seed_gives_the_same_probabilities():
    rows = separable(1.0)
    rows, labels = rows[2:9], LABELS[2:9]
    first, again, other = (leave_one_out_probabilities(rows, labels, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_threshold_is_chosen_on_the_pooled_predictions():
    probabilities = np.where(LABELS, 0.33, 0.31)
    result = paper_result(probabilities, LABELS, (0.2, 0.32, 0.5), seed=0, n_features=6)
    assert result.threshold == 0.32
    assert result.confusion.f1 == 1.0


def test_one_patient_in_a_class_is_refused():
    with pytest.raises(RecordingError, match="at least 2 patients"):
        paper_protocol(separable(1.0), np.arange(12) < 1, BASELINE_GRID, seed=0)
