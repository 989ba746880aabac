"""Curves by threshold against brute force, with ties and with patients that count twice."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.audit.table.rates import Game, false_alarm_axis, interval, smallest_rate


def game(inside: list[float], outside: list[float], n_patients: int = 1) -> Game:
    patients = np.arange(max(len(inside), len(outside))) % n_patients
    return Game(
        np.array(inside), np.array(outside), patients[: len(inside)], patients[: len(outside)],
        n_patients,
    )  # fmt: skip


def test_area_is_the_chance_of_a_right_order_with_ties_counted_half() -> None:
    generator = np.random.default_rng(0)
    inside = generator.integers(0, 8, 60).astype(float)
    outside = generator.integers(-2, 6, 50).astype(float)
    pairs = np.sign(inside[:, None] - outside[None, :])
    assert game(list(inside), list(outside)).curve().area == pytest.approx((pairs.mean() + 1) / 2)


def test_a_patient_who_counts_twice_is_one_who_stands_there_twice() -> None:
    generator = np.random.default_rng(1)
    inside, outside = generator.normal(1, 1, 40), generator.normal(0, 1, 40)
    patients = np.arange(40) % 4
    whole = Game(inside, outside, patients, patients, 4)
    weighted = whole.curve(np.array([2.0, 0.0, 1.0, 1.0]))
    chosen = np.concatenate([np.flatnonzero(patients == p) for p in (0, 0, 2, 3)])
    repeated = game(list(inside[chosen]), list(outside[chosen])).curve()
    assert weighted.area == pytest.approx(repeated.area)
    assert weighted.at(0.1) == pytest.approx(repeated.at(0.1))


def test_ties_are_not_split() -> None:
    """Two values only: below the share of the higher one no threshold is strict enough."""
    curve = game([1, 1, 1, 0], [1, 0, 0, 0]).curve()
    assert curve.at(0.24) == (0.0, 0.0)
    assert curve.at(0.25) == (0.75, 0.25)
    assert curve.at(0.9) == (0.75, 0.25)
    assert curve.at(1.0) == (1.0, 1.0)


def test_all_scores_equal_is_guessing() -> None:
    assert game([0.0] * 5, [0.0] * 7).curve().area == 0.5


def test_bootstrap_tables_without_a_side_are_left_out() -> None:
    """Patient 0 has trials on one side only, patient 1 on the other."""
    lopsided = Game(np.ones(3), np.zeros(3), np.zeros(3, int), np.ones(3, int), 2)
    curves = lopsided.bootstrap(200, np.random.default_rng(2))
    assert 0 < len(curves) < 200
    assert {curve.area for curve in curves} == {1.0}
    low, high = interval(np.array([]))
    assert np.isnan(low)
    assert np.isnan(high)


def test_curves_reach_as_low_as_trials_can_show() -> None:
    assert false_alarm_axis(20_000)[0] == pytest.approx(5e-4)
    assert false_alarm_axis(20)[0] == pytest.approx(0.1)
    assert false_alarm_axis(20)[-1] == 1.0


def test_what_is_kept_of_a_curve_is_what_the_curve_says() -> None:
    generator = np.random.default_rng(5)
    curve = game(list(generator.normal(1, 1, 500)), list(generator.normal(0, 1, 500))).curve()
    kept = curve.sample(np.array([1e-3, 1e-2, 0.3]))
    assert kept.area == curve.area
    assert [kept.at(rate) for rate in (1e-3, 1e-2, 0.3)] == [
        curve.at(rate) for rate in (1e-3, 1e-2, 0.3)
    ]
    np.testing.assert_array_equal(kept.sampled(np.array([1e-2])), [curve.at(1e-2)[0]])


def test_the_smallest_rate_is_found_four_times_of_five() -> None:
    """A success is an interval that lies beyond chance and margin. 20,000 runs, fixed seed."""
    generator, error = np.random.default_rng(2), 0.02
    smallest = smallest_rate(0.5 + error * generator.normal(size=100_000), 0.5, 0.05)
    lows = generator.normal(smallest, error, 20_000) - 1.96 * error
    assert np.mean(lows > 0.5 + 0.05) == pytest.approx(0.8, abs=0.02)


@pytest.mark.slow
def test_intervals_count_the_other_patient_too() -> None:
    """Scores of pairs of 17 patients who differ: each stands in either place. 100 cohorts.

    Fixed seed. With the patient alone, 65 of 100 intervals hold the area of the population.
    """
    generator = np.random.default_rng(3)
    held, truth = 0, 0.856  # mean over 300 cohorts
    for _ in range(100):
        rows = generator.normal(size=(17, 5))
        sides, patients, others = [], [], []
        for is_inside in (True, False):
            patient = generator.integers(0, 17, 1500)
            other = (patient + generator.integers(1, 17, 1500)) % 17
            seen = rows[patient if is_inside else other] + generator.normal(0, 2, (1500, 5))
            apart = np.square(seen - rows[other]) - np.square(seen - rows[patient])
            sides.append(apart.sum(axis=1) / 8)
            patients.append(patient)
            others.append(other)
        drawn = Game(sides[0], sides[1], patients[0], patients[1], 17, (others[0], others[1]))
        areas = np.array([curve.area for curve in drawn.bootstrap(60, generator)])
        low, high = interval(areas)
        held += low <= truth <= high
    assert held >= 80
