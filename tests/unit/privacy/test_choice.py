"""Mechanism and components are chosen from public numbers, and the choice is explained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.choice import RowWishes, choose_rows
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.public_model import PublicModel
from neuroveil.privacy.settings import Projection

AUTO = RowWishes("auto", 5.0, 1e-5, 2.0)


def test_codewords_in_public_components_are_chosen(correlated) -> None:
    choice = choose_rows(AUTO, correlated, 17)
    assert choice.mechanism == "privunit"
    assert choice.projection is not None
    assert 1 < choice.projection.components < 33
    assert choice.delta == 0
    assert "predicted correlation" in choice.projection.rule
    assert choice.sentence.startswith("Chosen from public numbers: privunit in ")
    assert f"{choice.correlation:.2f}" in choice.sentence
    assert "laplace" in choice.sentence


def test_no_other_number_of_components_is_predicted_to_leave_more(correlated) -> None:
    """Every number from 1 to 33, against the grid that the choice looks at."""
    model = PublicModel(correlated.covariance)

    def left(m: int) -> float:
        spec = MechanismSpec("privunit", 5.0, 0.0, 2.0, "l2", m)
        return model.moments(m, 2.0).correlation(make_mechanism(spec).predict().rmse ** 2)

    choice = choose_rows(AUTO, correlated, 17)
    assert choice.correlation >= max(left(m) for m in range(1, 34)) - 0.005


@pytest.mark.slow
def test_more_epsilon_keeps_more_components_and_leaves_more(correlated) -> None:
    found = [choose_rows(replace(AUTO, epsilon=e), correlated, 17) for e in (0.5, 2.0, 8.0, 20.0)]
    kept = [choice.projection.components for choice in found if choice.projection is not None]
    assert kept == sorted(kept)
    assert kept[0] < kept[-1]
    left = [choice.correlation for choice in found]
    assert left == sorted(left)
    assert "too little to be of use" in found[0].sentence
    assert "too little to be of use" not in found[-1].sentence


@pytest.mark.slow
def test_the_size_of_the_cohort_counts_only_where_rows_are_shuffled(correlated) -> None:
    local = [choose_rows(AUTO, correlated, n) for n in (20, 2000)]
    assert local[0].correlation == pytest.approx(local[1].correlation, abs=0.002)
    wishes = replace(AUTO, epsilon=1.0, trust_model="shuffled")
    few, many = (choose_rows(wishes, correlated, n) for n in (20, 200))
    assert many.correlation > few.correlation + 0.1
    assert (many.mechanism, many.delta) == ("privunit", 1e-5)


@pytest.mark.slow
def test_without_delta_there_is_no_gaussian(correlated, scaling) -> None:
    for constants in (correlated, scaling):
        choice = choose_rows(replace(AUTO, delta=0.0, epsilon=900.0), constants, 17)
        assert choice.mechanism in ("privunit", "laplace")
        assert choice.delta == 0


def test_where_nothing_is_known_rows_stay_as_they_are(scaling, correlated) -> None:
    assert choose_rows(AUTO, scaling, 17).projection is None
    uncovered = replace(correlated, fallback=(True, *correlated.fallback[1:]))
    assert choose_rows(AUTO, uncovered, 17).projection is None
    assert choose_rows(replace(AUTO, projection="none"), correlated, 17).projection is None
    with pytest.raises(ChainError, match=r"privacy\.projection"):
        choose_rows(replace(AUTO, projection="public_pca"), uncovered, 17)


def test_what_the_study_sets_stays_set(correlated) -> None:
    wishes = replace(AUTO, mechanism="gaussian", projection="public_pca", components=3)
    choice = choose_rows(wishes, correlated, 17)
    assert (choice.mechanism, choice.delta) == ("gaussian", 1e-5)
    assert choice.projection == Projection(3, "set by the study")
    assert choice.sentence.startswith("Set by the study: gaussian in 3 public components")
    l1 = replace(AUTO, mechanism="laplace", norm="l1", delta=0.0)
    assert choose_rows(l1, correlated, 17).projection is None


def test_codebooks_are_those_that_the_study_allows_or_that_are_affordable(correlated) -> None:
    assert choose_rows(AUTO, correlated, 17).codebook.largest == 1 << 19
    assert choose_rows(AUTO, correlated, 10**7).codebook.largest < 1 << 19
    wishes = replace(AUTO, largest_codebook=4096, fresh_per_row=True)
    codebook = choose_rows(wishes, correlated, 17).codebook
    assert (codebook.largest, codebook.fresh_per_row) == (4096, True)


def test_equal_public_numbers_give_equal_choices(correlated) -> None:
    """Nothing else enters: two calls, and constants with another centre, agree."""
    moved = replace(correlated, centre=correlated.centre + 3.0, spread=correlated.spread * 2)
    first, again, other = (choose_rows(AUTO, s, 17) for s in (correlated, correlated, moved))
    assert first == again == other


@pytest.mark.slow
def test_a_spherical_population_has_no_use_for_a_basis(correlated) -> None:
    """All columns alike: a basis loses what it leaves out."""
    isotropic = replace(correlated, covariance=np.eye(33))
    kept = [choose_rows(replace(AUTO, epsilon=e), isotropic, 17).projection for e in (10.0, 20.0)]
    assert all(p is None or p.components > 16 for p in kept)


def test_no_patients_are_refused(correlated) -> None:
    with pytest.raises(ChainError, match=r"adjacency\.n_roster"):
        choose_rows(AUTO, correlated, 0)
