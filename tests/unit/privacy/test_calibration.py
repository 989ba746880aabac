"""The analytic Gaussian against 50-digit arithmetic, and the Laplace scale against rationals."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.errors import ChainError
from neuroveil.privacy.calibration import (
    gaussian_epsilon,
    gaussian_sigma,
    laplace_scale,
    log_delta,
)

EPSILONS = [1e-6, 1e-4, 1e-2, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 41.0, 100.0, 709.0, 1000.0]
DELTAS = [1e-17, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.1]
TIGHT = mpmath.mpf(2) ** -40 * mpmath.mpf("1.01")


def exact_delta(mu: mpmath.mpf, epsilon: float) -> mpmath.mpf:
    """Balle and Wang 2018, Theorem 8, as it is printed."""
    with mpmath.workdps(60):
        epsilon = mpmath.mpf(epsilon)
        mu = mpmath.mpf(mu)
        return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mu / 2 - epsilon / mu
        )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [*DELTAS, 0.5, 0.999])
def test_sigma_is_never_below_and_1e_minus_12_above_50_digits(epsilon: float, delta: float) -> None:
    with mpmath.workdps(60):
        sigma = mpmath.mpf(gaussian_sigma(4.0, epsilon, delta))
        assert exact_delta(4 / sigma, epsilon) <= mpmath.mpf(delta)
        assert exact_delta(4 / (sigma * (1 - TIGHT)), epsilon) > mpmath.mpf(delta)


@given(st.floats(1e-6, 1000.0), st.floats(-17.0, -0.01), st.floats(1e-3, 1e6))
def test_sigma_anywhere_in_the_range(epsilon: float, log10_delta: float, size: float) -> None:
    delta = max(10.0**log10_delta, 1e-17)
    with mpmath.workdps(60):
        sigma = mpmath.mpf(gaussian_sigma(size, epsilon, delta))
        assert exact_delta(size / sigma, epsilon) <= mpmath.mpf(delta)
        assert exact_delta(size / (sigma * (1 - TIGHT)), epsilon) > mpmath.mpf(delta)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("mu", [1e-6, 0.01, 0.4999, 0.5001, 1.0, 5.0, 40.0])
def test_log_delta_agrees_with_50_digits(epsilon: float, mu: float) -> None:
    with mpmath.workdps(400):
        truth = mpmath.log(exact_delta_at(mu, epsilon))
    found = log_delta(mu, epsilon)
    if truth < -680:
        assert found < -600
    else:
        assert found == pytest.approx(float(truth), rel=1e-12, abs=1e-12)


def exact_delta_at(mu: float, epsilon: float) -> mpmath.mpf:
    wide, narrow = mpmath.mpf(epsilon) / mpmath.mpf(mu), mpmath.mpf(mu) / 2
    return mpmath.ncdf(narrow - wide) - mpmath.exp(mpmath.mpf(epsilon)) * mpmath.ncdf(
        -narrow - wide
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_supported_epsilon_is_rounded_up_and_within_what_was_asked(
    epsilon: float, delta: float
) -> None:
    sigma = gaussian_sigma(4.0, epsilon, delta)
    supported = gaussian_epsilon(4.0, sigma, delta)
    assert supported <= epsilon
    with mpmath.workdps(60):
        assert exact_delta(4 / mpmath.mpf(sigma), supported) <= mpmath.mpf(delta)


def test_supported_epsilon_is_zero_where_delta_covers_everything() -> None:
    assert gaussian_epsilon(1.0, 1e9, 0.1) == 0.0


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(1e-12, 0.05), st.floats(1e-12, 0.05))
def test_less_privacy_never_needs_more_noise(
    epsilon: float, other: float, delta: float, other_delta: float
) -> None:
    low, high = sorted((epsilon, other))
    assert gaussian_sigma(1.0, low, delta) >= gaussian_sigma(1.0, high, delta)
    small, large = sorted((delta, other_delta))
    assert gaussian_sigma(1.0, epsilon, small) >= gaussian_sigma(1.0, epsilon, large)
    assert laplace_scale(1.0, low) >= laplace_scale(1.0, high)


@given(st.floats(1e-6, 1000.0), st.floats(1e-3, 1e6))
def test_laplace_scale_is_rounded_up_for_the_decimal_and_the_double(
    epsilon: float, sensitivity: float
) -> None:
    scale = Fraction(laplace_scale(sensitivity, epsilon))
    assert scale * Fraction(epsilon) >= Fraction(sensitivity)
    assert scale * Fraction(repr(epsilon)) >= Fraction(sensitivity)
    assert float(scale) == pytest.approx(sensitivity / epsilon, rel=1e-15)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_bad_parameters_are_refused(bad: float) -> None:
    with pytest.raises(ChainError):
        gaussian_sigma(bad, 1.0, 1e-5)
    with pytest.raises(ChainError):
        gaussian_sigma(4.0, bad, 1e-5)
    with pytest.raises(ChainError):
        gaussian_sigma(4.0, 1.0, bad)
    with pytest.raises(ChainError):
        laplace_scale(bad, 1.0)
    with pytest.raises(ChainError):
        laplace_scale(4.0, bad)
    with pytest.raises(ChainError):
        gaussian_epsilon(4.0, bad, 1e-5)
