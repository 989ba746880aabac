"""LiRA: models that memorise are found, models that cannot are not, and patients stay whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from neuroveil.audit.table.trained_models import (
    Confidence,
    LabelArray,
    LiraSettings,
    TrainingData,
    attack_trained_model,
    online_scores,
    sklearn_trainer,
)
from neuroveil.errors import StudyError
from neuroveil.types.recording import FloatArray

SETTINGS = LiraSettings(n_bootstraps=50)


def people(n_patients: int = 30, n_rows: int = 3, d: int = 40) -> TrainingData:
    """Labels that have nothing to do with the rows: only memory can know them."""
    generator = np.random.default_rng(0)
    own = np.repeat(generator.normal(size=(n_patients, d)), n_rows, axis=0)
    rows = own + generator.normal(scale=0.3, size=own.shape)
    patients = np.repeat([f"patient {i}" for i in range(n_patients)], n_rows)
    return TrainingData(rows, np.repeat(generator.integers(0, 2, n_patients), n_rows), patients)


def test_a_model_that_memorises_is_found() -> None:
    """Forty columns for fifteen patients: a line through them always exists."""
    from sklearn.linear_model import LogisticRegression

    train = sklearn_trainer(lambda: LogisticRegression(C=10.0))
    result = attack_trained_model(people(), train, SETTINGS)
    assert result.verdict == "weak"
    assert result.figure("auc").value > 0.9
    assert result.figure("auc").control == pytest.approx(0.5, abs=0.06)
    assert result.figure("tpr_at_fpr_1e-2").value > 0.2
    assert result.settings["n_models"] == 65


def test_a_model_that_looks_at_nothing_is_not() -> None:
    def train(rows: FloatArray, labels: LabelArray) -> Confidence:
        return lambda rows, labels: np.full(len(rows), 0.5)

    result = attack_trained_model(people(), train, SETTINGS)
    assert result.verdict == "no_attack_succeeded"
    assert result.figure("auc").value == pytest.approx(0.5, abs=0.02)


def test_rows_of_a_patient_are_in_or_out_together() -> None:
    data = people()
    seen: list[tuple[int, int]] = []

    def train(rows: FloatArray, labels: LabelArray) -> Confidence:
        inside = {row.tobytes() for row in rows}
        kept = np.array([row.tobytes() in inside for row in data.rows]).reshape(30, 3)
        assert (kept.all(axis=1) == kept.any(axis=1)).all()
        seen.append((len(rows), int(kept[0, 0])))
        return lambda rows, labels: np.full(len(rows), 0.5)

    attack_trained_model(data, train, SETTINGS)
    assert {n_rows for n_rows, _ in seen} == {45}
    assert 32 <= sum(inside for _, inside in seen) <= 33  # in half of 65 models


def test_scores_are_ratios_of_fitted_normal_laws() -> None:
    generator = np.random.default_rng(1)
    signals = generator.normal(size=(9, 2))
    members = np.array([[row % 2 == 0, row % 3 == 0] for row in range(9)])
    scores = online_scores(signals, members)
    others = np.arange(9) != 4
    inside = signals[others & members[:, 1], 1]
    outside = signals[others & ~members[:, 1], 1]
    expected = stats.norm.logpdf(signals[4, 1], inside.mean(), inside.std())
    expected -= stats.norm.logpdf(signals[4, 1], outside.mean(), outside.std())
    assert scores[4, 1] == pytest.approx(expected)


def test_labels_that_a_training_set_lacked_have_no_probability() -> None:
    from sklearn.linear_model import LogisticRegression

    rows = np.random.default_rng(2).normal(size=(8, 2))
    confidence = sklearn_trainer(LogisticRegression)(rows, np.array(["a", "b"] * 4))
    found = confidence(rows, np.array(["a"] * 4 + ["c"] * 4))
    assert (found[:4] > 0).all()
    assert (found[4:] == 0).all()


def test_refusals() -> None:
    with pytest.raises(StudyError, match="at least 64"):
        LiraSettings(n_shadows=63)
    with pytest.raises(StudyError, match="one label and one patient a row"):
        TrainingData(np.zeros((4, 2)), np.zeros(3), np.arange(4))
    with pytest.raises(StudyError, match="at least four patients"):
        TrainingData(np.zeros((4, 2)), np.zeros(4), np.zeros(4))

    def train(rows: FloatArray, labels: LabelArray) -> Confidence:
        return lambda rows, labels: np.full(len(rows), 1.5)

    with pytest.raises(StudyError, match="probabilities from 0 to 1"):
        attack_trained_model(people(), train, SETTINGS)
