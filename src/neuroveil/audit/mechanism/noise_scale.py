"""How loud the noise of a release really is: an exact interval of its scale.

For Gaussian noise the sum of squares over the squared scale follows a chi-square law, for
Laplace noise the sum of absolute values over the scale a gamma law. Both are exact, so one
released table of 17 x 363 cells pins the scale down to about two per cent.

Somebody who does not know the rows still bounds the scale: rows inside the clipping norm can
make a release louder but never quieter (Anderson 1955), so the upper end holds as it is, and
the upper end is what finds too little noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL
from neuroveil.errors import ChainError
from neuroveil.types.recording import FloatArray

Family = Literal["gaussian", "laplace"]

_POWER = 0.8


@dataclass(frozen=True)
class RowBound:
    """How long a row can be at most, for somebody who does not know it.

    Parameters
    ----------
    l2, l1 : float
        Largest norms of one row on the scaled axis (no unit).
    """

    l2: float
    l1: float


@dataclass(frozen=True)
class NoiseScale:
    """A measured noise scale.

    Parameters
    ----------
    family : {"gaussian", "laplace"}
        Law that was taken for granted; see :mod:`~neuroveil.audit.mechanism.fit` for its test.
    n_values : int
        Released cells it rests on.
    estimate, low, high : float
        Standard deviation or Laplace scale b with its interval, on the scaled axis (no unit).
    level : float
        Confidence of the interval; each end misses with at most half of the rest.
    """

    family: Family
    n_values: int
    estimate: float
    low: float
    high: float
    level: float


def known_rows_scale(noise: FloatArray, family: Family, level: float = LEVEL) -> NoiseScale:
    """Measure the scale of noise, where the bounded rows are known and taken away.

    Parameters
    ----------
    noise : ndarray of float64, shape (n_rows, dimension)
        Released minus bounded rows (no unit).
    family : {"gaussian", "laplace"}
        Law of the noise.
    level : float
        Confidence of the interval.

    Returns
    -------
    NoiseScale
        With an exact interval.

    Raises
    ------
    ChainError
        If there is no value, or one is not finite.
    """
    total, n_values = _total(noise, family), noise.size
    low, high = _quantiles(family, n_values, level)
    return NoiseScale(
        family, n_values, _scale(total, float(n_values), family),
        _scale(total, high, family), _scale(total, low, family), level,
    )  # fmt: skip


def unknown_rows_scale(
    released: FloatArray, family: Family, bound: RowBound, level: float = LEVEL
) -> NoiseScale:
    """Measure the scale of noise from released rows alone, as an outsider can.

    Parameters
    ----------
    released : ndarray of float64, shape (n_rows, dimension)
        Released rows on the scaled axis, before any post-processing (no unit).
    family : {"gaussian", "laplace"}
        Law of the noise.
    bound : RowBound
        How long a row can be.
    level : float
        Confidence of the interval.

    Returns
    -------
    NoiseScale
        The interval covers for every set of rows inside the bound; the estimate takes rows of
        zeros.

    Raises
    ------
    ChainError
        If there is no value, or one is not finite.
    """
    total, n_values = _total(released, family), released.size
    low, high = _quantiles(family, n_values, level)
    n_rows = released.shape[0]
    # By the triangle inequality, noise alone is at least this loud.
    if family == "gaussian":
        quietest = float(max(0.0, math.sqrt(total) - math.sqrt(n_rows) * bound.l2) ** 2)
    else:
        quietest = max(0.0, total - n_rows * bound.l1)
    return NoiseScale(
        family, n_values, _scale(total, float(n_values), family),
        _scale(quietest, high, family), _scale(total, low, family), level,
    )  # fmt: skip


def detectable_scale_ratio(n_values: int, family: Family, level: float = LEVEL) -> float:
    """Give how much too quiet noise has to be for a run of this size to find it.

    Parameters
    ----------
    n_values : int
        Released cells.
    family : {"gaussian", "laplace"}
        Law of the noise.
    level : float
        Confidence of the interval.

    Returns
    -------
    float
        True over promised scale, below 1: noise at most this loud lies below the promise with
        its whole interval, in at least 80 of 100 runs.
    """
    low, _ = _quantiles(family, n_values, level)
    reached = _quantile(family, n_values)(_POWER)
    ratio = low / reached
    return math.sqrt(ratio) if family == "gaussian" else ratio


def _total(values: FloatArray, family: Family) -> float:
    if not values.size or not bool(np.isfinite(values).all()):
        raise ChainError(
            "released rows", "finite values", f"shape {values.shape}, or others",
            "Give at least one row of finite values.",
        )  # fmt: skip
    return float(np.sum(values**2) if family == "gaussian" else np.sum(np.abs(values)))


def _scale(total: float, quantile: float, family: Family) -> float:
    return math.sqrt(total / quantile) if family == "gaussian" else total / quantile


def _quantile(family: Family, n_values: int) -> Callable[[float], float]:
    """Quantile function of the sum over noise of scale 1."""
    from scipy.special import chdtri, gammaincinv

    if family == "gaussian":
        return lambda probability: float(chdtri(n_values, 1 - probability))
    return lambda probability: float(gammaincinv(n_values, probability))


def _quantiles(family: Family, n_values: int, level: float) -> tuple[float, float]:
    quantile = _quantile(family, n_values)
    return quantile((1 - level) / 2), quantile((1 + level) / 2)
