"""A mechanism of this package as a subject."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.audit.mechanism.laws import AdditiveLaw, CodewordLaw
from neuroveil.audit.subjects.ours import apply_often, at_dimension, our_mechanism
from neuroveil.errors import ChainError
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.privacy.randomness import SimulationRandomness

SPECS = [
    MechanismSpec("gaussian", 1.0, 1e-5, 2.0, "l2", 6),
    MechanismSpec("laplace", 1.0, 0.0, 2.0, "l1", 6),
    MechanismSpec("privunit", 2.0, 0.0, 2.0, "l2", 6, CodebookOptions(4096)),
    MechanismSpec("privunit", 2.0, 0.0, 2.0, "l2", 6, CodebookOptions(4096, fresh_per_row=True)),
]
every_mechanism = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
ROWS = np.random.default_rng(0).normal(size=(3, 6))


@every_mechanism
def test_trials_are_those_of_the_mechanism_itself_bit_by_bit(spec):
    subject = our_mechanism(spec, simulated=True)
    mechanism = subject.mechanism
    rows_int = mechanism.bound(ROWS)
    draws = mechanism.draw(15, SimulationRandomness(4))
    expected = mechanism.apply(np.tile(rows_int, (5, 1)), draws)
    assert apply_often(mechanism, rows_int, draws).tobytes() == expected.tobytes()
    assert subject.run(ROWS, 5, 4).tobytes() == expected.reshape(5, -1).tobytes()


@every_mechanism
def test_real_draws_differ_and_simulated_ones_do_not(spec):
    real, simulated = our_mechanism(spec), our_mechanism(spec, simulated=True)
    assert (real.facts.repeatable, simulated.facts.repeatable) == (False, True)
    assert (real.run(ROWS, 4, None) != real.run(ROWS, 4, None)).any()
    assert (simulated.run(ROWS, 4, 1) == simulated.run(ROWS, 4, 1)).all()
    assert (simulated.run(ROWS, 4, 1) != simulated.run(ROWS, 4, 2)).any()


def test_the_law_is_the_one_that_the_mechanism_promises():
    gaussian = our_mechanism(SPECS[0])
    assert gaussian.facts.law == AdditiveLaw("gaussian", gaussian.mechanism.noise_scale)
    assert our_mechanism(SPECS[1]).facts.law.family == "laplace"
    assert isinstance(our_mechanism(SPECS[2]).facts.law, CodewordLaw)
    assert our_mechanism(SPECS[3]).facts.law is None


def test_facts_are_the_claim():
    facts = our_mechanism(SPECS[0]).facts
    assert (facts.name, facts.epsilon, facts.delta) == ("gaussian", 1.0, 1e-5)
    assert (facts.dimension, facts.clip_norm, facts.norm) == (6, 2.0, "l2")
    assert our_mechanism(at_dimension(SPECS[0], 2)).facts.dimension == 2


@pytest.mark.parametrize(("simulated", "seed"), [(False, 1), (True, None)])
def test_seeds_belong_to_simulations_only(simulated, seed):
    subject = our_mechanism(SPECS[0], simulated=simulated)
    with pytest.raises(ChainError, match="seed"):
        subject.run(ROWS, 1, seed)
