"""Leading directions of a released second moment, for projecting rows and bringing them back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import check_rows
from neuroveil.privacy.central.covariance import CovarianceEstimate
from neuroveil.types.recording import FloatArray


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
