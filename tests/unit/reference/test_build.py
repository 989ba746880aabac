"""Estimates from made-up people whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from neuroveil.errors import RecordingError, StudyError
from neuroveil.reference import (
    Reference,
    ReferenceDescription,
    ReferenceSamples,
    build_reference,
)
from neuroveil.reference.covariance import (
    choose_shrinkage,
    kronecker_factors,
    sample_weights,
    to_unit_diagonal,
)
from neuroveil.reference.estimate import SHAMOS_FACTOR, centres, person_values, spreads

Draw = Callable[..., tuple[ReferenceSamples, Any]]


@pytest.mark.slow
def test_many_people_give_the_truth_back(
    draw_people: Draw, description: ReferenceDescription
) -> None:
    samples, truth = draw_people(1000, session_share=0.2)
    found = build_reference(samples, description)
    assert (np.abs(found.centre - truth.centre) / truth.spread).max() < 0.15
    np.testing.assert_allclose(found.spread / truth.spread, 1.0, atol=0.1)
    # At least 5 % of shrinkage stays whatever the number of people.
    np.testing.assert_allclose(found.channel_covariance, truth.channel, atol=0.12)
    np.testing.assert_allclose(found.feature_covariance, truth.feature, atol=0.12)


def test_seven_people_give_a_usable_reference(reference: Reference) -> None:
    assert reference.provenance.n_people == 7
    assert reference.provenance.n_recordings == 14
    assert (reference.spread > 0).all()
    for factor in (reference.channel_covariance, reference.feature_covariance):
        np.testing.assert_array_equal(factor, factor.T)
        np.testing.assert_array_equal(np.diag(factor), 1.0)
        assert np.linalg.cond(factor) < 200


def test_two_unusual_people_of_seven_move_little(
    draw_people: Draw, description: ReferenceDescription
) -> None:
    samples, truth = draw_people(7)
    clean = build_reference(samples, description)
    values = samples.values.copy()
    values[:4, :, 2] += 1000.0
    dirty = build_reference(replace(samples, values=values), description)
    shift = np.abs(dirty.centre - clean.centre)[:, 2] / truth.spread[:, 2]
    # Within the range of the five others, although the two lie 400 spreads away.
    assert shift.max() < 3
    assert (dirty.spread[:, 2] / clean.spread[:, 2]).max() < 4


def test_persons_count_the_same_whatever_their_number_of_recordings(
    draw_people: Draw, description: ReferenceDescription
) -> None:
    samples, _ = draw_people(5)
    twice = ReferenceSamples(
        np.concatenate([samples.values, samples.values[:2], samples.values[:2]]),
        samples.people + samples.people[:2] * 2,
        samples.channels,
        samples.features,
    )
    once, more = build_reference(samples, description), build_reference(twice, description)
    np.testing.assert_allclose(more.centre, once.centre, atol=2e-6)
    np.testing.assert_allclose(more.spread, once.spread, atol=2e-6)
    np.testing.assert_allclose(more.channel_covariance, once.channel_covariance, atol=2e-6)
    assert more.provenance.n_people == 5
    assert more.provenance.n_recordings == 14


@pytest.mark.slow
def test_order_of_recordings_does_not_matter(
    draw_people: Draw, description: ReferenceDescription
) -> None:
    samples, _ = draw_people(6)
    order = np.random.default_rng(1).permutation(len(samples.people))
    shuffled = replace(
        samples,
        values=samples.values[order],
        people=tuple(samples.people[index] for index in order),
    )
    one, other = build_reference(samples, description), build_reference(shuffled, description)
    np.testing.assert_allclose(one.centre, other.centre, atol=2e-6)
    np.testing.assert_allclose(one.feature_covariance, other.feature_covariance, atol=2e-6)


def test_missing_values_are_left_out(draw_people: Draw, description: ReferenceDescription) -> None:
    samples, _ = draw_people(7)
    values = samples.values.copy()
    values[[0, 1, 5], 2, 0] = np.nan
    found = build_reference(replace(samples, values=values), description)
    without = build_reference(
        replace(samples, values=samples.values[2:], people=samples.people[2:]), description
    )
    whole = build_reference(samples, description)
    assert found.centre[0, 0] == whole.centre[0, 0]
    assert found.centre[2, 0] != whole.centre[2, 0]
    assert abs(found.centre[2, 0] - without.centre[2, 0]) < abs(whole.spread[2, 0])


def test_values_of_one_person_only_are_refused(
    draw_people: Draw, description: ReferenceDescription
) -> None:
    samples, _ = draw_people(7)
    values = samples.values.copy()
    values[4:, 3, 1] = np.nan
    with pytest.raises(RecordingError, match="O1 gamma_power: expected values of at least 3"):
        build_reference(replace(samples, values=values), description)


def test_constants_are_rounded_and_repeatable(
    draw_people: Draw, description: ReferenceDescription
) -> None:
    samples, _ = draw_people(4)
    one, other = build_reference(samples, description), build_reference(samples, description)
    assert one.digest == other.digest
    np.testing.assert_array_equal(one.centre, np.round(one.centre, 6))
    assert not np.signbit(one.channel_covariance[one.channel_covariance == 0]).any()


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"channels": ("Fz", "Cz", "Pz", "Pz")}, StudyError),
        ({"channels": ()}, StudyError),
        ({"features": ("alpha_power", "gamma_power", "no_such_feature")}, StudyError),
        ({"channels": ("Fz", "Cz", "Pz")}, RecordingError),
        ({"people": ("a", "b") * 7}, RecordingError),
        ({"people": ("a", "b", "c")}, RecordingError),
    ],
    ids=str,
)
def test_bad_samples_are_refused(
    draw_people: Draw, change: dict[str, Any], refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        replace(draw_people(7)[0], **change)


@pytest.mark.parametrize(("value", "column"), [(np.inf, 2), (0.0, 0), (-1.0, 1)])
def test_bad_values_are_refused(draw_people: Draw, value: float, column: int) -> None:
    samples = draw_people(7)[0]
    values = samples.values.copy()
    values[3, 1, column] = value
    with pytest.raises(RecordingError) as refusal:
        replace(samples, values=values)
    assert "-1.0" not in str(refusal.value)


def test_person_values_are_means_over_recordings() -> None:
    samples = np.arange(12.0).reshape(4, 1, 3)
    samples[0, 0, 0] = np.nan
    samples[3, 0, 1] = np.nan
    found = person_values(samples, ("b", "a", "b", "c"))
    np.testing.assert_array_equal(found[:, 0, 0], [6.0, 3.0, 9.0])
    np.testing.assert_array_equal(found[:, 0, 1], [4.0, 4.0, np.nan])


def test_centre_is_hodges_and_lehmanns() -> None:
    """Median of 1, 1.5, 2, 5.5, 6, 10, the means of all pairs of 1, 2 and 10."""
    assert centres(np.array([1.0, 2.0, 10.0])[:, None, None])[0, 0] == pytest.approx(3.75)


def test_spread_is_shamos_where_channels_really_differ() -> None:
    """Distances of 0, 1 and 4 are 1, 3, 4; their median is 3."""
    people = np.array([0.0, 1.0, 4.0])
    values = np.stack([people * 1e-3, people, people * 1e3], axis=1)[:, :, None]
    spread, weight = spreads(values, np.array([1e-9]))
    assert weight[0] > 0.99
    np.testing.assert_allclose(spread[:, 0] / [1e-3, 1.0, 1e3], 3 * SHAMOS_FACTOR, rtol=0.1)


def test_spread_is_pooled_where_channels_differ_by_chance() -> None:
    """Normal people with the same spread everywhere: at most a tenth of the difference stays."""
    values = np.random.default_rng(0).standard_normal((7, 400, 1))
    spread, weight = spreads(values, np.array([0.02]))
    assert weight[0] < 0.35
    assert np.log(spread).std() < 0.15
    assert spread.mean() == pytest.approx(1.0, abs=0.08)


def test_shamos_factor_makes_it_a_standard_deviation() -> None:
    values = np.random.default_rng(1).standard_normal((800, 1, 1))
    assert spreads(values, np.array([0.02]))[0][0, 0] == pytest.approx(1.0, abs=0.08)


def test_spread_has_a_floor() -> None:
    spread, _ = spreads(np.full((5, 3, 2), 7.0), np.array([0.02, 0.25]))
    np.testing.assert_allclose(spread, [[0.02, 0.25]] * 3)


def test_kronecker_factors_without_shrinkage_solve_the_likelihood_equations() -> None:
    """Dutilleul (1999): each factor is the mean cross-product given the other's inverse."""
    rng = np.random.default_rng(2)
    samples = rng.standard_normal((40, 3, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    weights = np.full(40, 1 / 40)
    channel, feature = kronecker_factors(samples, weights, (0.0, 0.0))
    again = np.einsum("sif,fg,sjg->ij", samples, np.linalg.inv(feature), samples) / (40 * 2)
    np.testing.assert_allclose(again, channel, atol=1e-6)
    assert np.trace(channel) == pytest.approx(3)


def test_full_shrinkage_leaves_the_identity() -> None:
    samples = np.random.default_rng(3).standard_normal((10, 3, 2))
    channel, feature = kronecker_factors(samples, np.full(10, 0.1), (1.0, 1.0))
    np.testing.assert_allclose(channel, np.eye(3))
    np.testing.assert_allclose(feature, np.eye(2) * np.trace(feature) / 2)


def test_chosen_shrinkage_falls_with_the_number_of_people(draw_people: Draw) -> None:
    def shares(n_people: int) -> tuple[float, float]:
        samples, truth = draw_people(n_people, session_share=0.0)
        deviations = (samples.scaled - truth.centre) / truth.spread
        return choose_shrinkage(deviations, samples.people)

    assert sum(shares(60)) < sum(shares(3))
    assert shares(60) == (0.05, 0.05)


def test_uncorrelated_columns_are_shrunk_all_the_way() -> None:
    noise = np.random.default_rng(5).standard_normal((8, 6, 4))
    shares = choose_shrinkage(noise, tuple("abcdefgh"))
    assert min(shares) >= 0.5


def test_sample_weights_belong_to_people() -> None:
    np.testing.assert_allclose(sample_weights(("a", "b", "a", "a")), [1 / 6, 1 / 2, 1 / 6, 1 / 6])


def test_unit_diagonal() -> None:
    found = to_unit_diagonal(np.array([[4.0, 1.0], [1.0, 9.0]]))
    np.testing.assert_allclose(found, [[1.0, 1 / 6], [1 / 6, 1.0]])
