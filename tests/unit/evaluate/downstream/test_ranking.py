"""Areas within folds, and their paired differences."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.evaluate.downstream.folds import derived_seed, stratified_folds
from neuroveil.evaluate.downstream.ranking import paired_difference, rank_within_folds

LABELS = np.arange(20) < 6


def test_folds_hold_both_classes_and_are_of_like_size():
    for seed in range(20):
        folds = stratified_folds(LABELS, seed)
        sizes = np.bincount(folds)
        assert sizes.size == 5
        assert sizes.max() - sizes.min() <= 1
        assert all(LABELS[folds == fold].any() for fold in range(5))
        assert all((~LABELS)[folds == fold].any() for fold in range(5))


def test_a_small_class_limits_the_number_of_folds():
    assert stratified_folds(np.arange(20) < 3, 0).max() == 2
    assert stratified_folds(np.arange(20) >= 2, 0).max() == 1


def test_seeds_for_different_uses_differ():
    assert len({derived_seed(a, b) for a in range(20) for b in range(20)}) == 400


def test_only_patients_of_the_same_fold_are_compared():
    """By hand: fold 0 ranks 1 of 2 pairs right, fold 1 has a tie and a right pair."""
    labels = np.array([True, False, False, True, False, False])
    folds = np.array([0, 0, 0, 1, 1, 1])
    likely = np.array([0.5, 0.4, 0.6, 0.9, 0.9, 0.1])
    ranking = rank_within_folds(likely, folds, labels)
    assert ranking.auc == pytest.approx((1 + 1.5) / 4)
    assert ranking.placements == pytest.approx([0.5, 1.0, 0.0, 0.75, 0.5, 1.0])
    lifted = rank_within_folds(likely + 100 * folds, folds, labels)
    assert lifted.auc == ranking.auc


def test_one_fold_gives_the_usual_area():
    from sklearn.metrics import roc_auc_score

    likely = np.random.default_rng(0).integers(0, 6, 20) / 6
    ours = rank_within_folds(likely, np.zeros(20, dtype=np.int64), LABELS)
    assert ours.auc == pytest.approx(roc_auc_score(LABELS, likely))


def test_pooled_leave_one_out_is_biased_and_folds_are_not():
    """A "classifier" that names the share of positives of its training part knows nothing."""
    pooled = np.array([(LABELS.sum() - label) / 19 for label in LABELS])
    assert rank_within_folds(pooled, np.zeros(20, dtype=np.int64), LABELS).auc == 0
    folds = stratified_folds(LABELS, 1)
    named = np.array([LABELS[folds != fold].mean() for fold in folds])
    assert rank_within_folds(named, folds, LABELS).auc == 0.5


def rankings(generator, shifts, n_rounds=4):
    """Rounds of two classifiers whose scores share the patients' own noise."""
    own = generator.normal(size=20)
    sides = []
    for shift in shifts:
        rounds = []
        for number in range(n_rounds):
            scores = shift * LABELS + own + generator.normal(size=20)
            rounds.append(rank_within_folds(scores, stratified_folds(LABELS, number), LABELS))
        sides.append(rounds)
    return sides


@pytest.mark.slow
def test_equal_classifiers_are_rarely_told_apart_and_unequal_ones_are():
    """Fixed seed; 200 cohorts. At most 5 % false alarms (plus 2.3 standard errors: 8.5 %)."""
    generator = np.random.default_rng(11)
    found = []
    for shifts, n_cohorts in (((1.0, 1.0), 200), ((0.0, 4.0), 50)):
        told = [paired_difference(*rankings(generator, shifts), LABELS) for _ in range(n_cohorts)]
        found.append(sum(each.is_told_from_chance for each in told))
    assert found[0] <= 17
    assert found[1] >= 35


def test_the_sentence_says_which_way_and_whether_it_means_anything():
    generator = np.random.default_rng(0)
    worse = paired_difference(*rankings(generator, (0.0, 6.0)), LABELS)
    assert worse.sentence.startswith("It is worse than the unprotected table, beyond chance (-")
    alike = paired_difference(*rankings(generator, (1.0, 1.0)), LABELS)
    assert "cannot be told from chance" in alike.sentence
