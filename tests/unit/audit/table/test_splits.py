"""Splits of patients, ridge scores and areas from pairs."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.audit.table.pair_areas import PairTally
from neuroveil.audit.table.ridge import fit_ridge
from neuroveil.audit.table.splits import check_disjoint, n_shared_rows, stratified_folds
from neuroveil.errors import RecordingError
from neuroveil.types.recording import FloatArray


def test_folds_share_every_class_out() -> None:
    classes = np.repeat([0, 1, 2], [11, 3, 1])
    folds = stratified_folds(classes, np.random.default_rng(0))
    assert folds.max() == 2  # three folds, as the class of three allows
    for number in range(3):
        assert np.count_nonzero(classes[folds == number] == 1) == 1
        assert np.count_nonzero(classes[folds == number] == 0) in {3, 4}


def test_an_injected_copy_is_refused() -> None:
    """The same row twice is no leak within a patient, and one between patients."""
    rows = np.random.default_rng(1).normal(size=(6, 4))
    rows[5], rows[4] = rows[0], rows[1]
    check_disjoint(rows, np.array([0, 1, 2, 3, 1, 0]))
    with pytest.raises(RecordingError, match="1 that two or more share"):
        check_disjoint(rows, np.array([0, 1, 2, 3, 1, 5]))
    rows[2], rows[3] = 0.0, -0.0  # two patients without a recording
    assert n_shared_rows(rows, np.array([0, 1, 2, 3, 1, 0])) == 0


@pytest.mark.parametrize("shape", [(14, 30), (30, 5)])
def test_scores_are_those_of_a_plain_ridge(shape: tuple[int, int]) -> None:
    """With the penalty that leaving patients out would choose, by fitting again and again."""
    generator = np.random.default_rng(2)
    rows = generator.normal(size=shape)
    patients = np.arange(shape[0]) // 2
    targets = (rows[:, :1] + generator.normal(size=(shape[0], 1)) > 0).astype(np.float64)
    found = fit_ridge(rows, patients, targets).scores(rows)
    centred = rows - rows.mean(axis=0)
    penalties = np.logspace(-3, 3, 7) * np.square(centred).sum() / shape[0]
    losses = [refitted_loss(rows, patients, targets, penalty) for penalty in penalties]
    best = penalties[int(np.argmin(losses))]
    weights = plain_ridge(rows, targets, best)
    np.testing.assert_allclose(found, centred @ weights, atol=1e-8)


def refitted_loss(rows: FloatArray, patients: np.ndarray, targets: FloatArray, p: float) -> float:
    total = 0.0
    for patient in np.unique(patients):
        kept = patients != patient
        weights = plain_ridge(rows[kept], targets[kept], p)
        guess = (rows[~kept] - rows[kept].mean(axis=0)) @ weights + targets[kept].mean(axis=0)
        total += float(np.square(guess - targets[~kept]).sum())
    return total


def plain_ridge(rows: FloatArray, targets: FloatArray, penalty: float) -> FloatArray:
    centred = rows - rows.mean(axis=0)
    square = centred.T @ centred + penalty * np.eye(rows.shape[1])
    return np.linalg.solve(square, centred.T @ (targets - targets.mean(axis=0)))


def test_noise_to_come_is_a_penalty() -> None:
    rows = np.random.default_rng(3).normal(size=(40, 3))
    targets = (rows[:, :1] > 0).astype(np.float64)
    clean, wary = (fit_ridge(rows, np.arange(40), targets, noise) for noise in (0.0, 50.0))
    assert np.abs(wary.weights).max() < 0.1 * np.abs(clean.weights).max()


def test_pooled_predictions_of_patients_left_out_are_wrong_by_construction() -> None:
    """Nothing to learn: pooling gives 0.000 for true and permuted labels, test folds one half."""
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(20, 8))
    truth = np.repeat([0.0, 1.0], 10)[:, None]
    for labels in (truth, generator.permutation(truth)):
        pooled = np.empty(20)
        for number in range(20):
            kept = np.arange(20) != number
            model = fit_ridge(rows[kept], np.arange(19), labels[kept], 1e9)
            pooled[number] = model.scores(rows[[number]])[0, 0] + labels[kept].mean()
        inside, outside = pooled[labels[:, 0] == 1], pooled[labels[:, 0] == 0]
        assert (inside[:, None] > outside).mean() == 0.0
        tally = PairTally((labels == 1)[:, :, None])
        for _ in range(40):
            folds = stratified_folds(labels[:, 0].astype(np.int64), generator)
            for fold in range(5):
                tested, kept = np.flatnonzero(folds == fold), folds != fold
                model = fit_ridge(rows[kept], np.flatnonzero(kept), labels[kept], 1e9)
                tally.add(tested, model.scores(rows[tested])[:, :, None])
        assert tally.area == pytest.approx(0.5, abs=0.3)


def test_areas_count_pairs_within_a_fold_with_ties_half() -> None:
    labels = np.array([True, False, True, False])[:, None, None]
    tally = PairTally(labels)
    tally.add(np.array([0, 1]), np.array([2.0, 1.0])[:, None, None])
    tally.add(np.array([2, 3]), np.array([-9.0, -9.0])[:, None, None])
    assert tally.area == 0.75
    weights = np.array([[1.0, 1, 1, 1], [2, 2, 0, 0], [1, 0, 0, 3]])
    np.testing.assert_allclose(tally.resampled(weights), [0.75, 1.0])
