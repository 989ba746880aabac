"""Ways of sharing: what each of them gives away, and the table of all."""

from __future__ import annotations

import json

import numpy as np
import pytest

from neuroveil.evaluate.downstream.central_way import CentralWay
from neuroveil.evaluate.downstream.choice_of_ways import (
    WAY_KEYS,
    Promise,
    list_ways,
    local_epsilon,
)
from neuroveil.evaluate.downstream.comparison import compare, list_units
from neuroveil.evaluate.downstream.scores import majority
from neuroveil.evaluate.downstream.units import OWN_MODEL, do_unit
from neuroveil.evaluate.downstream.ways import label_epsilon
from neuroveil.privacy import ProtectSettings
from neuroveil.privacy.amplification.clones import clones_epsilon
from neuroveil.types.sharing import LabelCounts, SharingTable

CENTRAL = ("private_training", "private_moments", "synthetic_table")


def ways_for(scaling, n, epsilon=5.0, keys=WAY_KEYS, own=None):
    found = list_ways(Promise(epsilon, 1e-5, 2.0, n), scaling, keys, own)
    return {way.facts.key: way for way in found}


@pytest.fixture(scope="module")
def ways(public_scaling):
    return ways_for(public_scaling, 60)


def test_every_protected_way_is_held_to_the_same_guarantee(ways):
    for key, way in ways.items():
        assert way.facts.epsilon == (None if key == "unprotected" else 5.0)
        assert (way.facts.delta or 0) <= 1e-5
        assert way.facts.is_complete == (key in ("rows_and_labels", "shuffled", *CENTRAL))


def test_row_and_label_share_epsilon_exactly(ways):
    way = ways["rows_and_labels"]
    assert way.settings.epsilon + way.label_epsilon == pytest.approx(5.0, abs=1e-12)
    assert label_epsilon(0.1) == pytest.approx(0.05)
    assert 2 < label_epsilon(10.0) < 3.5  # randomised labels are nearly certain from there on


def test_a_shuffled_batch_is_local_by_more_and_central_by_no_more_than_promised(public_scaling):
    promise = Promise(1.0, 1e-6, 2.0, 2000)
    local = local_epsilon(promise)
    assert 3.3 < local < 4.0  # MECHANISMS, section 5: 3 gives .684 and 4 gives 1.477 at 1e-5
    assert clones_epsilon(1e-6, local, 2000) <= 1.0 + 1e-5  # its own precision
    (way,) = list_ways(promise, public_scaling, ("shuffled",))
    assert way.settings.epsilon + way.label_epsilon <= local + 1e-9
    assert way.settings.mechanism == "privunit"


def test_few_rows_are_not_shuffled_because_it_proves_nothing(public_scaling):
    assert "shuffled" not in ways_for(public_scaling, 17, keys=("shuffled",))


def test_the_studys_own_promise_is_one_of_the_ways(public_scaling, ways):
    assert "study" not in ways
    own = ProtectSettings("laplace", 5.0, 0.0, 2.0)
    assert ways_for(public_scaling, 60, keys=("study",), own=own)["study"].settings is own


def test_a_study_with_too_little_noise_is_shown_at_the_epsilon_that_it_supports(public_scaling):
    """The paper's Laplace scale on 24 columns: sqrt(24) times the epsilon that it is set to."""
    own = ProtectSettings("paper_laplace", 5.0, 0.0, 2.0)
    way = ways_for(public_scaling, 60, keys=("study",), own=own)["study"]
    assert way.facts.epsilon == pytest.approx(5 * np.sqrt(24), rel=1e-6)
    assert "instead of 5" in way.facts.detail


