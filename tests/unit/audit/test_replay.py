"""Replay with the same draws: what moves besides the protected row, and by how much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuroveil.audit.neighbours import neighbouring_tables
from neuroveil.audit.replay import ReplayedSubject, audit_replay
from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.audit.subjects.ours import OurMechanism, our_mechanism
from neuroveil.audit.subjects.whole_pipeline import WholePipeline
from neuroveil.errors import ChainError
from neuroveil.privacy import ProtectSettings, private_statistics_scaling, protection, simulate
from neuroveil.privacy.bounds import ClipL2
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.privacy.randomness import SimulationRandomness, permutation
from neuroveil.types.catalogue import FEATURE_NAMES, columns_for
from neuroveil.types.scaling import Scaling

COLUMNS = columns_for(tuple(f"E{number}" for number in range(1, 34)), FEATURE_NAMES)
D = len(COLUMNS)
SMALL = CodebookOptions(4096)
CLIP = ClipL2(2.0)


def constants(columns):
    d = len(columns)
    return Scaling(columns, np.zeros(d), np.ones(d), "public", "made up", (False,) * d)


PUBLIC = constants(COLUMNS)
FEW = constants(COLUMNS[:22])


def pipeline(mechanism="gaussian", public=FEW, scaling_of=None):
    delta = 1e-5 if mechanism == "gaussian" else 0.0
    settings = ProtectSettings(mechanism, 1.0, delta, 2.0, codebook=SMALL)
    return WholePipeline(public, settings, scaling_of or (lambda table: public))


def noise(rows, seed):
    return np.random.default_rng(seed).normal(0.0, 15.0, rows.shape)


def replayed(function, dimension=5, n_rows=17, norm="l2"):
    facts = SubjectFacts("peer", 1.0, 1e-5, dimension, 2.0, norm)
    return audit_replay(ReplayedSubject(FunctionSubject(facts, function)), n_rows)


@pytest.mark.slow
class TestPrivateScaling:
    @pytest.fixture(scope="class")
    @classmethod
    def result(cls):
        return audit_replay(
            pipeline(public=PUBLIC, scaling_of=private_statistics_scaling), n_rounds=1
        )

    def test_twelve_moved_where_four_was_claimed_in_one_run(self, result):
        """MECHANISMS section 6: C sqrt(2 (n + 1)) = 12.0 for n = 17, and epsilon 3.41."""
        assert result.verdict == "violated"
        moved = result.figure("moved")
        assert moved.value == pytest.approx(2 * math.sqrt(2 * 18), rel=1e-9)
        assert moved.theory == 4.0
        assert result.figure("epsilon_supported").value == pytest.approx(3.41, abs=0.005)
        assert "moves the table by 12, where a sensitivity of 4 is claimed" in result.sentence

    def test_the_sixteen_other_patients_move(self, result):
        assert result.figure("moved_others").value > 11
        assert "16 rows of other patients" in result.sentence

    def test_codewords_do_not_hide_it(self):
        result = audit_replay(pipeline("privunit", FEW, private_statistics_scaling), 5, 1)
        assert result.verdict == "violated"
        assert "other rows" in result.sentence


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "privunit", "paper_laplace"])
def test_our_own_way_from_features_to_rows_moves_one_row_only(mechanism):
    result = audit_replay(pipeline(mechanism), 5, 1)
    assert result.verdict == "no_attack_succeeded"
    assert result.figure("moved_others").value == 0
    if mechanism != "privunit":
        assert result.figure("moved").value == pytest.approx(4.0, rel=1e-9)
        assert result.figure("moved").value <= 4.0


def test_missing_cells_are_among_the_neighbours_of_our_way():
    result = audit_replay(pipeline(), 5, 1)
    kinds = result.settings["moved_by_kind"]
    assert {
        "a row without any value",
        "a row with missing cells",
        "exact copies of one row",
    } <= set(kinds)
    assert all(each["other_rows"] == 0 for each in kinds.values())


def test_what_is_replayed_is_what_a_release_does(monkeypatch, charge_for):
    """`protect` itself, with its randomness made repeatable, gives the replayed rows in its
    random order."""
    whole = pipeline(public=PUBLIC)
    table = whole.table_of(np.random.default_rng(3).normal(size=(6, D)))
    monkeypatch.setattr(protection, "SystemRandomness", lambda: SimulationRandomness(5))
    release = protection.protect(table, PUBLIC, whole.settings, charge_for(whole.settings, table))
    draw = next(simulate(table, PUBLIC, whole.settings, 5))
    source = SimulationRandomness(5)
    source.discrete_gaussian(1.0, (6, D))  # what the noise took from the stream
    assert (release.values == draw.values[permutation(6, source)]).all()


@pytest.mark.parametrize("name", ["gaussian", "laplace", "privunit"])
def test_mechanisms_of_ours_pass_by_themselves(name):
    delta = 1e-5 if name == "gaussian" else 0.0
    spec = MechanismSpec(name, 1.0, delta, 2.0, "l2", 8, SMALL)
    subject = our_mechanism(spec, simulated=True)
    assert isinstance(subject, OurMechanism)
    assert audit_replay(ReplayedSubject(subject), 6, 1).verdict == "no_attack_succeeded"


def test_a_sensitivity_that_is_twice_as_large_is_found():
    result = replayed(lambda rows, seed: 2 * CLIP.apply(rows) + noise(rows, seed))
    assert result.verdict == "violated"
    assert result.figure("moved").value == pytest.approx(8.0)


def test_a_clip_in_another_norm_is_found():
    result = replayed(lambda rows, seed: CLIP.apply(rows) + noise(rows, seed), norm="l1")
    assert result.verdict == "violated"
    assert result.figure("moved").value == pytest.approx(4 * math.sqrt(5))


def test_state_that_outlives_a_table_is_found():
    seen = []

    def release(rows, seed):
        before = seen[-1] if seen else 0.0
        seen.append(float(rows.sum()))
        return CLIP.apply(rows) + noise(rows, seed) + 1e-6 * before

    result = replayed(release)
    assert result.verdict == "violated"
    assert "depends on the table before it" in result.sentence


def test_centring_by_the_cohort_is_found():
    result = replayed(lambda rows, seed: CLIP.apply(rows - rows.mean(axis=0)) + noise(rows, seed))
    assert result.verdict == "violated"
    assert result.figure("moved_others").value > 1


def test_other_rows_that_move_within_the_sensitivity_are_weak():
    def release(rows, seed):
        clipped = ClipL2(1.0).apply(rows)
        return clipped + 0.01 * clipped.mean(axis=0) + noise(rows, seed)

    result = replayed(release)
    assert result.verdict == "weak"
    assert "not treated each on its own" in result.sentence


def test_randomness_without_the_seed_is_not_testable():
    result = replayed(lambda rows, seed: rows + np.random.default_rng().normal(size=rows.shape))
    assert result.verdict == "not_testable"


def test_statistics_are_held_against_the_sensitivity_alone():
    result = replayed(lambda rows, seed: CLIP.apply(rows).mean(axis=0) + noise(rows[0], seed))
    assert result.verdict == "no_attack_succeeded"
    assert result.figure("moved").value == pytest.approx(4 / 17)
    with pytest.raises(KeyError):
        result.figure("moved_others")


@pytest.mark.parametrize(("n_rows", "n_rounds"), [(1, 1), (0, 1), (5, 0)])
def test_too_little_to_replay_is_refused(n_rows, n_rounds):
    with pytest.raises(ChainError, match="at least"):
        audit_replay(pipeline(), n_rows, n_rounds)


def test_a_subject_without_a_seed_cannot_be_replayed():
    facts = SubjectFacts("peer", 1.0, 1e-5, 5, 2.0)
    with pytest.raises(ChainError, match="repeatable"):
        ReplayedSubject(FunctionSubject(facts, lambda rows: rows))


@pytest.mark.parametrize("n_rows", [2, 3, 17, 18])
@pytest.mark.parametrize("with_missing", [False, True])
def test_neighbours_differ_in_the_protected_row_only(n_rows, with_missing):
    facts = SubjectFacts("x", 1.0, 0.0, 7, 2.0)
    pairs = list(
        neighbouring_tables(facts, n_rows, np.random.default_rng(2), with_missing=with_missing)
    )
    assert len(pairs) == (11 if with_missing else 9)
    for pair in pairs:
        assert pair.first.shape == pair.second.shape == (n_rows, 7)
        differ = (pair.first.view(np.int64) != pair.second.view(np.int64)).any(axis=1)
        assert np.flatnonzero(differ).tolist() == [pair.row]
    assert with_missing == any(np.isnan(pair.second).any() for pair in pairs)


def test_releases_of_statistics_are_refused():
    settings = ProtectSettings("mean_covariance", 1.0, 1e-5, 2.0, trust_model="central")
    with pytest.raises(ChainError, match="rows"):
        WholePipeline(PUBLIC, settings, lambda table: PUBLIC)


def test_rounding_is_no_larger_sensitivity():
    """Rounded to 0.1, opposite rows are up to 4.04 apart, and nobody learns more for that."""
    result = replayed(lambda rows, seed: np.round(CLIP.apply(rows) + noise(rows, seed), 1))
    assert result.verdict == "no_attack_succeeded"


def test_a_sensitivity_that_is_too_large_is_found_in_rounded_releases():
    result = replayed(lambda rows, seed: np.round(1.1 * CLIP.apply(rows) + noise(rows, seed), 1))
    assert result.verdict == "violated"


def test_rows_in_random_order_are_treated_each_on_its_own():
    def release(rows, seed):
        return np.random.default_rng(seed).permutation(CLIP.apply(rows) + noise(rows, seed))

    result = replayed(release)
    assert result.verdict == "no_attack_succeeded"
    assert result.figure("moved_others").value == 0.0
