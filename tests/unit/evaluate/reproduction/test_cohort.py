"""Seventeen rows, five of them positive: made up, or chosen from a roster."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.evaluate.reproduction import cohort_of_rows, simulated_cohort
from neuroveil.evaluate.reproduction.cohort import CLASS_DISTANCE, first_of_each


def test_made_up_rows_have_the_shape_of_the_papers() -> None:
    cohort = simulated_cohort(0)
    assert cohort.scaled.shape == (17, 363)
    assert cohort.positive.tolist() == [False] * 12 + [True] * 5
    assert not cohort.facts.is_internal
    assert (np.linalg.norm(cohort.scaled, axis=1) > 2).all()  # so that all are clipped


def test_the_seed_decides() -> None:
    assert np.array_equal(simulated_cohort(3).scaled, simulated_cohort(3).scaled)
    assert not np.array_equal(simulated_cohort(3).scaled, simulated_cohort(4).scaled)


def test_classes_are_as_far_apart_as_stated() -> None:
    """The positive rows' shift, in the population's own metric; the population is known."""
    cohort = simulated_cohort(0)
    assert cohort.scaling.covariance is not None
    values, vectors = np.linalg.eigh(cohort.scaling.covariance)
    whitened = (cohort.scaled @ vectors) / np.sqrt(values)
    gap = whitened[12:].mean(axis=0) - whitened[:12].mean(axis=0)
    # Three leading directions carry the shift; chance moves each mean by √(1/12 + 1/5) = 0.53.
    leading = np.sqrt(np.square(gap[-3:]).sum())
    assert leading == pytest.approx(CLASS_DISTANCE, abs=3 * 0.53)
    assert abs(gap[:-3].mean()) < 4 * 0.53 / np.sqrt(360)


def test_the_first_of_each_class_are_taken_in_roster_order() -> None:
    positive = np.array([True, False] * 13)
    kept = first_of_each(positive)
    assert kept.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 19, 21, 23]
    assert positive[kept].sum() == 5


def test_a_smaller_cohort_is_refused(scaling) -> None:
    positive = np.arange(17) >= 13
    with pytest.raises(RecordingError, match="at least 12 negative and 5 positive"):
        cohort_of_rows(np.zeros((17, 363)), positive, scaling, "study", "a study")


def test_rows_of_people_are_internal(scaling, scaled) -> None:
    cohort = cohort_of_rows(scaled, np.arange(17) >= 12, scaling, "study", "a study")
    assert cohort.facts.is_internal
    assert "ndarray" not in repr(cohort)
    assert f"{scaled[0, 0]:.3f}" not in repr(cohort)
