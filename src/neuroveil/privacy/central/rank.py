"""How many directions a projection should keep, by predicted correlation."""

from __future__ import annotations

import math
from collections.abc import Callable

from neuroveil.types.recording import FloatArray

NoiseVariance = Callable[[int], float]
"""Variance of a row mechanism's noise in one column, by the number of columns."""

_PATIENCE = 4


def projected_correlation(
    energies: FloatArray, total_energy: float, noise_variance: float
) -> float:
    """Predict the correlation of projected, randomised and shrunk rows with the rows.

    Parameters
    ----------
    energies : ndarray of float64, shape (rank,)
        Mean square of rows along each direction (no unit).
    total_energy : float
        Mean square norm of rows (no unit).
    noise_variance : float
        Variance of the noise in one direction (no unit).

    Returns
    -------
    float
        sqrt(sum of e^2 / (e + v) over directions, divided by the total), over all cells of rows
        whose cells average to zero.
    """
    kept = float((energies**2 / (energies + noise_variance)).sum())
    return math.sqrt(min(kept / total_energy, 1.0)) if total_energy > 0 else 0.0


def best_rank(energies: FloatArray, noise_variance: NoiseVariance) -> int:
    """Choose the number of directions with the best predicted correlation.

    Parameters
    ----------
    energies : ndarray of float64, shape (rank,)
        Mean square of rows along each direction, from the largest on (no unit).
    noise_variance : callable
        Variance of the noise by the number of directions, from public numbers.

    Returns
    -------
    int
        From 1 to the number of energies. More directions bring less and less signal and more
        and more noise, so the search ends a few directions after the best one.
    """
    total = float(energies.sum())
    return best_of(
        lambda rank: projected_correlation(energies[:rank], total, noise_variance(rank)),
        energies.size,
    )


def best_of(correlation: Callable[[int], float], largest: int) -> int:
    """Choose the number of directions with the best correlation.

    Parameters
    ----------
    correlation : callable
        Predicted correlation by the number of directions.
    largest : int
        Largest number of directions.

    Returns
    -------
    int
        From 1 on; the search ends a few directions after the best one.
    """
    best, best_value = 1, -1.0
    for rank in range(1, largest + 1):
        value = correlation(rank)
        if value > best_value:
            best, best_value = rank, value
        elif rank > best + _PATIENCE:
            break
    return best
