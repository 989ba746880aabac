"""A basis for rows, learnt under differential privacy from the rows themselves.

A part of the budget pays for a noisy second moment of all patients. Its leading directions then
stand in front of a row mechanism, which spends the rest: each patient's row is projected,
randomised in few columns, shrunk and brought back. Where a public basis fits the cohort it is
the better choice, because it costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import check_rows
from neuroveil.privacy.central.calibration import MomentSpec
from neuroveil.privacy.central.covariance import CovarianceEstimate
from neuroveil.privacy.exact import exact
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.types.recording import FloatArray

NoiseVariance = Callable[[int], float]
"""Variance of a row mechanism's noise in one column, by the number of columns."""

_PATIENCE = 4


@dataclass(frozen=True, eq=False)
class DpBasis:
    """Leading directions of a released second moment. May be published with it.

    Parameters
    ----------
    vectors : ndarray of float64, shape (dimension, rank)
        Orthonormal directions, one a column.
    energies : ndarray of float64, shape (rank,)
        Mean square of rows along each, from the largest on (no unit).
    """

    vectors: FloatArray
    energies: FloatArray

    @property
    def rank(self) -> int:
        """Number of directions."""
        return self.energies.size

    def first(self, rank: int) -> DpBasis:
        """Keep the leading directions only.

        Parameters
        ----------
        rank : int
            How many, from 1 to :attr:`rank`.

        Returns
        -------
        DpBasis
            The smaller basis.

        Raises
        ------
        ChainError
            If there are fewer.
        """
        if not 1 <= rank <= self.rank:
            raise ChainError(
                "projection.rank", f"1 to {self.rank} directions", f"{rank!r}",
                "Take as many directions as stand out of the noise.",
            )  # fmt: skip
        return DpBasis(self.vectors[:, :rank], self.energies[:rank])

    def project(self, rows: FloatArray) -> FloatArray:
        """Express rows in the basis, which never makes them longer beyond rounding.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, dimension)
            Scaled and clipped rows (no unit), private.

        Returns
        -------
        ndarray of float64, shape (n_patients, rank)
            What a row mechanism bounds and randomises, private.
        """
        check_rows(rows, self.vectors.shape[0])
        return rows @ self.vectors

    def restore(self, values: FloatArray, noise_variance: float) -> FloatArray:
        """Shrink randomised values and bring them back to all columns; post-processing.

        Parameters
        ----------
        values : ndarray of float64, shape (n_patients, rank)
            Output of the row mechanism (no unit).
        noise_variance : float
            Variance of its noise in one column (no unit).

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            Values on the scaled axis (no unit), each direction multiplied by
            energy / (energy + noise_variance) (Wiener 1949).
        """
        factors = self.energies / (self.energies + noise_variance)
        return (values * factors) @ self.vectors.T


@dataclass(frozen=True)
class DpPca:
    """Public plan of a release of rows through a basis that is learnt from them.

    Parameters
    ----------
    mechanism : str
        Name of the row mechanism, of L2-clipped rows.
    epsilon_basis, delta_basis : float
        Budget of the second moment; ``delta_basis`` above 0.
    epsilon_rows, delta_rows : float
        Budget of the rows; ``delta_rows`` is 0 for mechanisms with a pure guarantee. Both
        budgets add up, because the rows are released after the basis (basic composition).
    clip_norm : float
        Largest L2 norm of a scaled row (no unit).
    shape : tuple of int
        Numbers n of patients and d of columns, public.
    """

    mechanism: str
    epsilon_basis: float
    delta_basis: float
    epsilon_rows: float
    delta_rows: float
    clip_norm: float
    shape: tuple[int, int]

    @property
    def spend(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta of basis and rows together, exact (basic composition)."""
        return (
            exact(self.epsilon_basis) + exact(self.epsilon_rows),
            exact(self.delta_basis) + exact(self.delta_rows),
        )

    @property
    def moment_spec(self) -> MomentSpec:
        """Release of the second moment that the basis comes from."""
        n_patients, dimension = self.shape
        return MomentSpec(
            self.epsilon_basis, self.delta_basis, self.clip_norm, dimension, n_patients, 0.0
        )

    def row_spec(self, rank: int) -> MechanismSpec:
        """Give the specification of the row mechanism behind the projection.

        Parameters
        ----------
        rank : int
            Number of directions.

        Returns
        -------
        MechanismSpec
            For the projected rows.
        """
        return MechanismSpec(
            self.mechanism, self.epsilon_rows, self.delta_rows, self.clip_norm, "l2", rank
        )


def make_basis(estimate: CovarianceEstimate) -> DpBasis:
    """Take the directions of a released second moment that stand out of its noise.

    Parameters
    ----------
    estimate : CovarianceEstimate
        Made of a release without a mean.

    Returns
    -------
    DpBasis
        At least one direction.
    """
    rank = max(1, estimate.n_directions)
    return DpBasis(np.ascontiguousarray(estimate.vectors[:, :rank]), estimate.eigenvalues[:rank])


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
    best, best_value = 1, -1.0
    for rank in range(1, energies.size + 1):
        value = projected_correlation(energies[:rank], total, noise_variance(rank))
        if value > best_value:
            best, best_value = rank, value
        elif rank > best + _PATIENCE:
            break
    return best
