"""Moments of a uniform point on the sphere, inside and outside a cap.

T is the first coordinate of a uniform point on the unit sphere of R^D, so
(1 + T) / 2 ~ Beta((D - 1) / 2, (D - 1) / 2). A cap {T > t} is named by its share q = P(T > t)
of the sphere.
"""

from __future__ import annotations

import math

import numpy as np

from neuroveil.types.recording import FloatArray

_SMALLEST_LOG_MARGIN = -60.0
_SMALLEST_SHARE = 1e-290  # far below any codebook; keeps quotients finite
_POINTS = 256
_TAIL = 40.0


def cap_margin(share: FloatArray, sphere_dimension: int) -> FloatArray:
    """Give how far a cap's edge is from its pole, from its share of the sphere.

    Parameters
    ----------
    share : ndarray of float64, any shape
        P(T > t), between 0 and 1 (no unit).
    sphere_dimension : int
        Dimension D of the space around the sphere, at least 2.

    Returns
    -------
    ndarray of float64, same shape
        (1 - t) / 2, between 0 and 1; exact for small caps, where t itself is almost 1.
    """
    from scipy.special import betaincinv

    half = (sphere_dimension - 1) / 2
    margin: FloatArray = betaincinv(half, half, share)
    return margin


def cap_integrals(margin: FloatArray, sphere_dimension: int) -> tuple[FloatArray, FloatArray]:
    """Integrate T and T^2 over a cap.

    Parameters
    ----------
    margin : ndarray of float64, any shape
        (1 - t) / 2 for the cap's edge t (no unit).
    sphere_dimension : int
        Dimension D of the space around the sphere, at least 2.

    Returns
    -------
    first, second : ndarray of float64, same shape
        E[T; T > t] = c (1 - t^2)^((D - 1) / 2) / (D - 1), with c the density of T at 0, and
        E[T^2; T > t], from T^2 ~ Beta(1 / 2, (D - 1) / 2) (no unit).
    """
    from scipy.special import betainc, gammaln

    half = (sphere_dimension - 1) / 2
    log_density = gammaln(sphere_dimension / 2) - gammaln(half) - 0.5 * math.log(math.pi)
    rim = 4 * margin * (1 - margin)  # 1 - t^2
    with np.errstate(divide="ignore"):
        first = np.exp(log_density + half * np.log(rim)) / (2 * half)
    upper = betainc(half, 1.5, rim) / (2 * sphere_dimension)
    second = np.where(margin <= 0.5, upper, 1.0 / sphere_dimension - upper)
    return first, second


def top_moments(size: float, top: float, sphere_dimension: int) -> tuple[float, float]:
    """Give the mean of T and of T^2 over the largest of independent uniform points.

    Of N points, the share of the sphere above the threshold of the K largest follows
    V ~ Beta(K, N - K): the mean of T over the K largest is (N / K) E[E[T; T > t(V)]], by
    integration by parts of the density of order statistics. The integral over logit(V) is
    analytic and decays on both sides, so the trapezoidal rule is accurate to rounding.

    Parameters
    ----------
    size : float
        Number N of points; the formula also holds between whole numbers.
    top : float
        Number K of the largest, at least 1 and below N.
    sphere_dimension : int
        Dimension D of the space around the sphere, at least 2.

    Returns
    -------
    first, second : float
        E[mean of T] and E[mean of T^2] over the K largest (no unit).
    """
    from scipy.special import expit

    rest = size - top
    centre, width = math.log(top / rest), math.sqrt(1 / top + 1 / rest)
    low = centre - 12 * width - _TAIL / top
    high = centre + 12 * width + _TAIL / rest
    logit = np.linspace(low, high, _POINTS)
    log_weight = -top * np.logaddexp(0.0, -logit) - rest * np.logaddexp(0.0, logit)
    weight = np.exp(log_weight - log_weight.max())
    weight *= size / top / weight.sum()
    first, second = cap_integrals(cap_margin(expit(logit), sphere_dimension), sphere_dimension)
    return float(weight @ first), float(weight @ second)


def best_cap(epsilon: float, sphere_dimension: int) -> tuple[float, float, float]:
    """Find the cap of the optimal mechanism on the whole sphere, without a codebook.

    PrivUnit (Bhowmick et al. 2018; optimal by Asi, Feldman and Talwar 2022) gives a uniform
    point of a cap around the row with probability p and a uniform point outside otherwise.

    Parameters
    ----------
    epsilon : float
        Epsilon of a row (no unit).
    sphere_dimension : int
        Dimension D of the space around the sphere, at least 2.

    Returns
    -------
    share, alignment, second_moment : float
        Share q of the cap with the largest alignment m = E[T] under the mechanism, m, and
        E[T^2] (no unit).
    """
    from scipy.optimize import minimize_scalar

    def loss(log_margin: float) -> float:
        return -_cap_moments(math.exp(log_margin), epsilon, sphere_dimension)[1]

    bounds = (_SMALLEST_LOG_MARGIN, math.log(0.5))
    best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return _cap_moments(math.exp(float(best.x)), epsilon, sphere_dimension)


def sphere_mse(epsilon: float, dimension: int) -> float:
    """Predict the squared error of a row under the optimal mechanism on the whole sphere.

    Parameters
    ----------
    epsilon : float
        Epsilon of a row (no unit).
    dimension : int
        Number d of columns; the sphere is that of R^(d + 1).

    Returns
    -------
    float
        Squared error over the d columns divided by the squared clipping norm, for rows of
        exactly that norm (no unit).
    """
    _, alignment, second = best_cap(epsilon, dimension + 1)
    return row_mse(alignment, second, dimension)


def row_mse(alignment: float, second_moment: float, dimension: int) -> float:
    """Give the squared error of a decoded row from the moments of its codeword.

    A codeword v with E[v] = m u is decoded as C v / m. Over all d + 1 lifted columns the error
    is C^2 (1 / m^2 - 1); the lifted column is 0 for a row of norm C, is not released, and has
    its share (1 - E[(v u)^2]) / d of the directions across u.

    Parameters
    ----------
    alignment : float
        m = E[v u] (no unit).
    second_moment : float
        E[(v u)^2] (no unit).
    dimension : int
        Number d of columns.

    Returns
    -------
    float
        Squared error over the d columns divided by the squared clipping norm (no unit).
    """
    return (1 - (1 - second_moment) / dimension) / alignment**2 - 1


def _cap_moments(margin: float, epsilon: float, d: int) -> tuple[float, float, float]:
    from scipy.special import betainc, betaincc

    half = (d - 1) / 2
    share, rest = float(betainc(half, half, margin)), float(betaincc(half, half, margin))
    if share < _SMALLEST_SHARE:
        return 0.0, 0.0, 1 / d
    first, second = (float(integral) for integral in cap_integrals(np.array(margin), d))
    inside = 1 / (1 + math.exp(-epsilon) * rest / share) / share
    outside = (1 - inside * share) / rest
    return share, first * (inside - outside), second * inside + (1 / d - second) * outside