def test_shared_rows_are_noisy_and_clear_ones_are_not(people, ways):
    cohort = people(60, 1.0)
    for key in ("paper_gaussian", "rows", "rows_and_labels"):
        first, again, other = (
            ways[key].share(cohort.rows, cohort.labels, cohort.scaling, seed) for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(first.learned.values, again.learned.values)
        assert (first.learned.coordinates != other.learned.coordinates).any()
        np.testing.assert_allclose(first.clear.values, other.clear.values)
        error = np.square(first.learned.coordinates - first.clear.coordinates).mean()
        assert error == pytest.approx(first.learned.noise_variance, rel=0.25)
        assert np.linalg.norm(first.clear.coordinates, axis=1).max() <= 2 + 1e-6
        assert (first.labels == cohort.labels).all() == (key != "rows_and_labels")


def test_the_paper_s_rows_are_not_post_processed(people, ways):
    cohort = people(60, 1.0)
    what = ways["paper_gaussian"].share(cohort.rows, cohort.labels, cohort.scaling, 0)
    assert what.learned.values.std() > 1  # sigma = 3.57 at epsilon = 5


@pytest.mark.parametrize("key", CENTRAL)
def test_a_curator_s_classifier_learns_when_epsilon_is_large(people, public_scaling, key):
    cohort = people(300, 1.2)
    way = ways_for(public_scaling, 300, 100.0, (key,))[key]
    rows = way.coordinates(cohort.rows, cohort.scaling)
    assert rows.var(axis=0).mean() == pytest.approx(1, rel=0.4)  # whitened in public
    likely = way.teach(rows[::2], cohort.labels[::2], seed=0)(rows[1::2])
    labels = cohort.labels[1::2]
    assert likely.min() >= 0
    assert likely.max() <= 1
    assert (likely[labels][:, None] > likely[~labels]).mean() > 0.85


@pytest.mark.parametrize("key", CENTRAL)
def test_a_curator_s_classifier_never_sees_the_test_patients(people, public_scaling, key):
    """Other rows and labels in a fold leave what is said of that fold's rows as it was."""
    cohort = people(30, 1.0)
    way = ways_for(public_scaling, 30, 5.0, (key,))[key]
    assert isinstance(way, CentralWay)
    rows = way.coordinates(cohort.rows, cohort.scaling)
    first = way.teach(rows[:20], cohort.labels[:20], 3)(rows[20:])
    again = way.teach(rows[:20].copy(), cohort.labels[:20], 3)(rows[20:])
    np.testing.assert_array_equal(first, again)
    assert (way.teach(rows[:20], cohort.labels[:20], 4)(rows[20:]) != first).any()


@pytest.fixture(scope="module")
def table(people, public_scaling):
    cohort = people(40, 2.0)
    keys = ("unprotected", "paper_gaussian", "rows", "private_training")
    ways = list_ways(Promise(1.0, 1e-5, 2.0, 40), public_scaling, keys)
    outcomes = {}
    for unit in list_units(ways, ("noise_aware",), 3, seed=1):
        place = outcomes.setdefault((unit.way.facts.key, unit.model), [])
        place.append(do_unit(unit, cohort))
    counts = LabelCounts("label", "made up", 12, 28, 0)
    return SharingTable(
        counts, 40, 24, 1.0, 1e-5, 3, 1, majority(cohort.labels),
        compare(ways, outcomes, cohort.labels),
    )  # fmt: skip


def test_every_result_stands_beside_its_controls(table):
    assert [result.way.key for result in table.results] == [
        "unprotected", "paper_gaussian", "rows", "private_training",
    ]  # fmt: skip
    by_key = {result.way.key: result for result in table.results}
    assert by_key["unprotected"].new_people.difference is None
    assert by_key["unprotected"].new_people.is_told_from_guessing
    assert by_key["private_training"].model == OWN_MODEL
    assert by_key["private_training"].in_table is None
    for result in table.results:
        assert 0.2 < result.new_people.control.auc.mean < 0.8
    assert by_key["paper_gaussian"].in_table.difference.is_told_from_chance
    assert "worse" in by_key["paper_gaussian"].in_table.difference.sentence
    assert table.majority.balanced_accuracy == 0.5


def test_the_table_as_plain_data_is_marked_internal(table):
    document = json.loads(json.dumps(table.to_json(), allow_nan=False))
    assert document["internal"] is True
    assert document["verdict"] == table.verdict
    first = document["results"][1]["new_people"]
    assert first["difference"]["sentence"]
    assert first["gap"] == pytest.approx(
        first["performance"]["peeked_f1"]["mean"] - first["performance"]["f1"]["mean"]
    )


def test_private_scaling_voids_every_guarantee_and_the_verdict_says_so(table):
    from dataclasses import replace

    private = replace(table, has_public_scaling=False)
    assert private.verdict.startswith("Rows are scaled with the cohort's own statistics")
    assert "own statistics" not in table.verdict


def test_the_verdict_names_only_ways_that_protect_row_and_label(table):
    assert "a model trained by a curator" in table.verdict
    assert "best mechanism" not in table.verdict


@pytest.mark.slow
def test_the_paper_s_protocol_runs_beside_for_its_own_classifier(people, public_scaling):
    cohort = people(10, 3.0)
    (way,) = list_ways(Promise(1.0, 1e-5, 2.0, 10), public_scaling, ("unprotected",))
    units = list_units([way], ("mlp",), 2, seed=0)
    outcomes = {("unprotected", "mlp"): [do_unit(unit, cohort) for unit in units]}
    (result,) = compare([way], outcomes, cohort.labels)
    assert result.paper is not None
    assert result.paper.f1.mean > 0.8
    assert 0.2 <= result.paper.thresholds[0] <= result.paper.thresholds[1] <= 0.8
