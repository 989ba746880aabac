"""Moments of public rows, against closed forms and against simulated releases."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.public_model import PublicModel, public_model
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray


@pytest.fixture
def covariance() -> FloatArray:
    """Twenty columns; what two of them share falls with their distance."""
    places = np.arange(20)
    return 0.9 ** np.abs(places[:, None] - places)


def test_the_basis_diagonalises_the_covariance(covariance: FloatArray) -> None:
    model = PublicModel(covariance)
    basis = model.basis(20)
    np.testing.assert_allclose(basis.T @ covariance @ basis, np.diag(model.spectrum), atol=1e-12)
    np.testing.assert_allclose(basis.T @ basis, np.eye(20), atol=1e-12)
    assert (np.diff(model.spectrum) <= 0).all()
    assert (basis[np.abs(basis).argmax(axis=0), np.arange(20)] > 0).all()
    assert model.basis(3).tobytes() == np.ascontiguousarray(basis[:, :3]).tobytes()
    assert model.variance_share(20) == pytest.approx(1.0)


def test_rows_that_are_never_clipped_keep_the_spectrum(covariance: FloatArray) -> None:
    """65,536 public cells a component at least: 1.5 % of a variance is 3 standard errors."""
    model = PublicModel(covariance)
    moments = model.moments(5, 1e6)
    np.testing.assert_allclose(moments.bounded, model.spectrum[:5], rtol=0.04)
    np.testing.assert_allclose(moments.with_row, moments.bounded)
    assert moments.unclipping_factor == pytest.approx(1.0)
    assert moments.bounded_row == pytest.approx(np.trace(covariance), rel=0.04)
    noiseless = moments.correlation(1e-12)
    assert noiseless == pytest.approx(np.sqrt(model.variance_share(5)), rel=0.02)


def test_rows_that_are_always_clipped_have_the_clipping_norm(covariance: FloatArray) -> None:
    moments = PublicModel(covariance).moments(4, 1e-3)
    assert moments.bounded.sum() == pytest.approx(1e-6)
    assert moments.bounded_row == pytest.approx(1e-6)
    assert moments.unclipping_factor > 1000


def test_equal_variances_stay_equal() -> None:
    """E[C^2 z_j^2 / |z|^2] = C^2 / d; 1,500 cells a component at least."""
    moments = PublicModel(np.eye(50)).moments(50, 0.5)
    np.testing.assert_allclose(moments.bounded, 0.25 / 50, rtol=0.06)
    assert moments.bounded.sum() == pytest.approx(0.25)


@pytest.mark.parametrize("epsilon", [2.0, 10.0])
def test_the_predicted_correlation_is_that_of_simulated_rows(
    covariance: FloatArray, epsilon: float
) -> None:
    """3,000 public rows, projected on three components, one codebook. Fixed seeds."""
    model = PublicModel(covariance)
    mechanism = make_mechanism(MechanismSpec("privunit", epsilon, 0.0, 2.0, "l2", 3))
    noise = mechanism.predict().rmse ** 2
    rows = np.random.default_rng(5).multivariate_normal(np.zeros(20), covariance, 3000)
    basis, moments = model.basis(3), model.moments(3, 2.0)
    source = SimulationRandomness(7)
    values = mechanism.apply(mechanism.bound(rows @ basis), mechanism.draw(3000, source))
    estimate = (values * moments.wiener_gain(noise)) @ basis.T
    bounded = rows * np.minimum(1, 2 / np.linalg.norm(rows, axis=1))[:, None]
    found = np.corrcoef(estimate.ravel(), bounded.ravel())[0, 1]
    assert found == pytest.approx(moments.correlation(noise), abs=0.02)


def test_a_model_needs_public_constants_with_a_covariance(scaling, correlated, table) -> None:
    from neuroveil.privacy import private_statistics_scaling

    assert public_model(scaling) is None
    assert public_model(private_statistics_scaling(table)) is None
    model = public_model(correlated)
    assert model is not None
    assert model.dimension == 33


@pytest.mark.parametrize(
    "matrix",
    [np.zeros((2, 3)), np.array([[1.0, 0.5], [0.2, 1.0]]), np.full((2, 2), np.nan), np.ones(3)],
    ids=["not square", "not symmetric", "NaN", "one axis"],
)
def test_what_is_no_covariance_is_refused(matrix: FloatArray) -> None:
    with pytest.raises(ChainError, match="covariance"):
        PublicModel(matrix)
