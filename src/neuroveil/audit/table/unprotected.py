"""Rows without a mechanism, as a yardstick: the closest row is the right one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.audit.table.channels import ReleasedRows
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False)
class UnprotectedChannel:
    """No mechanism at all: rows as they are. The yardstick for every defence.

    Parameters
    ----------
    n_features : int
        Number of columns.
    """

    n_features: int

    name = "unprotected"

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return self.n_features

    @property
    def cells_a_row(self) -> int:
        """What scoring one released row costs, in cells that are looked at."""
        return self.n_features

    @property
    def noise_variance(self) -> float:
        """Nothing is added."""
        return 0.0

    def against(self, rows: FloatArray) -> UnprotectedCandidates:
        """Make rows of known people ready for comparison.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, n_features)
            Scaled rows (no unit).

        Returns
        -------
        UnprotectedCandidates
            The rows themselves.
        """
        return UnprotectedCandidates(rows)

    def unknown(self, released: ReleasedRows) -> FloatArray:
        """Give the score of somebody unknown: without noise, distances compare as they are.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            Zeros (no unit).
        """
        return np.zeros(released.n_rows)

    def values(self, released: ReleasedRows) -> FloatArray:
        """Give released rows as numbers.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, n_features)
            On the scaled axis (no unit).
        """
        assert released.values is not None  # rows as they are: there are numbers
        return released.values


@dataclass(frozen=True, eq=False)
class UnprotectedCandidates:
    """Rows without a mechanism: the closest row is the likeliest.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
        Scaled rows (no unit).
    """

    rows: FloatArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    def draw(self, which: IntArray, source: RandomSource) -> ReleasedRows:
        """Give chosen rows as they are.

        Parameters
        ----------
        which : ndarray of int64, shape (n_draws,)
            Numbers of rows.
        source : RandomSource
            Not used.

        Returns
        -------
        ReleasedRows
            The rows.
        """
        return ReleasedRows(self.rows[which])

    def each(self, released: ReleasedRows, which: IntArray) -> FloatArray:
        """Give minus half the squared distance of every released row to one candidate.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.
        which : ndarray of int64, shape (n_released,)
            The candidate of each.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            The limit of a Gaussian log-likelihood, up to its scale (no unit).
        """
        assert released.values is not None  # rows as they are: there are numbers
        squares: FloatArray = np.square(released.values - self.rows[which]).sum(axis=1)
        return -0.5 * squares

    def all(self, released: ReleasedRows) -> FloatArray:
        """Give minus half the squared distance to every candidate.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, n_rows)
            No unit.
        """
        from scipy.spatial.distance import cdist

        assert released.values is not None  # rows as they are: there are numbers
        return np.asarray(-0.5 * cdist(released.values, self.rows, "sqeuclidean"))
