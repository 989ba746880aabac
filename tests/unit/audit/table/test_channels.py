"""Scores against the laws themselves, and draws against the mechanisms."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.channels import ReleasedRows
from neuroveil.audit.table.codewords import CodewordChannel
from neuroveil.audit.table.moments import MomentsChannel
from neuroveil.privacy.codebook.design import CodebookDesign
from neuroveil.privacy.codebook.messages import Messages
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray

Make = Callable[..., Any]


@pytest.mark.parametrize(
    ("name", "law"),
    [("gaussian", stats.norm), ("laplace", stats.laplace), ("paper_laplace", stats.laplace)],
)
def test_additive_scores_are_log_densities(
    make_channel: Make, rows: FloatArray, name: str, law: Any
) -> None:
    channel = make_channel(name, 1.0, 30, 17)
    candidates = channel.against(rows)
    released = candidates.draw(np.arange(17), SimulationRandomness(0))
    assert released.values is not None
    scale = channel.mechanism.noise_scale
    bounded = candidates.rows
    assert np.linalg.norm(bounded, axis=1).max() <= 2.0
    exact = law.logpdf(released.values[:, None, :] - bounded[None], scale=scale).sum(axis=2)
    constant = law.logpdf(0, scale=scale) * 30
    np.testing.assert_allclose(candidates.all(released), exact - constant, rtol=1e-9)
    which = np.roll(np.arange(17), 1)
    np.testing.assert_allclose(
        candidates.each(released, which), (exact - constant)[np.arange(17), which], rtol=1e-9
    )
    nobody = law.logpdf(released.values, scale=scale).sum(axis=1) - constant
    np.testing.assert_allclose(channel.unknown(released), nobody, rtol=1e-9)


def codewords(fresh: bool, size: int = 64, top: int = 5, basis: FloatArray | None = None) -> Any:
    spec = MechanismSpec("privunit", 2.0, 0.0, 2.0, "l2", 4)
    seed = None if fresh else bytes(range(16))
    return CodewordChannel(PrivUnit(spec, CodebookDesign(2.0, 4, size, top), seed), basis)


@pytest.mark.parametrize("fresh", [False, True])
def test_codeword_scores_are_the_two_chances(fresh: bool) -> None:
    """Over all codewords of a codebook the chances add up to one, whatever the row."""
    channel = codewords(fresh)
    rows = np.random.default_rng(2).normal(size=(3, 4))
    every = ReleasedRows(messages=Messages(np.arange(64), (bytes(range(16)),) * 64))
    candidates = channel.against(rows)
    for row in range(3):
        chances = np.exp(candidates.each(every, np.full(64, row))) / 64
        assert chances.sum() == pytest.approx(1.0, abs=1e-12)
        close = channel.mechanism.close_sets(candidates.lifted, bytes(range(16)))[row]
        np.testing.assert_array_equal(np.flatnonzero(chances > chances.mean()), close)
        assert chances.max() / chances.min() == pytest.approx(np.exp(2.0))
    ranked = candidates.all(every)
    each = np.array([candidates.each(every, np.full(64, row)) for row in range(3)]).T
    assert np.abs(ranked - each).max() <= 0.0021  # closeness parts equal ones, no more
    assert not (ranked[:, 0] == ranked[:, 1]).any()


@pytest.mark.parametrize("fresh", [False, True])
def test_codewords_are_drawn_as_the_mechanism_draws_them(fresh: bool) -> None:
    channel = codewords(fresh)
    rows = np.random.default_rng(3).normal(size=(3, 4))
    which = np.array([0, 2, 2, 1, 0, 1])
    drawn = channel.against(rows).draw(which, SimulationRandomness(7)).messages
    mechanism, rows_int = channel.mechanism, channel.mechanism.bound(rows)
    expected = mechanism.messages(rows_int[which], mechanism.draw(6, SimulationRandomness(7)))
    np.testing.assert_array_equal(drawn.numbers, expected.numbers)
    assert drawn.seeds == expected.seeds


def test_projected_rows_are_compared_in_the_public_basis(make_channel: Make) -> None:
    rows = np.random.default_rng(4).normal(size=(5, 30))
    basis, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(30, 6)))
    projected = replace(make_channel("gaussian", 1.0, 6, 5), basis=basis)
    plain = make_channel("gaussian", 1.0, 6, 5).against(rows @ basis)
    np.testing.assert_array_equal(projected.against(rows).rows, plain.rows)
    assert codewords(False, basis=basis[:, :4]).against(rows).lifted.shape == (5, 5)


def test_moment_scores_are_the_likelihood_ratio_of_both_sums(make_channel: Make) -> None:
    """Against normal densities of every released number, upper triangle once."""
    rows = np.random.default_rng(6).normal(size=(4, 3))
    channel = make_channel("moments", 1.0, 3, 4)
    assert isinstance(channel, MomentsChannel)
    table = channel.game(rows)
    used, grid = channel.mechanism.calibration, channel.mechanism.calibration.grid_log2
    substitute = table.rows_int[3]
    sums = table.release(1, table.rows_int[1], SimulationRandomness(0))
    densities = []
    for row in (table.rows_int[1], substitute):
        replaced = table.rows_int.copy()
        replaced[1] = row
        total = np.ldexp((sums.total - replaced.sum(axis=0)).astype(float), grid)
        products = np.ldexp((sums.products - replaced.T @ replaced).astype(float), 2 * grid)
        density = stats.norm.logpdf(total, scale=used.sum_std).sum()
        for i, j in itertools.combinations_with_replacement(range(3), 2):
            scale = used.diagonal_std if i == j else used.off_diagonal_std
            density += stats.norm.logpdf(products[i, j], scale=scale)
        densities.append(density)
    assert table.log_ratio(sums, 1, substitute) == pytest.approx(densities[0] - densities[1])


def test_sums_with_a_row_replaced_are_those_of_the_other_table(make_channel: Make) -> None:
    rows = np.random.default_rng(6).normal(size=(4, 3))
    channel = make_channel("moments", 1.0, 3, 4)
    table = channel.game(rows)
    sums = table.release(2, table.rows_int[0], SimulationRandomness(3))
    replaced = table.rows_int.copy()
    replaced[2] = replaced[0]
    draws = channel.mechanism.draw(SimulationRandomness(3))
    expected = channel.mechanism.apply_integers(replaced, draws)
    np.testing.assert_array_equal(sums.total, expected.total)
    np.testing.assert_array_equal(sums.products, expected.products)


def test_additive_channels_know_their_noise(make_channel: Make) -> None:
    channel = make_channel("gaussian", 1.0, 30, 17)
    assert isinstance(channel, AdditiveChannel)
    assert channel.is_gaussian
    assert not make_channel("laplace", 1.0, 30, 17).is_gaussian
