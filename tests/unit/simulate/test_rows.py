"""Rows drawn straight from a covariance."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import StudyError
from neuroveil.simulate import simulate_rows, spectrum_basis, spectrum_rows
from neuroveil.types.catalogue import columns_for
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import FittedOn, Scaling

COLUMNS = columns_for(("Fz", "Cz"), ("alpha_power", "beta_power"))
COVARIANCE = np.kron([[1.0, 0.6], [0.6, 1.0]], [[1.0, -0.3], [-0.3, 1.0]])


def scaling(covariance: FloatArray | None, fitted_on: FittedOn = "public") -> Scaling:
    zeros = np.zeros(len(COLUMNS))
    return Scaling(
        COLUMNS, zeros, zeros + 1, fitted_on, "test", (False,) * len(COLUMNS), covariance
    )


@pytest.mark.parametrize("covariance", [COVARIANCE, None])
def test_rows_have_the_covariance_of_the_reference(covariance: FloatArray | None) -> None:
    rows = simulate_rows(40_000, scaling(covariance), seed=1)
    assert rows.shape == (40_000, 4)
    wanted = np.eye(4) if covariance is None else covariance
    np.testing.assert_allclose(np.cov(rows.T), wanted, atol=0.03)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=0.03)


def test_rows_follow_the_seed() -> None:
    same = [simulate_rows(3, scaling(COVARIANCE), seed=5) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert not np.array_equal(same[0], simulate_rows(3, scaling(COVARIANCE), seed=6))


def test_covariance_without_full_rank_is_used() -> None:
    rows = simulate_rows(2_000, scaling(np.ones((4, 4))), seed=2)
    np.testing.assert_allclose(rows, rows[:, :1].repeat(4, axis=1), atol=1e-6)


def test_private_constants_are_refused() -> None:
    with pytest.raises(StudyError, match="public constants"):
        simulate_rows(3, scaling(COVARIANCE, "private"), seed=0)


@pytest.mark.parametrize("covariance", [np.diag([1.0, 1.0, 1.0, -0.5]), np.eye(4) + np.eye(4, k=1)])
def test_what_is_no_covariance_is_refused(covariance: FloatArray) -> None:
    with pytest.raises(StudyError, match="reference covariance"):
        simulate_rows(3, scaling(covariance), seed=0)


@pytest.mark.parametrize(("n", "seed"), [(0, 1), (-1, 1), (3, -1)])
def test_bad_numbers_are_refused(n: int, seed: int) -> None:
    with pytest.raises(StudyError):
        simulate_rows(n, scaling(None), seed)
    with pytest.raises(StudyError):
        spectrum_rows(n, 4, 1.5, seed)


@pytest.mark.parametrize("decay", [-1.0, float("nan"), float("inf")])
def test_bad_decay_is_refused(decay: float) -> None:
    with pytest.raises(StudyError, match="decay"):
        spectrum_rows(3, 4, decay, 0)


@pytest.mark.parametrize("decay", [0.0, 1.5])
def test_spectrum_falls_as_a_power(decay: float) -> None:
    d = 12
    eigenvalues, basis = spectrum_basis(d, decay, seed=3)
    np.testing.assert_allclose(eigenvalues / eigenvalues[0], np.arange(1.0, d + 1) ** -decay)
    assert eigenvalues.sum() == pytest.approx(d)
    np.testing.assert_allclose(basis.T @ basis, np.eye(d), atol=1e-12)
    rows = spectrum_rows(50_000, d, decay, seed=3)
    in_basis = np.cov((rows @ basis).T)
    np.testing.assert_allclose(in_basis, np.diag(eigenvalues), atol=0.05 * eigenvalues[0])


def test_mathematics_section_2_rows_clip_to_the_stated_table() -> None:
    """MECHANISMS section 2: on these rows a table of zeros has an RMSE of .105 at C = 2."""
    d, clip_norm = 363, 2.0
    rows = spectrum_rows(2_000, d, 1.5, seed=0)
    norms = np.linalg.norm(rows, axis=1)
    assert norms.min() > clip_norm
    clipped = rows * (clip_norm / norms)[:, None]
    assert np.sqrt((clipped**2).mean()) == pytest.approx(0.105, abs=5e-4)


def test_basis_does_not_depend_on_the_number_of_rows() -> None:
    few, many = spectrum_rows(5, 30, 1.5, seed=9), spectrum_rows(50, 30, 1.5, seed=9)
    np.testing.assert_allclose(few, many[:5])
