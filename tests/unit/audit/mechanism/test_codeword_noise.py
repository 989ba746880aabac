"""Tier 2 for codewords."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from neuroveil.audit.mechanism.codeword_noise import audit_codewords
from neuroveil.audit.mechanism.laws import AdditiveLaw, CodewordLaw
from neuroveil.audit.subject import SubjectFacts
from neuroveil.errors import ChainError
from neuroveil.privacy.codebook.design import CodebookDesign
from neuroveil.privacy.codebook.messages import pick
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.privacy.mechanisms.privunit import PrivUnit, make_privunit
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray

SPEC = MechanismSpec("privunit", 1.0, 0.0, 2.0, "l2", 3, CodebookOptions(4096))
ROW = np.array([[2.0, 0.0, 0.0]])
N_TRIALS = 2000


@pytest.fixture(scope="module")
def honest() -> PrivUnit:
    return make_privunit(SPEC).renewed(SimulationRandomness(1))


@pytest.fixture(scope="module")
def facts(honest: PrivUnit) -> SubjectFacts:
    return SubjectFacts("privunit", 1.0, 0.0, 3, 2.0, "l2", CodewordLaw(honest))


def release(mechanism: PrivUnit, seed: int, codebook: PrivUnit | None = None) -> FloatArray:
    """Release the row often, ranking the codewords only once."""
    codebook = codebook or mechanism
    draws = mechanism.draw(N_TRIALS, SimulationRandomness(seed)).integers
    assert codebook.codebook_seed is not None
    close = codebook.close_sets(codebook.lift(codebook.bound(ROW)), codebook.codebook_seed)
    numbers = pick(np.tile(close, (N_TRIALS, 1)), draws[:, 0], draws[:, 1])
    return codebook.decode(Messages(numbers, (codebook.codebook_seed,) * N_TRIALS))


def test_an_honest_codebook_passes(honest: PrivUnit, facts: SubjectFacts) -> None:
    result = audit_codewords(facts, release(honest, 4), ROW)
    assert result.verdict == "no_attack_succeeded"
    epsilon = result.figure("epsilon_supported")
    assert epsilon.low < 1.0 < epsilon.high
    assert epsilon.theory == pytest.approx(1.0, abs=1e-6)


def test_close_codewords_that_come_too_often_are_found(
    honest: PrivUnit, facts: SubjectFacts
) -> None:
    """The chance of epsilon 1.5 under a claim of 1, on the same codebook. Fixed seed."""
    design = CodebookDesign(1.5, 3, honest.design.size, honest.design.top)
    greedy = replace(honest, spec=replace(SPEC, epsilon=1.5), design=design)
    values = release(greedy, 5, honest)
    result = audit_codewords(facts, values, ROW)
    assert result.verdict == "violated"
    assert 1.0 < result.figure("epsilon_supported").low < 1.5


def test_a_favourite_among_the_others_is_found(honest: PrivUnit, facts: SubjectFacts) -> None:
    """The chance of a close codeword is right, but low numbers come twice as often."""
    law = facts.law
    assert isinstance(law, CodewordLaw)
    close = law.close(ROW[0])
    others = np.setdiff1d(np.arange(honest.design.size), close)
    generator = np.random.default_rng(6)
    weights = np.where(np.arange(len(others)) < len(others) // 2, 2.0, 1.0)
    numbers = np.where(
        generator.random(N_TRIALS) < honest.design.probability,
        generator.choice(close, N_TRIALS),
        generator.choice(others, N_TRIALS, p=weights / weights.sum()),
    )
    assert honest.codebook_seed is not None
    values = honest.decode(Messages(numbers, (honest.codebook_seed,) * N_TRIALS))
    result = audit_codewords(facts, values, ROW)
    assert result.verdict == "violated"
    assert "equally likely" in result.sentence


def test_few_releases_are_not_testable(honest: PrivUnit, facts: SubjectFacts) -> None:
    assert audit_codewords(facts, release(honest, 7)[:10], ROW).verdict == "not_testable"


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_stated(honest: PrivUnit, facts: SubjectFacts) -> None:
    """20 runs, fixed seeds: at most 5 (a true 5 % gives more with a probability below 4e-4)."""
    alarms = sum(
        audit_codewords(facts, release(honest, 100 + seed)[:1000], ROW).verdict == "violated"
        for seed in range(20)
    )
    assert alarms <= 5


def test_additive_noise_is_sent_elsewhere(facts: SubjectFacts) -> None:
    with pytest.raises(ChainError, match="codewords"):
        audit_codewords(replace(facts, law=AdditiveLaw("laplace", 1.0)), np.zeros((9, 3)), ROW)
