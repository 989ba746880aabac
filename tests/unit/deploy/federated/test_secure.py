"""Secure aggregation: the sum is the sum, for everybody who may drop out, and guards hold."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neuroveil.deploy.federated.guards import check_before_masking, check_stage
from neuroveil.deploy.federated.hospital import Hospital, open_hospital
from neuroveil.deploy.federated.in_process import InProcessGrid, context_of, run_in_process
from neuroveil.deploy.federated.local import noise_source, noisy_units
from neuroveil.deploy.federated.models import flatten, initial_arrays, parameter_shapes
from neuroveil.deploy.federated.noise import mask_terms
from neuroveil.deploy.federated.secure import masked_round
from neuroveil.errors import FederationError

pytestmark = pytest.mark.slow  # PyTorch and Flower take seconds to load

STAGES = ("setup", "share_keys", "collect_masked_vectors", "unmask")
FIRST = 1001


def patterns(most: int) -> Iterator[dict[int, str]]:
    """Who drops out of five hospitals, and at which stage: all ways with at most so many."""
    for size in range(most + 1):
        for who in itertools.combinations(range(5), size):
            for stages in itertools.product(STAGES, repeat=size):
                yield dict(zip(who, stages, strict=True))


class Federation:
    """Five hospitals that can be made to drop out, exchange after exchange."""

    def __init__(self, plan, folders) -> None:
        self.plan = plan
        _, places = folders
        self.hospitals: list[Hospital] = [open_hospital(place) for place in places.values()]
        self._gone: dict[int, str] = {}
        nodes = {FIRST + number: place for number, place in enumerate(places.values())}
        self._grid = InProcessGrid(nodes, self._fails)
        self.attempt = 0

    def _fails(self, node: int, message) -> bool:
        stage = message.content.config_records["secaggplus_configs"]["stage"]
        leaves = self._gone.get(node - FIRST)
        return leaves is not None and STAGES.index(stage) >= STAGES.index(leaves)

    def exchange(self, gone: dict[int, str]):
        self._gone, self.attempt = gone, self.attempt + 1
        said = {"plan_digest": self.plan.digest, "attempt": self.attempt}
        start = initial_arrays(self.plan)
        asked = [FIRST + number for number in range(5)]
        return masked_round(self._grid, context_of(0, {}), self.plan, asked, (start, said))

    def oracle(self, inside: list[int]) -> np.ndarray:
        """The same integers, added in the open."""
        start = initial_arrays(self.plan)
        return sum(
            noisy_units(self.plan, start, h.part("train"), h.noise, noise_source(h, self.attempt))
            for h in (self.hospitals[number] for number in inside)
        )


@pytest.fixture
def federation(make_plan, make_folders) -> Federation:
    plan = make_plan("distributed", max_dropouts=2, max_colluding=0, rounds=400)
    return Federation(plan, make_folders(plan))


def summed(federation: Federation, found) -> np.ndarray:
    arrays = dict(zip(parameter_shapes(federation.plan), found.total, strict=True))
    whole = flatten(arrays, parameter_shapes(federation.plan)) * len(found.told)
    np.testing.assert_allclose(whole, np.rint(whole), atol=1e-3)
    return np.rint(whole).astype(np.int64)


def check(federation, gone: dict[int, str]) -> None:
    found = federation.exchange(gone)
    # Whoever leaves when masks come off has sent an update, and is in the sum.
    inside = [n for n in range(5) if gone.get(n) in (None, "unmask")]
    assert sorted(found.told) == [FIRST + n for n in inside], gone
    np.testing.assert_array_equal(summed(federation, found), federation.oracle(inside))


def everybody_and_every_pair_of_stages() -> list[dict[int, str]]:
    """All sets of at most two that leave in mid-round, and all pairs of stages for some pair."""
    whole = [gone for gone in patterns(2) if set(gone.values()) <= {"collect_masked_vectors"}]
    for number, stages in enumerate(itertools.product(STAGES, repeat=2)):
        first = number % 5
        whole.append({first: stages[0], (first + 1 + number % 4) % 5: stages[1]})
    return whole


def test_the_sum_equals_the_oracle_whoever_drops_out(federation) -> None:
    """Every set of hospitals that the threshold lets go, and every two stages."""
    tried = everybody_and_every_pair_of_stages()
    assert len(tried) == 16 + 16
    for gone in tried:
        check(federation, gone)


@pytest.mark.long
def test_the_sum_equals_the_oracle_for_every_drop_out_that_the_threshold_allows(
    federation, write_down
) -> None:
    """All 181 ways in which at most two of five leave, each at one of four stages."""
    tried = list(patterns(2))
    assert len(tried) == 181
    for gone in tried:
        check(federation, gone)
    write_down("federated-drop-outs", {"hospitals": 5, "threshold": 3, "patterns": len(tried),
                                       "sums_that_equal_the_oracle": len(tried)})  # fmt: skip


@pytest.mark.parametrize(
    "gone", [{}, {1: "collect_masked_vectors"}, {0: "share_keys"}, {4: "setup", 2: "unmask"}]
)
def test_the_sum_equals_the_oracle(federation, gone) -> None:
    check(federation, gone)


@pytest.mark.parametrize("stage", STAGES)
def test_with_fewer_than_the_threshold_nothing_is_unmasked(federation, stage) -> None:
    assert federation.exchange(dict.fromkeys((0, 2, 3), stage)).total is None


def test_weighted_means_under_masks_are_those_in_the_open(make_plan, make_folders) -> None:
    """Quantisation of a parameter within 64 to 2^28 steps, five times."""
    open_, masked = make_plan("none"), make_plan("none", secure_aggregation=True)
    plain = run_in_process(*make_folders(open_, "open"))
    hidden = run_in_process(*make_folders(masked, "masked"))
    for name, value in plain.final.items():
        np.testing.assert_allclose(hidden.final[name], value, atol=1e-5)


def test_a_hospital_that_drops_out_of_a_masked_round_is_named(make_plan, make_folders) -> None:
    plan = make_plan("distributed", max_dropouts=1, max_colluding=1, rounds=1)

    def fails(node: int, message) -> bool:
        config = message.content.config_records.get("secaggplus_configs", {})
        return node == FIRST + 3 and config.get("stage") == "collect_masked_vectors"

    (record,) = run_in_process(*make_folders(plan), fails).rounds
    assert record.hospitals_in == ("h0", "h1", "h2", "h4")
    assert list(record.hospitals_out) == ["h3"]


class TestBeforeAnythingIsSent:
    @pytest.fixture
    def terms(self, make_plan):
        return mask_terms(make_plan(secure_aggregation=True))

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), 64.01, -65.0])
    def test_numbers_that_masks_would_change_are_refused(self, terms, value) -> None:
        check_before_masking([np.array([1.0, -64.0])], 10, 5, terms)
        with pytest.raises(FederationError):
            check_before_masking([np.zeros(2), np.array([1.0, value])], 10, 5, terms)

    @pytest.mark.parametrize("weight", [0, -1, 20.5, 1e15, float("nan")])
    def test_weights_beyond_the_largest_are_refused(self, terms, weight) -> None:
        check_before_masking([np.zeros(2)], 20, 5, terms)
        with pytest.raises(FederationError):
            check_before_masking([np.zeros(2)], weight, 5, terms)

    def test_so_many_hospitals_that_sums_wrap_around_are_refused(self, terms) -> None:
        most = terms.modulus // terms.quantisation_range
        check_before_masking([np.zeros(2)], 1, most - 1, terms)
        with pytest.raises(FederationError):
            check_before_masking([np.zeros(2)], 1, most, terms)

    def test_a_diverged_model_does_not_leave_a_hospital(self, make_plan, make_folders) -> None:
        plan = make_plan("none", secure_aggregation=True, learning_rate=1e4, rounds=1)
        with pytest.raises(FederationError):
            run_in_process(*make_folders(plan))


class TestStagesThatDoNotKeepToThePlan:
    @pytest.fixture
    def hospital(self, make_plan, make_folders) -> Hospital:
        plan = make_plan("distributed")
        return open_hospital(make_folders(plan)[1]["h0"])

    def setup_of(self, hospital: Hospital) -> dict[str, object]:
        terms = mask_terms(hospital.plan)
        return {
            "stage": "setup", "sample_num": 5, "share_num": 5, "threshold": terms.threshold,
            "clipping_range": terms.clipping_range, "target_range": terms.quantisation_range,
            "mod_range": terms.modulus, "max_weight": terms.max_weight,
        }  # fmt: skip

    @pytest.mark.parametrize(("name", "value"), [
        ("threshold", 2), ("clipping_range", 1.0), ("target_range", 2**30), ("mod_range", 2**31),
        ("max_weight", 1e9), ("sample_num", 3), ("sample_num", 6), ("share_num", 4),
    ])  # fmt: skip
    def test_other_numbers_are_refused(self, hospital, name, value) -> None:
        check_stage(hospital, self.setup_of(hospital), {})
        with pytest.raises(FederationError):
            check_stage(hospital, self.setup_of(hospital) | {name: value}, {})

    @pytest.mark.parametrize(("active", "dead"), [
        ([1, 2, 3, 4, 5], [5]),      # both halves of a hospital's secret
        ([1, 2, 3, 4], []),          # somebody is forgotten
        ([1, 2, 3], [4, 5]),         # fewer than the threshold
        ([2, 3, 4, 5], [1]),         # this hospital itself, declared gone
        ([1, 2, 3, 4, 4], [5]),      # counted twice
        ([1, 2, 3, 4, 6], [5]),      # a stranger
    ])  # fmt: skip
    def test_secrets_that_would_open_an_update_are_kept(self, hospital, active, dead) -> None:
        state = {"nid": 1, "rd_seed_share_dict:K": [1, 2, 3, 4, 5]}
        whole = {"stage": "unmask", "active_nids": [1, 2, 3, 4], "dead_nids": [5]}
        check_stage(hospital, whole, state)
        asked = {"stage": "unmask", "active_nids": active, "dead_nids": dead}
        with pytest.raises(FederationError):
            check_stage(hospital, asked, state)


def test_shares_of_noise_really_add_up(make_plan, make_folders) -> None:
    """Unseeded: the spread of 4 x 4 x 60 numbers of noise, false alarm below 1e-6.

    Their sum of squares over the variance follows chi-squared with 960 degrees of freedom.
    """
    from scipy.stats import chi2

    plan = replace(make_plan("distributed", max_dropouts=0, max_colluding=1, rounds=60),
                   simulation=False, seed=None)  # fmt: skip
    _, places = make_folders(plan)
    hospitals = [open_hospital(place) for place in places.values()]
    nobody = replace(hospitals[0].part("train"), inputs=np.zeros((0, 3)), labels=np.zeros(0, bool))
    start, draws = initial_arrays(plan), []
    for attempt in range(1, 61):
        shares = [
            noisy_units(plan, start, nobody, h.noise, noise_source(h, attempt)) for h in hospitals
        ]
        draws.append(sum(shares[:4]))  # one of five colludes and takes its share away
    noise = hospitals[0].noise
    target = np.ldexp(noise.noise_std, -noise.grid_log2)
    total = float((np.array(draws, dtype=float) ** 2).sum()) / target**2
    n = len(draws) * plan.n_parameters
    assert chi2.ppf(4e-7, n) < total < chi2.ppf(1 - 4e-7, n)


def test_patients_counted_in_the_clear_are_all_that_is_told(federation) -> None:
    """What goes beside a masked vector: a name, a count that is public, the exchange."""
    told = federation.exchange({}).told
    assert {key for said in told.values() for key in said} == {
        "hospital", "plan_digest", "attempt", "patients"
    }  # fmt: skip
    sizes = {said["hospital"]: said["patients"] for said in told.values()}
    assert sizes == {seat.name: seat.n_patients for seat in federation.plan.seats}


def test_an_answer_is_counted_before_it_is_computed(federation) -> None:
    federation.exchange({0: "unmask"})
    folder: Path = federation.hospitals[1].folder
    assert json.loads((folder / "answers.json").read_text())["last"] == 1
