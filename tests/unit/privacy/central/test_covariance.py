"""From noisy moments to a valid covariance, and a synthetic table drawn from it."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.central.covariance import (
    CovarianceEstimate,
    estimate_covariance,
    noise_level,
    shrink_eigenvalues,
)
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.central.noisy_moments import NoisyMoments
from neuroveil.privacy.central.synthetic import SyntheticTable, synthetic_table
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.simulate.rows import spectrum_rows


def release(
    epsilon: float, n: int, d: int, seed: int, mean_share: float = 0.2
) -> tuple[np.ndarray, NoisyMoments]:
    rows = spectrum_rows(n, d, 1.5, seed)
    mechanism = MeanCovariance(MomentSpec(epsilon, 1e-5, 2.0, d, n, mean_share))
    rows_int = mechanism.bound(rows)
    noisy = mechanism.apply(rows_int, mechanism.draw(SimulationRandomness(seed)))
    return rows_int * 2.0**mechanism.calibration.grid_log2, noisy


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0, 1000.0])
@pytest.mark.parametrize("mean_share", [0.0, 0.2])
@pytest.mark.parametrize("n", [3, 17, 400])
def test_the_estimate_is_a_covariance(epsilon: float, mean_share: float, n: int) -> None:
    _, noisy = release(epsilon, n, 40, 1, mean_share)
    estimate = estimate_covariance(noisy)
    assert (estimate.eigenvalues >= 0).all()
    assert (np.diff(estimate.eigenvalues) <= 0).all()
    assert estimate.eigenvalues.sum() <= 4 * (1 + 1e-12)
    assert np.linalg.eigvalsh(estimate.covariance).min() >= -1e-12
    assert (estimate.covariance == estimate.covariance.T).all()
    assert estimate.vectors.T @ estimate.vectors == pytest.approx(np.eye(40), abs=1e-9)


def test_with_next_to_no_noise_it_is_the_cohorts_own() -> None:
    rows, noisy = release(1000.0, 20_000, 10, 2)
    estimate = estimate_covariance(noisy)
    assert estimate.mean == pytest.approx(rows.mean(axis=0), abs=2e-3)
    assert estimate.covariance == pytest.approx(np.cov(rows.T, bias=True), abs=2e-3)


def test_pure_noise_has_no_directions_and_no_mean() -> None:
    """Fixed seed: at epsilon = 0.1 and n = 17 nothing can stand out."""
    _, noisy = release(0.1, 17, 100, 3)
    estimate = estimate_covariance(noisy)
    assert estimate.n_directions <= 1
    assert np.linalg.norm(estimate.mean) < 0.3 * np.linalg.norm(noisy.mean)
    assert len(set(estimate.eigenvalues[1:].tolist())) == 1


def test_variance_beyond_the_clipping_norm_is_noise_and_is_cut() -> None:
    _, noisy = release(1.0, 2000, 5, 3)
    loud = NoisyMoments(np.zeros(5), np.diag([90.0, 10.0, 0.0, 0.0, 0.0]), noisy.calibration)
    estimate = estimate_covariance(loud)
    assert estimate.eigenvalues == pytest.approx([3.6, 0.4, 0, 0, 0], rel=0.01)
    assert estimate.n_directions == 2


def test_the_noise_eigenvalues_fill_the_half_circle() -> None:
    """Fixed seed: Wigner's radius, twice the level, to 5 % at d = 400."""
    d, n = 400, 5
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, d, n, 0.0))
    draws = mechanism.draw(SimulationRandomness(4))
    noisy = mechanism.apply(mechanism.bound(np.zeros((n, d))), draws)
    level = noise_level(mechanism.calibration.second_moment_noise_std, d)
    values = np.linalg.eigvalsh(noisy.second_moment)
    assert np.abs(values).max() == pytest.approx(2 * level, rel=0.05)


def test_no_other_cleaning_of_an_eigenvalue_is_better() -> None:
    """Fixed seeds: mean squared error of a single direction against 20 % more and less."""
    d, level, factors, truth = 200, 1.0, (0.8, 1.0, 1.2), np.zeros((200, 200))
    truth[0, 0] = 2.0
    errors, cleaned = np.zeros(3), []
    for seed in range(30):
        entries = np.random.default_rng(seed).normal(size=(d, d)) * level / np.sqrt(d)
        noise = np.triu(entries, 1) + np.triu(entries, 1).T
        noise += np.diag(entries.diagonal() * np.sqrt(2))
        values, vectors = np.linalg.eigh(truth + noise)
        cleaned.append(shrink_eigenvalues(values, level)[-1])
        direction = np.outer(vectors[:, -1], vectors[:, -1])
        errors += [np.sum((truth - f * cleaned[-1] * direction) ** 2) for f in factors]
    assert errors[1] == errors.min()
    assert np.mean(cleaned) == pytest.approx(2.0 - 1 / 2.0, rel=0.05)


def test_eigenvalues_within_the_noise_are_dropped() -> None:
    found = shrink_eigenvalues(np.array([-5.0, 0.0, 1.9, 2.0, 2.5]), 1.0)
    assert found == pytest.approx([0, 0, 0, 0, 1.5])


class TestSyntheticTable:
    MEAN = np.array([1.0, -2.0, 0.0])

    @property
    def estimate(self) -> CovarianceEstimate:
        basis, _ = np.linalg.qr(np.random.default_rng(6).normal(size=(3, 3)))
        return CovarianceEstimate(self.MEAN, np.array([2.0, 0.5, 0.0]), basis, 2)

    def test_it_has_the_mean_and_covariance_it_was_drawn_from(self) -> None:
        """Fixed seed; 200,000 rows, tolerance above five standard errors."""
        table = synthetic_table(self.estimate, 200_000, SimulationRandomness(7))
        assert table.values.mean(axis=0) == pytest.approx(self.MEAN, abs=0.02)
        assert np.cov(table.values.T) == pytest.approx(self.estimate.covariance, abs=0.03)

    def test_it_says_that_it_is_synthetic(self) -> None:
        table = synthetic_table(self.estimate, 5, SystemRandomness())
        assert isinstance(table, SyntheticTable)
        assert table.LABEL == "synthetic"
        assert "synthetic" in repr(table)
        assert table.values.shape == (5, 3)

    def test_draws_of_the_system_differ_and_those_of_a_seed_do_not(self) -> None:
        fresh = [synthetic_table(self.estimate, 5, SystemRandomness()).values for _ in range(2)]
        assert (fresh[0] != fresh[1]).any()
        same = [synthetic_table(self.estimate, 5, SimulationRandomness(8)).values for _ in range(2)]
        assert (same[0] == same[1]).all()

    @pytest.mark.parametrize("n_rows", [0, -1, 1.5, True, 10**9])
    def test_a_bad_number_of_rows_is_refused(self, n_rows: int) -> None:
        with pytest.raises(ChainError):
            synthetic_table(self.estimate, n_rows, SystemRandomness())
