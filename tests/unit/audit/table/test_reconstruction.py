"""Reconstruction: theory, controls, the target left out of its own prior, and odd tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.codewords import CodewordCandidates, CodewordChannel, messages_of
from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import AuditFrame
from neuroveil.audit.table.prior import fit_prior
from neuroveil.audit.table.rebuilding import closeness_threshold, rebuild_rows
from neuroveil.audit.table.reconstruction import attack_reconstruction
from neuroveil.privacy.codebook.messages import decode
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray

MakeFrame = Callable[..., AuditFrame]
MECHANISMS = ("gaussian", "laplace", "paper_laplace", "privunit")


@pytest.fixture
def correlated() -> FloatArray:
    """Sixty rows of 30 columns that move together in five ways."""
    generator = np.random.default_rng(1)
    common = generator.normal(size=(60, 5)) @ generator.normal(size=(5, 30))
    return common + 0.5 * generator.normal(size=(60, 30))


def test_unprotected_rows_come_back_whole(
    make_frame: MakeFrame, correlated: FloatArray, effort: Effort
) -> None:
    frame = make_frame(correlated, "gaussian", 1.0)
    result = attack_reconstruction(frame, frame.targets[1], effort)
    figure = result.figure("r_squared")
    assert (figure.value, figure.low) == pytest.approx((1.0, 1.0))
    assert figure.control == pytest.approx(-1.0, abs=0.25)  # twice the spread
    assert result.verdict == "weak"
    assert json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize("name", MECHANISMS)
def test_strong_noise_leaves_nothing(
    make_frame: MakeFrame, correlated: FloatArray, effort: Effort, name: str
) -> None:
    frame = make_frame(correlated, name, 0.4)
    result = attack_reconstruction(frame, frame.targets[0], effort)
    assert result.figure("r_squared").value == pytest.approx(0.0, abs=0.02)
    assert result.figure("r_squared").control == pytest.approx(0.0, abs=0.02)
    assert result.verdict == "no_attack_succeeded"


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_more_noise_never_raises_the_risk(
    make_frame: MakeFrame, correlated: FloatArray, effort: Effort, name: str
) -> None:
    """From epsilon = 10 down to 0.5, within the intervals (seeded)."""
    figures = []
    for epsilon in (10.0, 4.0, 1.5, 0.5):
        frame = make_frame(correlated, name, epsilon)
        figures.append(attack_reconstruction(frame, frame.targets[0], effort).figures[0])
    assert figures[0].low > figures[-1].high
    for less, more in pairwise(figures):
        assert more.low <= less.high
        assert more.value <= less.value + 0.02


def test_gaussian_noise_gives_what_the_wiener_filter_promises(
    make_frame: MakeFrame, effort: Effort
) -> None:
    """Short rows that no clipping touches: R^2 = [S (S + v)^-1 S]_jj / S_jj, S being known."""
    mixing = np.random.default_rng(2).normal(size=(8, 8)) * 0.08
    rows = np.random.default_rng(3).normal(size=(400, 8)) @ mixing
    frame = make_frame(rows, "gaussian", 120.0)
    target = frame.targets[0]
    covariance = mixing.T @ mixing
    noisy = covariance + target.row_channel.noise_variance * np.eye(8)
    shares = np.diag(covariance @ np.linalg.solve(noisy, covariance)) / np.diag(covariance)
    found = attack_reconstruction(frame, target, effort).figure("r_squared").value
    assert 0.2 < shares.mean() < 0.9
    assert found == pytest.approx(shares.mean(), abs=0.04)


def test_a_patient_teaches_nothing_about_themself(make_frame: MakeFrame, effort: Effort) -> None:
    rows = np.random.default_rng(4).normal(size=(9, 6))
    rebuilt = rebuild_rows(make_frame(rows, "gaussian", 1.0).targets[0], effort)["r_squared"]
    others = (rows.sum(axis=0) - rows) / 8
    np.testing.assert_allclose(rebuilt.before, np.square(rows - others))


def test_a_codeword_is_weighed_as_bayes_would(make_frame: MakeFrame) -> None:
    """Against a brute-force posterior mean over 200,000 rows drawn from the prior."""
    frame = make_frame(np.random.default_rng(5).normal(size=(6, 5)), "privunit", 3.0)
    channel = frame.targets[0].row_channel
    assert isinstance(channel, CodewordChannel)
    generator = np.random.default_rng(6)
    bounded = generator.normal(size=(200_000, 6))
    bounded *= 1.9 / np.sqrt(np.square(bounded).sum(axis=1, keepdims=True))
    bounded += 0.2
    prior = fit_prior(bounded[:, :5], bounded, np.eye(6)[:, :5])
    words = generator.normal(size=(4, 6))
    words /= np.sqrt(np.square(words).sum(axis=1, keepdims=True))
    threshold = closeness_threshold(channel)
    found = prior.given_codeword(words, threshold, channel.log_chances)
    for word, row in zip(words, found, strict=True):
        chances = np.where(bounded @ word > threshold, *np.exp(channel.log_chances))
        expected = chances @ bounded[:, :5] / chances.sum()
        np.testing.assert_allclose(row, expected, atol=0.01)


def test_codewords_near_a_row_are_those_beyond_the_threshold(make_frame: MakeFrame) -> None:
    target = make_frame(np.random.default_rng(7).normal(size=(5, 12)), "privunit", 4.0).targets[0]
    channel, candidates = target.row_channel, target.candidates
    assert isinstance(channel, CodewordChannel)
    assert isinstance(candidates, CodewordCandidates)
    released = candidates.draw(np.repeat(np.arange(5), 200), SimulationRandomness(8))
    words = decode(messages_of(released), channel.mechanism.design)
    lifted = channel.mechanism.to_scaled(candidates.lifted)[np.repeat(np.arange(5), 200)]
    beyond = np.einsum("ij,ij->i", words, lifted) > closeness_threshold(channel)
    scores = candidates.each(released, np.repeat(np.arange(5), 200))
    is_close = scores == max(channel.log_chances)
    assert (beyond == is_close).mean() > 0.97


def test_codewords_are_attacked_in_two_ways(
    make_frame: MakeFrame, correlated: FloatArray, effort: Effort
) -> None:
    """Filtering decoded rows and weighing codewords come to about the same, here above .3."""
    frame = make_frame(correlated, "privunit", 6.0)
    result = attack_reconstruction(frame, frame.targets[0], effort)
    filtered, weighed = result.figure("r_squared"), result.figure("r_squared_codeword")
    assert min(filtered.value, weighed.value) > 0.3
    assert weighed.value == pytest.approx(filtered.value, abs=0.06)
    assert max(filtered.control or 0.0, weighed.control or 0.0) < 0.0


def test_projected_rows_come_back_through_the_basis(
    make_frame: MakeFrame, correlated: FloatArray, effort: Effort
) -> None:
    """Five public components of rows that have five: nearly all is there at little noise."""
    frame = make_frame(correlated, "gaussian", 1.0)
    _, _, axes = np.linalg.svd(correlated - correlated.mean(axis=0), full_matrices=False)
    mechanism = make_mechanism(MechanismSpec("gaussian", 900.0, 1e-5, 15.0, "l2", 5))
    basis = np.ascontiguousarray(axes[:5].T)
    target = replace(frame.targets[0], channel=AdditiveChannel(mechanism, basis))
    result = attack_reconstruction(frame, target, effort)
    assert 0.85 < result.figure("r_squared").value < 1.0


@pytest.mark.parametrize("name", ["gaussian", "privunit"])
def test_odd_tables(make_frame: MakeFrame, effort: Effort, name: str) -> None:
    """Two patients, copies, a constant column, a patient without recordings."""
    two = np.random.default_rng(10).normal(size=(2, 5))
    odd = np.random.default_rng(11).normal(size=(6, 5))
    odd[:, 1], odd[2], odd[4] = 3.0, np.nan, odd[3]
    for rows in (two, np.repeat(two[:1], 6, axis=0), odd):
        frame = make_frame(rows, name, 5.0)
        for target in frame.targets:
            result = attack_reconstruction(frame, target, replace(effort, n_links=100))
            assert json.dumps(result.to_json(), allow_nan=False)
            if rows is not odd:
                assert result.verdict == "not_testable"
