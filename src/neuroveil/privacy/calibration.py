"""How much continuous noise a guarantee needs: analytic Gaussian and Laplace.

Everything is rounded towards more noise. The Gaussian calibration is stable from epsilon
1e-6 to 1000 and delta 1e-17 to 0.1 and beyond: it never subtracts nearly equal numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from neuroveil.privacy.exact import exact_down, float_up
from neuroveil.privacy.validate import (
    check_delta,
    check_epsilon,
    check_positive,
)
from neuroveil.types.recording import FloatArray

_MARGIN = 2.0**-40
"""Relative margin above the computed sigma; the computation's own error is below 1e-13."""

_LOG_SQRT_TWO_PI = 0.5 * math.log(2 * math.pi)
_SMALL_MU = 0.5
_LARGEST_A = 37.0


def log_delta(mu: float, epsilon: float) -> float:
    """Give the logarithm of a Gaussian mechanism's exact delta.

    With a = epsilon/mu - mu/2, b = epsilon/mu + mu/2, standard normal density phi and Mills
    ratio R, delta = Phi(-a) - e^epsilon Phi(-b) = phi(a) (R(a) - R(b)), and R(a) - R(b) is
    the integral of 1 - x R(x) > 0 from a to b. The integral is used where a and b are
    close, the difference where they are not.

    Parameters
    ----------
    mu : float
        Sensitivity divided by the noise standard deviation; positive.
    epsilon : float
        Epsilon; positive.

    Returns
    -------
    float
        Natural logarithm of delta; minus infinity where it is below 1e-290.

    References
    ----------
    Balle and Wang 2018, "Improving the Gaussian mechanism for differential privacy",
    Theorem 8.
    """
    from scipy.special import ndtr

    a = epsilon / mu - mu / 2
    b = epsilon / mu + mu / 2
    if a > _LARGEST_A:
        return -math.inf
    log_density = -a * a / 2 - _LOG_SQRT_TWO_PI
    if mu < _SMALL_MU:
        nodes, weights = _legendre()
        points = (a + b) / 2 + mu / 2 * nodes
        integral = mu / 2 * float(weights @ (1 - points * _mills_ratio(points)))
        return log_density + math.log(integral)
    far = float(_mills_ratio(np.array([b]))[0])
    if a < 0:
        return math.log(float(ndtr(-a)) - math.exp(log_density) * far)
    near = float(_mills_ratio(np.array([a]))[0])
    return log_density + math.log(near - far)


def gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Give the smallest noise for an (epsilon, delta) guarantee, rounded up.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity, on the scaled axis (no unit).
    epsilon : float
        Epsilon.
    delta : float
        Delta; 0 is refused, because no Gaussian noise gives pure differential privacy.

    Returns
    -------
    float
        Standard deviation, on the scaled axis: at least the exact value of Balle and Wang
        2018, Theorem 8, and above it by a relative 1e-12 at most.

    Raises
    ------
    ChainError
        If a parameter is out of its range.
    """
    check_positive(sensitivity, "sensitivity.value")
    check_epsilon(epsilon)
    check_delta(delta)
    return solve_sigma(sensitivity, epsilon, delta)


def gaussian_epsilon(sensitivity: float, noise_scale: float, delta: float) -> float:
    """Give the smallest epsilon that Gaussian noise supports at a delta, rounded up.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity, on the scaled axis (no unit).
    noise_scale : float
        Standard deviation, on the scaled axis (no unit).
    delta : float
        Delta; positive.

    Returns
    -------
    float
        Epsilon by Balle and Wang 2018, Theorem 8; 0 where delta alone covers it.

    Raises
    ------
    ChainError
        If a parameter is out of its range.
    """
    check_positive(sensitivity, "sensitivity.value")
    check_positive(noise_scale, "mechanism.noise_scale")
    check_positive(delta, "delta")
    # A slightly larger ratio covers the computation's own error.
    mu = sensitivity / noise_scale * (1 + _MARGIN / 8)
    target = math.log(delta)
    if log_delta(mu, 0.0) <= target:
        return 0.0
    low, high = 0.0, mu * (mu / 2 + _LARGEST_A)
    while high - low > 2 * math.ulp(high):
        middle = (low + high) / 2
        if log_delta(mu, middle) <= target:
            high = middle
        else:
            low = middle
    return high


def laplace_scale(sensitivity: float, epsilon: float) -> float:
    """Give the Laplace scale for a pure guarantee, rounded up.

    Parameters
    ----------
    sensitivity : float
        L1 sensitivity, on the scaled axis (no unit).
    epsilon : float
        Epsilon.

    Returns
    -------
    float
        ``sensitivity / epsilon``, on the scaled axis, never below the exact quotient.

    Raises
    ------
    ChainError
        If a parameter is out of its range.
    """
    check_positive(sensitivity, "sensitivity.value")
    check_epsilon(epsilon)
    return float_up(Fraction(sensitivity) / exact_down(epsilon))


def solve_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Solve for the noise scale, with parameters that have been checked.

    Parameters
    ----------
    sensitivity : float
        L2 sensitivity, on the scaled axis (no unit).
    epsilon, delta : float
        What the continuous mechanism must keep.

    Returns
    -------
    float
        Standard deviation, on the scaled axis, rounded up.
    """
    return math.nextafter(sensitivity / _largest_mu(epsilon, delta) * (1 + _MARGIN), math.inf)


def _largest_mu(epsilon: float, delta: float) -> float:
    """Find the largest sensitivity-to-noise ratio that keeps delta, from below."""
    target = math.log(delta)
    low, high = epsilon / 40, math.sqrt(8 * epsilon) + 80
    while high - low > 2 * math.ulp(low):
        middle = (low + high) / 2
        if log_delta(middle, epsilon) <= target:
            low = middle
        else:
            high = middle
    return low


def _mills_ratio(x: FloatArray) -> FloatArray:
    """(1 - Phi(x)) / phi(x), without overflow or cancellation for x >= -8."""
    from scipy.special import erfcx

    ratio: FloatArray = math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))
    return ratio


@lru_cache(maxsize=1)
def _legendre() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [-1, 1]; 1 - x R(x) is entire, so 24 are exact in float64."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    return nodes, weights
