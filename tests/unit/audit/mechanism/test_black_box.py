"""Tier 3: pairs, scores, events and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.audit.mechanism.black_box import BlackBoxSettings, duel
from neuroveil.audit.mechanism.black_box_result import audit_black_box
from neuroveil.audit.mechanism.canaries import CanaryPair, canary_pairs
from neuroveil.audit.mechanism.events import Event, certify, choose_event
from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.mechanism.scores import learned_score
from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.errors import ChainError
from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.types.recording import FloatArray

Simulated = Callable[[SubjectFacts, AdditiveLaw], FunctionSubject]

SIGMA = gaussian_sigma(4.0, 1.0, 1e-5)
LAW = AdditiveLaw("gaussian", SIGMA)
FACTS = SubjectFacts("gaussian", 1.0, 1e-5, 2, 2.0, "l2", LAW)
BRIEF = BlackBoxSettings(5000, seed=1)


@pytest.mark.parametrize(("norm", "length"), [("l2", 2.0), ("l1", 2.0)])
@pytest.mark.parametrize("dimension", [1, 3, 363])
def test_canaries_lie_at_the_clipping_norm(norm: str, length: float, dimension: int) -> None:
    pairs = canary_pairs(SubjectFacts("a claim", 1.0, 0.0, dimension, 2.0, norm))
    order = 1 if norm == "l1" else 2
    assert len(pairs) == (2 if dimension == 1 else 3)
    for pair in pairs:
        assert np.linalg.norm(pair.first[0], order) == pytest.approx(length)
        assert np.linalg.norm(pair.second[0], order) <= length * (1 + 1e-12)
    dense = np.abs(pairs[0].first - pairs[0].second)
    assert dense.sum() == pytest.approx(4.0 * (math.sqrt(dimension) if norm == "l2" else 1.0))


def test_tables_that_are_no_neighbours_are_refused() -> None:
    table = np.zeros((3, 2))
    for other in (table, table + 1.0, np.ones((2, 2))):
        with pytest.raises(ChainError, match="one row"):
            CanaryPair("a pair", table, other)


def test_events_count_on_both_sides() -> None:
    scores = np.array([1.0, 2.0, 3.0, 4.0])
    assert Event(2.0, True).happens(scores) == 2
    assert Event(2.0, False).happens(scores) == 1


def test_an_event_in_the_other_direction_is_found() -> None:
    """All of the leak lies where scores are small: one in five releases of the second table."""
    generator = np.random.default_rng(0)
    first, second = generator.random((2, 2, 4000))
    second[:, :800] -= 10.0
    event = choose_event(first[0], second[0], 0.0)
    assert not event.upwards
    assert certify(event, first[1], second[1], 0.0).bound > 4.0


def test_atoms_are_counted_right() -> None:
    """Randomised response: two scores only, and the event has to lie between them."""
    generator = np.random.default_rng(1)
    first, second = (generator.random((2, 20_000)) < chance for chance in (0.9, 0.1))
    event = choose_event(first[0] * 1.0, second[0] * 1.0, 0.0)
    found = certify(event, first[1] * 1.0, second[1] * 1.0, 0.0)
    assert 2.0 < found.bound < math.log(9)


def test_a_learned_score_keeps_up_with_the_derived_one(simulated: Simulated) -> None:
    """Laplace noise in 20 columns without a stated law. Fixed seed."""
    truth = AdditiveLaw("laplace", 1.5)
    known = SubjectFacts("laplace", 1.0, 0.0, 20, 2.0, "l2", truth)
    row = np.full((1, 20), 2.0 / math.sqrt(20))
    settings = BlackBoxSettings(10_000, pairs=(CanaryPair("dense", row, -row),))
    derived = duel(simulated(known, truth), settings).certified.bound
    learned = duel(simulated(replace(known, law=None), truth), settings).certified.bound
    assert learned > 0.85 * derived
    assert derived > 2.5


def test_a_learned_score_finds_a_leak_in_another_dimension() -> None:
    """The release has three values, of which the last one alone depends on the table."""

    def release(rows: FloatArray, n_trials: int, seed: int) -> FloatArray:
        noise = np.random.default_rng(seed).normal(size=(n_trials, 3))
        noise[:, 2] += 3 * rows[0, 0]
        return noise

    subject = FunctionSubject(SubjectFacts("an aggregate", 1.0, 1e-5, 2, 2.0), release)
    assert audit_black_box(subject, BRIEF).verdict == "violated"


def test_a_learned_score_looks_at_the_length_of_a_release() -> None:
    """Both tables have the same mean; the noise is twice as loud on one of them."""
    generator = np.random.default_rng(2)
    pair = canary_pairs(FACTS)[0]
    first, second = generator.normal(size=(2, 2000, 50))
    score = learned_score(2 * first[:1000], second[:1000], pair)
    assert np.mean(score(2 * first[1000:]) > np.median(score(second[1000:]))) > 0.9


def test_constant_releases_leave_nothing_to_learn() -> None:
    pair = canary_pairs(FACTS)[0]
    same = np.ones((200, 2))
    assert np.ptp(learned_score(same, same, pair)(same)) == 0.0


def test_a_mechanism_that_does_nothing_is_found() -> None:
    subject = FunctionSubject(
        SubjectFacts("no noise", 2.0, 1e-5, 2, 2.0),
        lambda rows, n_trials, seed: np.tile(rows.ravel(), (n_trials, 1)),
    )
    result = audit_black_box(subject, BlackBoxSettings(1000))
    assert result.verdict == "violated"
    assert result.figure("epsilon_lower_bound").value == pytest.approx(5.6, abs=0.05)


def test_a_violation_is_found_and_reported_with_its_company(simulated: Simulated) -> None:
    result = audit_black_box(simulated(FACTS, AdditiveLaw("gaussian", SIGMA / 3)), BRIEF)
    assert result.verdict == "violated"
    bound = result.figure("epsilon_lower_bound")
    assert bound.control == 0.0
    assert bound.theory is not None
    assert bound.smallest_detectable is not None
    assert 1.0 < bound.smallest_detectable < 3.5
    assert result.figure("gaussian_epsilon").low > 2.5
    assert result.figure("epsilon_cap").value == pytest.approx(7.21, abs=0.01)
    curve = result.curves[0]
    assert all(
        low <= y <= high for low, y, high in zip(curve.low, curve.y, curve.high, strict=True)
    )
    assert sum(curve.y) > sum(curve.control)


def test_an_honest_mechanism_passes(simulated: Simulated) -> None:
    result = audit_black_box(simulated(FACTS, LAW), BRIEF)
    assert result.verdict == "no_attack_succeeded"
    estimate = result.figure("gaussian_epsilon")
    assert estimate.low < 1.0 < estimate.high


def test_a_bound_that_chance_explains_is_no_verdict(simulated: Simulated) -> None:
    """Above the claim at 95 %, not at the 99.9 % that a verdict takes."""
    quiet = simulated(FACTS, AdditiveLaw("gaussian", SIGMA / 3))

    def cubed(rows: FloatArray, n_trials: int, seed: int) -> FloatArray:
        """Scores that are not normal, so that counting has to decide."""
        return quiet.run(rows, n_trials, seed) ** 3

    bound = duel(FunctionSubject(FACTS, cubed), BRIEF).certified.bound
    facts = replace(FACTS, epsilon=bound - 1e-3)
    result = audit_black_box(FunctionSubject(facts, cubed), BRIEF)
    assert result.figure("epsilon_lower_bound").value == bound
    assert result.verdict == "no_attack_succeeded"
    assert "more trials" in result.sentence


def test_the_law_leads_to_the_farthest_pair(simulated: Simulated) -> None:
    """Opposite rows, not a row against zeros, whatever a short pilot says. Ten seeds."""
    subject = simulated(FACTS, LAW)
    names = {duel(subject, BlackBoxSettings(500, seed=seed)).pair.name for seed in range(10)}
    assert not any("zeros" in name for name in names)


def test_a_pair_that_leaks_more_than_the_law_allows_comes_first() -> None:
    """Rows of zeros are released without noise."""

    def release(rows: FloatArray, n_trials: int, seed: int) -> FloatArray:
        noise = np.random.default_rng(seed).normal(0, SIGMA, (n_trials, rows.size))
        return rows.ravel() + noise * (1.0 if rows.any() else 1e-6)

    result = audit_black_box(FunctionSubject(FACTS, release), BRIEF)
    assert "zeros" in result.settings["pair"]
    assert result.verdict == "violated"


def test_too_few_trials_for_a_claim_are_called_so(simulated: Simulated) -> None:
    """Laplace noise in one column: scores are not normal, and counting cannot get to 20."""
    facts = SubjectFacts("laplace", 20.0, 0.0, 1, 2.0)
    result = audit_black_box(simulated(facts, AdditiveLaw("laplace", 0.2)), BlackBoxSettings(200))
    assert result.verdict == "not_testable"


def test_where_scores_are_normal_a_high_claim_can_be_tested(simulated: Simulated) -> None:
    """Counting cannot get to 20 with 2,000 trials; the Gaussian estimate can."""
    law = AdditiveLaw("gaussian", gaussian_sigma(4.0, 20.0, 1e-5))
    result = audit_black_box(
        simulated(replace(FACTS, epsilon=20.0, law=law), law), BlackBoxSettings(2000)
    )
    assert result.verdict == "no_attack_succeeded"
    estimate = result.figure("gaussian_epsilon")
    assert estimate.low < 20 < estimate.high
    assert estimate.smallest_detectable is not None
    assert 20 < estimate.smallest_detectable < 25
    assert result.figure("epsilon_lower_bound").smallest_detectable == math.inf


def test_the_gaussian_estimate_does_not_decide_where_another_law_is_promised(
    simulated: Simulated,
) -> None:
    """Scores of Laplace noise in 100 columns look normal and are not. Fixed seed."""
    law = AdditiveLaw("laplace", 2.0)
    facts = SubjectFacts("laplace", 4.0, 1e-5, 100, 2.0, "l2", law)
    result = audit_black_box(simulated(facts, law), BRIEF)
    assert result.figure("gaussian_epsilon").low > 4.0
    assert result.verdict == "no_attack_succeeded"
    assert any("does not decide" in limit for limit in result.limits)


def test_a_sound_mechanism_without_a_stated_law_is_not_accused(simulated: Simulated) -> None:
    """Pure Laplace noise for rows that are clipped in L1, without a stated law.

    Scores of 500 trials look normal. A normal law so far apart would have epsilon 6.7 at 1e-5;
    Laplace noise of this scale has 5 at delta 0, by its definition. Five seeds.
    """
    facts = SubjectFacts("laplace", 5.0, 0.0, 10, 1.0, "l1")
    subject = simulated(facts, AdditiveLaw("laplace", 2.0 / 5.0))
    for seed in range(5):
        pairs = canary_pairs(facts)[:1]
        result = audit_black_box(subject, BlackBoxSettings(500, seed=seed, pairs=pairs))
        assert result.figure("gaussian_epsilon").low > 5.0
        assert result.verdict == "no_attack_succeeded"
        assert "proves nothing here" in result.sentence


def test_a_law_of_rows_does_not_fit_an_aggregate(simulated: Simulated) -> None:
    subject = FunctionSubject(FACTS, lambda rows, n_trials, seed: np.ones((n_trials, 3)))
    with pytest.raises(ChainError, match="law"):
        duel(subject, BRIEF)


def test_the_same_seed_repeats_a_run_and_another_does_not(simulated: Simulated) -> None:
    subject = simulated(FACTS, AdditiveLaw("gaussian", SIGMA / 3))
    bounds = [duel(subject, BlackBoxSettings(1000, seed=seed)).first.sum() for seed in (1, 1, 2)]
    assert bounds[0] == bounds[1] != bounds[2]


def test_pieces_do_not_change_what_is_scored(
    simulated: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded by pieces, each with a seed of its own; none is repeated."""
    monkeypatch.setattr("neuroveil.audit.mechanism.black_box._VALUES_AT_ONCE", 500)
    run = duel(simulated(FACTS, LAW), BlackBoxSettings(1000))
    assert len(np.unique(run.first)) == len(run.first) == 1000


def test_progress_is_told(simulated: Simulated) -> None:
    shares: list[float] = []
    duel(simulated(FACTS, LAW), BlackBoxSettings(1000), shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert shares[-2] == pytest.approx(1.0, abs=0.05)


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ChainError):
        BlackBoxSettings(10)
    with pytest.raises(ChainError):
        BlackBoxSettings(1000, level=1.0)
