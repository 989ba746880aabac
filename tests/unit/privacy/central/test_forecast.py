"""Forecasts from public numbers, against simulated cohorts."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import ClipL2
from neuroveil.privacy.central.covariance import estimate_covariance
from neuroveil.privacy.central.forecast import (
    covariance_correlation,
    predict_moments,
    row_covariance_correlation,
    squared_cosines,
)
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.central.spectrum import clipped_energies
from neuroveil.privacy.prediction import predict_additive
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.simulate.rows import spectrum_basis, spectrum_rows

D = 120
SPECTRUM, _ = spectrum_basis(D, 1.5, 0)


class TestClipping:
    def test_energies_are_those_of_clipped_rows(self) -> None:
        """Fixed seed; 100,000 rows."""
        rows = np.random.default_rng(1).normal(size=(100_000, D)) * np.sqrt(SPECTRUM)
        measured = np.square(ClipL2(2.0).apply(rows)).mean(axis=0)
        predicted = clipped_energies(SPECTRUM, 2.0)
        assert predicted[:10] == pytest.approx(measured[:10], rel=0.02)
        assert predicted.sum() == pytest.approx(4.0, rel=1e-9)

    def test_rows_that_are_not_clipped_keep_their_spectrum(self) -> None:
        assert clipped_energies(SPECTRUM / 1e6, 2.0) == pytest.approx(SPECTRUM / 1e6)

    def test_known_cases(self) -> None:
        """Equal directions share C^2; two normal ones share it as the roots of the spectrum."""
        assert clipped_energies(np.ones(400), 2.0) == pytest.approx(np.full(400, 0.01))
        assert clipped_energies(np.array([1.0, 9.0]), 2.0) == pytest.approx([3.0, 1.0], rel=1e-6)
        assert clipped_energies(np.array([0.0, 9.0]), 2.0) == pytest.approx([4.0, 0.0])

    @pytest.mark.parametrize(
        "spectrum",
        [np.array([]), np.array([1.0, -1.0]), np.array([np.nan]), np.zeros(3), np.ones((2, 2))],
        ids=["empty", "negative", "NaN", "zeros", "matrix"],
    )
    def test_what_is_no_spectrum_is_refused(self, spectrum: np.ndarray) -> None:
        with pytest.raises(ChainError):
            clipped_energies(spectrum, 2.0)


@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 2000), (5.0, 500), (20.0, 500)])
def test_the_covariance_forecast_agrees_with_releases(epsilon: float, n: int) -> None:
    """Fixed seeds; mean of six cohorts."""
    mechanism = MeanCovariance(MomentSpec(epsilon, 1e-5, 2.0, D, n))
    predicted = predict_moments(mechanism.calibration, SPECTRUM)
    above = np.triu_indices(D, 1)
    measured = []
    for seed in range(6):
        rows_int = mechanism.bound(spectrum_rows(n, D, 1.5, seed))
        noisy = mechanism.apply(rows_int, mechanism.draw(SimulationRandomness(seed)))
        rows = rows_int * 2.0**mechanism.calibration.grid_log2
        truth, found = np.cov(rows.T, bias=True), estimate_covariance(noisy).covariance
        measured.append(np.corrcoef(found[above], truth[above])[0, 1])
    assert np.mean(measured) == pytest.approx(predicted.covariance_correlation, abs=0.03)
    assert predicted.mean_rmse == mechanism.calibration.sum_std / n


@pytest.mark.parametrize(("noise_std", "n"), [(0.3, 400), (0.6, 2000)])
def test_the_row_forecast_agrees_with_cleaned_covariances(noise_std: float, n: int) -> None:
    """Fixed seeds; eigenvalues cleaned as Donoho, Gavish and Johnstone 2018 do."""
    energies, aspect, above = clipped_energies(SPECTRUM, 2.0), D / n, np.triu_indices(D, 1)
    predicted = row_covariance_correlation(
        predict_additive(noise_std, noise_std, 2.0, D), energies, n
    )
    measured = []
    for seed in range(6):
        rows = ClipL2(2.0).apply(spectrum_rows(n, D, 1.5, seed))
        noisy = rows + np.random.default_rng(seed).normal(0, noise_std, rows.shape)
        values, vectors = np.linalg.eigh(noisy.T @ noisy / n / noise_std**2)
        seen = values > (1 + np.sqrt(aspect)) ** 2
        half = values + 1 - aspect
        t = np.where(seen, (half + np.sqrt(np.maximum(half**2 - 4 * values, 0))) / 2 - 1, 1.0)
        cleaned = np.where(seen, t * (1 - aspect / t**2) / (1 + aspect / t), 0.0)
        found = (vectors * cleaned) @ vectors.T
        measured.append(np.corrcoef(found[above], (rows.T @ rows)[above])[0, 1])
    assert np.mean(measured) == pytest.approx(predicted, abs=0.04)


def test_directions_drown_below_the_level() -> None:
    found = squared_cosines(np.array([2.0, 1.0, 0.5, 0.0]), 1.0)
    assert found == pytest.approx([0.75, 0, 0, 0])
    assert covariance_correlation(np.array([2.0, 1.0]), np.array([1.0, 1.0])) == 1.0
    assert covariance_correlation(np.array([2.0, 1.0]), np.zeros(2)) == 0.0


def test_more_patients_or_more_budget_never_leave_less() -> None:
    def at(epsilon: float, n: int) -> float:
        used = MeanCovariance(MomentSpec(epsilon, 1e-5, 2.0, D, n)).calibration
        return predict_moments(used, SPECTRUM).covariance_correlation

    by_n = [at(1.0, n) for n in (17, 200, 1000, 5000, 100_000)]
    by_epsilon = [at(epsilon, 2000) for epsilon in (0.1, 0.5, 1.0, 5.0, 20.0)]
    assert by_n == sorted(by_n)
    assert by_epsilon == sorted(by_epsilon)
    assert by_n[0] == 0.0
    assert by_n[-1] > 0.99


def test_a_spectrum_of_other_columns_is_refused() -> None:
    used = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 7, 10)).calibration
    with pytest.raises(ChainError):
        predict_moments(used, np.ones(6))
