"""Intervals over patients and rounds."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.evaluate.downstream.intervals import (
    auc_figure,
    balanced_figure,
    f1_figure,
    proportion_figure,
    student,
)
from neuroveil.evaluate.downstream.scores import wilson


@pytest.mark.parametrize(("successes", "n"), [(0, 9), (3, 9), (12, 17), (9, 9)])
def test_rounds_that_agree_give_wilsons_interval(successes, n):
    figure, expected = proportion_figure(np.full(5, successes / n), n), wilson(successes, n)
    assert (figure.low, figure.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert figure.one_round == 0


def test_rounds_that_differ_make_the_interval_wider_by_their_own_uncertainty():
    shares = np.array([0.4, 0.6, 0.5, 0.7])
    many = proportion_figure(shares, 1e12)
    half = student(3) * shares.std(ddof=1) / 2
    assert (many.low, many.high) == pytest.approx((0.55 - half, 0.55 + half), abs=1e-5)
    few = proportion_figure(shares, 20)
    assert few.low < many.low
    assert few.high > many.high


def test_f1_follows_from_the_share_of_relevant_patients():
    """F1 = 2 J / (1 + J): three of five relevant patients give J = 0.6 and F1 = 0.75."""
    figure, share = f1_figure(np.full(3, 0.75), 5), wilson(3, 5)
    assert figure.low == pytest.approx(2 * share.low / (1 + share.low))
    assert figure.high == pytest.approx(2 * share.high / (1 + share.high))


def test_balanced_accuracy_puts_both_halves_together():
    recall, specificity = (proportion_figure(np.full(4, p), n) for p, n in ((0.6, 5), (0.75, 12)))
    figure = balanced_figure(np.full(4, 0.675), recall, specificity)
    below = np.hypot(0.6 - recall.low, 0.75 - specificity.low) / 2
    assert figure.low == pytest.approx(0.675 - below)


def test_newcombes_interval_by_his_equation():
    """Both ends solve (area - a)^2 = z^2 V(a), V by Hanley and McNeil 1982."""
    figure = auc_figure(np.full(3, 0.8), 5, 12)
    for end in (figure.low, figure.high):
        star = (5 + 12) / 2 - 1
        shape = 1 + star * (1 - end) / (2 - end) + star * end / (1 + end)
        variance = end * (1 - end) * shape / 60
        assert (0.8 - end) ** 2 == pytest.approx(1.959963985**2 * variance, rel=1e-6)


def test_a_perfect_area_in_a_small_cohort_is_not_certain():
    figure = auc_figure(np.ones(4), 5, 12)
    assert figure.high == 1
    assert 0.6 < figure.low < 0.85
    assert auc_figure(np.zeros(4), 5, 12).high == pytest.approx(1 - figure.low)


@pytest.mark.slow
def test_areas_are_covered_as_often_as_promised():
    """Fixed seed; 1000 cohorts of 5 and 12 patients, area 0.76: at least 93 % covered."""
    generator, covered = np.random.default_rng(3), 0
    for _ in range(1000):
        ups, downs = generator.normal(1, 1, 5), generator.normal(0, 1, 12)
        area = float((ups[:, None] > downs).mean())
        figure = auc_figure(np.full(2, area), 5, 12)
        covered += figure.low <= 0.7602 <= figure.high
    assert covered >= 930
