"""A private basis in front of a row mechanism."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.central.basis import DpBasis, make_basis
from neuroveil.privacy.central.covariance import CovarianceEstimate
from neuroveil.privacy.central.pca import DpPca
from neuroveil.privacy.central.rank import best_rank, projected_correlation

ENERGIES = np.array([2.0, 0.5, 0.1])
PLAN = DpPca("gaussian", 0.5, 1e-6, 1.5, 2e-6, 2.0, (30, 5))


def basis() -> DpBasis:
    vectors, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 3)))
    return DpBasis(vectors, ENERGIES)


def test_a_basis_holds_the_directions_that_stand_out() -> None:
    vectors, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))
    values = np.array([2.0, 1.0, 0.1, 0.1])
    found = make_basis(CovarianceEstimate(np.zeros(4), values, vectors, 2))
    assert found.rank == 2
    assert (found.vectors == vectors[:, :2]).all()
    assert make_basis(CovarianceEstimate(np.zeros(4), values, vectors, 0)).rank == 1


def test_projecting_never_lengthens_and_restoring_brings_back() -> None:
    rows = np.random.default_rng(2).normal(size=(10, 6))
    projected = basis().project(rows)
    assert (np.linalg.norm(projected, axis=1) <= np.linalg.norm(rows, axis=1) + 1e-12).all()
    inside = projected @ basis().vectors.T
    assert basis().restore(projected, 0.0) == pytest.approx(inside)
    half = basis().first(1).restore(projected[:, :1], 2.0)
    assert half == pytest.approx(projected[:, :1] / 2 @ basis().vectors[:, :1].T)


@pytest.mark.parametrize("rank", [0, 4, -1])
def test_a_rank_that_does_not_exist_is_refused(rank: int) -> None:
    with pytest.raises(ChainError):
        basis().first(rank)


@pytest.mark.parametrize("rows", [np.zeros((2, 5)), np.full((2, 6), np.nan), np.zeros(6)])
def test_bad_rows_are_refused(rows: np.ndarray) -> None:
    with pytest.raises(ChainError):
        basis().project(rows)


def test_both_budgets_add_up() -> None:
    assert PLAN.spend == (Fraction(2), Fraction(3, 10**6))
    assert PLAN.moment_spec.mean_share == 0
    assert (PLAN.moment_spec.n_patients, PLAN.moment_spec.dimension) == (30, 5)
    spec = PLAN.row_spec(2)
    assert (spec.epsilon, spec.delta, spec.dimension, spec.norm) == (1.5, 2e-6, 2, "l2")


def test_the_predicted_correlation_is_that_of_a_wiener_filter() -> None:
    """Fixed seed; 200,000 normal rows."""
    rng, noise = np.random.default_rng(3), 0.3
    rows = rng.normal(size=(200_000, 3)) * np.sqrt(ENERGIES)
    noisy = rows + rng.normal(size=rows.shape) * np.sqrt(noise)
    restored = DpBasis(np.eye(3)[:, :2], ENERGIES[:2]).restore(noisy[:, :2], noise)
    predicted = projected_correlation(ENERGIES[:2], 2.6, noise)
    assert np.corrcoef(restored.ravel(), rows.ravel())[0, 1] == pytest.approx(predicted, abs=0.003)


def test_the_best_rank_weighs_signal_against_noise() -> None:
    energies = np.arange(1, 40.0) ** -1.5
    assert best_rank(energies, lambda _: 1e-9) == 39
    assert best_rank(energies, lambda rank: 10.0 * rank**2) == 1
    ranks = [best_rank(energies, lambda rank, f=f: f * rank) for f in (1e-4, 1e-2, 1.0)]
    assert ranks == sorted(ranks, reverse=True)
    assert 1 < ranks[1] < 39
