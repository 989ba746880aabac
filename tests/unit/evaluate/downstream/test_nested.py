"""Nested cross-validation, and the classifiers in it."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.evaluate.downstream.folds import stratified_folds
from neuroveil.evaluate.downstream.models import MODELS
from neuroveil.evaluate.downstream.nested import (
    learn,
    log_loss,
    nested_round,
    true_label_probability,
)
from neuroveil.evaluate.downstream.performance import Seen, measure
from neuroveil.evaluate.downstream.rows import Lesson, Rows, Shared

QUICK = ("logistic", "noise_aware")


def shared(cohort, noise_variance=0.0, seed=1, variances=None, basis=None):
    """Rows with normal noise, in both forms."""
    noise = np.random.default_rng(seed).normal(size=cohort.rows.shape) * np.sqrt(noise_variance)
    noisy = cohort.rows + noise
    turn = (lambda rows: rows) if basis is None else (lambda rows: rows @ basis)
    return Shared(
        Rows(noisy, turn(noisy), noise_variance), Rows(cohort.rows, turn(cohort.rows), 0.0),
        cohort.labels, variances,
    )  # fmt: skip


def rounds_of(model, what, labels, side="on_shared", n_rounds=2):
    done = [
        nested_round(MODELS[model], what, stratified_folds(labels, number), number)
        for number in range(n_rounds)
    ]
    return measure([Seen(getattr(each, side), each.folds, labels) for each in done])


@pytest.mark.parametrize("model", QUICK)
def test_classes_that_stand_apart_are_told_apart(people, model):
    cohort = people(40, 1.5)
    measured = rounds_of(model, shared(cohort), cohort.labels)
    assert measured.auc.mean > 0.95
    assert measured.calibration.brier < measured.calibration.brier_prevalence / 2
    assert measured.auc.low > 0.5


@pytest.mark.parametrize("model", QUICK)
def test_nothing_of_a_fold_reaches_its_own_predictions(people, model):
    """Other labels and other rows in one fold leave what is said of the fold as it was."""
    cohort = people(30, 0.7)
    folds = stratified_folds(cohort.labels, 3)
    inside = folds == 1
    before = nested_round(MODELS[model], shared(cohort), folds, 5)
    labels = np.where(inside, ~cohort.labels, cohort.labels)
    other = Shared(shared(cohort).learned, shared(cohort).clear, labels, None)
    after = nested_round(MODELS[model], other, folds, 5)
    for one, two in ((before.on_shared, after.on_shared), (before.on_clear, after.on_clear)):
        np.testing.assert_array_equal(one.probabilities[inside], two.probabilities[inside])
        np.testing.assert_array_equal(one.called[inside], two.called[inside])
        assert (one.probabilities[~inside] != two.probabilities[~inside]).any()


def test_pure_noise_is_at_chance_and_a_peeked_threshold_flatters_it(people):
    cohort = people(24, 0.0)
    gaps, areas = [], []
    for seed in range(6):
        measured = rounds_of("noise_aware", shared(cohort, 4.0, seed), cohort.labels, n_rounds=2)
        gaps.append(measured.gap)
        areas.append(measured.auc.mean)
    assert min(gaps) >= 0
    assert np.mean(gaps) > 0.03
    assert abs(np.mean(areas) - 0.5) < 0.2


@pytest.mark.slow
def test_the_noise_aware_classifier_beats_logistic_regression_under_noise(people):
    """With the public covariance and noise twice as wide as the rows; means over 4 draws."""
    cohort = people(60, 0.8)
    values, vectors = np.linalg.eigh(cohort.scaling.covariance)
    areas = {name: [] for name in QUICK}
    for seed in range(4):
        what = shared(cohort, 2.0, seed, values, vectors)
        for name in QUICK:
            areas[name].append(rounds_of(name, what, cohort.labels, n_rounds=2).auc.mean)
    assert np.mean(areas["noise_aware"]) > np.mean(areas["logistic"]) + 0.02


def test_the_noise_aware_classifier_without_a_public_covariance_works_too(people):
    cohort = people(60, 1.0)
    assert rounds_of("noise_aware", shared(cohort, 0.3), cohort.labels).auc.mean > 0.75


def test_thresholds_and_settings_fall_back_where_a_class_is_too_small(people):
    cohort = people(12, 1.0)
    only_one = np.arange(12) < 1
    rows = Rows(cohort.rows, cohort.rows, 0.0)
    judge, threshold = learn(MODELS["logistic"], Lesson(rows, only_one, None), 0)
    assert threshold == 0.5
    assert judge(rows).shape == (12,)
    judge, _ = learn(MODELS["logistic"], Lesson(rows, np.zeros(12, dtype=bool), None), 0)
    assert (judge(rows) == 0).all()


def test_large_lessons_use_one_inner_fold(people, monkeypatch):
    from neuroveil.evaluate.downstream import nested

    cohort, fitted = people(50, 1.0), []

    def fit(lesson, candidate, seed):
        fitted.append(lesson.labels.size)
        return MODELS["noise_aware"].fit(lesson, candidate, seed)

    from dataclasses import replace

    model = replace(MODELS["noise_aware"], fit=fit)
    rows = Rows(cohort.rows, cohort.rows, 0.0)
    learn(model, Lesson(rows, cohort.labels, None), 0)
    assert fitted == [40, 40, 40, 40, 40, 50]
    fitted.clear()
    monkeypatch.setattr(nested, "ONE_INNER_FOLD_FROM", 50)
    learn(model, Lesson(rows, cohort.labels, None), 0)
    assert fitted == [40, 50]


def test_log_loss_of_a_coin_is_the_logarithm_of_two():
    assert log_loss(np.full(4, 0.5), np.array([True, False, True, True])) == pytest.approx(
        np.log(2)
    )
    assert np.isfinite(log_loss(np.array([0.0]), np.array([True])))


def test_probabilities_of_drawn_labels_become_those_of_true_ones():
    """If 70 % of labels are kept, a true probability p shows as 0.3 + 0.4 p."""
    true = np.array([0.0, 0.25, 1.0])
    assert true_label_probability(0.3 + 0.4 * true, 0.7) == pytest.approx(true)
    assert true_label_probability(np.array([0.1, 0.9]), 0.7).tolist() == [0.0, 1.0]


def test_calibration_counts_bins_by_hand():
    from neuroveil.evaluate.downstream.nested import Judged
    from neuroveil.evaluate.downstream.performance import calibrate

    labels = np.array([True, False, True, False])
    likely = np.array([0.9, 0.9, 0.5, 0.1])
    found = calibrate([Seen(Judged(likely, likely >= 0.5), np.zeros(4, int), labels)])
    assert [(each.n, each.observed) for each in found.bins] == [(1, 0.0), (1, 1.0), (2, 0.5)]
    assert found.brier == pytest.approx((0.01 + 0.81 + 0.25 + 0.01) / 4)
    assert found.brier_prevalence == 0.25
    assert found.error == pytest.approx(0.25 * 0.1 + 0.25 * 0.5 + 0.5 * 0.4)
