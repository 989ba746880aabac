"""Draws without a codebook against draws with one, and against exact moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from neuroveil.evaluate import draws
from neuroveil.evaluate.draws import decoded_alone, makes_codebook, simulated_draw
from neuroveil.privacy import MechanismSpec, make_mechanism
from neuroveil.privacy.codebook.design import CodebookDesign, choose_codebook
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.randomness import SimulationRandomness


def privunit(epsilon: float, dimension: int, *, alone: bool = False):
    options = CodebookOptions(largest=1 << 12, fresh_per_row=alone)
    return make_mechanism(MechanismSpec("privunit", epsilon, 0.0, 2.0, "l2", dimension, options))


@pytest.mark.parametrize("epsilon", [1.0, 6.0, 20.0])
@pytest.mark.parametrize("length", [0.5, 1.5, 4.0])
def test_inner_products_are_those_of_real_codebooks(epsilon: float, length: float) -> None:
    """Two-sample Kolmogorov-Smirnov of 400 rows each; fixed seeds, alarm level 1e-4."""
    n, d = 400, 12
    mechanism = privunit(epsilon, d, alone=True)
    row = np.random.default_rng(5).normal(size=d)
    rows_int = mechanism.bound(np.tile(length * row / np.linalg.norm(row), (n, 1)))
    source = SimulationRandomness(6)
    real = mechanism.apply(rows_int, mechanism.draw(n, source))
    quick = decoded_alone(mechanism, rows_int, np.random.default_rng(7))
    for along in (row, np.roll(row, 1)):
        assert stats.ks_2samp(real @ along, quick @ along).pvalue > 1e-4
    assert stats.ks_2samp(*(np.linalg.norm(x, axis=1) for x in (real, quick))).pvalue > 1e-4


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_they_are_unbiased_with_the_predicted_error(epsilon: float) -> None:
    """Fixed seed; within five standard errors of 40,000 rows."""
    n, d = 40_000, 30
    mechanism = privunit(epsilon, d)
    row = np.full(d, 2.0 / np.sqrt(d))
    rows_int = mechanism.bound(np.tile(row, (n, 1)))
    released = decoded_alone(mechanism, rows_int, np.random.default_rng(1))
    clipped = mechanism.to_scaled(rows_int)[0]
    error = np.square(released - clipped).sum(axis=1)
    expected = 4.0 * mechanism.predict().mse_over_clip_norm_squared
    assert abs(error.mean() - expected) < 5 * error.std() / np.sqrt(n)
    along = (released - clipped) @ clipped
    assert abs(along.mean()) < 5 * along.std() / np.sqrt(n)


def test_little_work_is_done_and_much_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit decides, and draws are the same for the same seed."""
    mechanism = privunit(4.0, 5)
    rows_int = mechanism.bound(np.ones((3, 5)))
    made = simulated_draw(mechanism, rows_int, SimulationRandomness(2))
    source = SimulationRandomness(2)
    drawn = mechanism.renewed(source)
    assert np.array_equal(made, drawn.apply(rows_int, drawn.draw(3, source)))
    monkeypatch.setattr(draws, "LARGEST_WORK", 1)
    quick = simulated_draw(mechanism, rows_int, SimulationRandomness(2))
    assert quick.shape == made.shape
    assert not np.array_equal(quick, made)
    again = simulated_draw(mechanism, rows_int, SimulationRandomness(2))
    assert np.array_equal(quick, again)


def test_a_codebook_that_rows_would_share_is_made_however_long_it_takes() -> None:
    """4,096 codewords at epsilon = 20: a row is nearly always given the same one."""
    shared = CodebookDesign(20.0, 363, 4096, 1)
    assert shared.bias_over_clip_norm_squared > 0.9 * shared.mse_over_clip_norm_squared
    assert makes_codebook(shared, 10**6)
    assert not makes_codebook(choose_codebook(20.0, 363), 17)
    assert not makes_codebook(choose_codebook(1.0, 363), 2000)
    assert makes_codebook(choose_codebook(1.0, 363), 17)


def test_other_mechanisms_are_drawn_as_they_are() -> None:
    mechanism = make_mechanism(MechanismSpec("gaussian", 1.0, 1e-5, 2.0, "l2", 7))
    rows_int = mechanism.bound(np.ones((4, 7)))
    source = SimulationRandomness(3)
    expected = mechanism.apply(rows_int, mechanism.draw(4, source))
    assert np.array_equal(simulated_draw(mechanism, rows_int, SimulationRandomness(3)), expected)
