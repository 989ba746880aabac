"""The channel of additive noise: how likely a noisy row is given the row behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.audit.table.channels import ReleasedRows
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False)
class AdditiveChannel:
    """Independent Gaussian or Laplace noise on every coordinate of a bounded row.

    Parameters
    ----------
    mechanism : AdditiveMechanism
        The calibrated mechanism.
    basis : ndarray of float64, shape (n_features, m), optional
        Public basis that rows are projected on first.
    """

    mechanism: AdditiveMechanism
    basis: FloatArray | None = None

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return self.mechanism.spec.name

    @property
    def dimension(self) -> int:
        """Number m of coordinates of a released row."""
        return self.mechanism.spec.dimension

    @property
    def cells_a_row(self) -> int:
        """What scoring one released row costs, in cells that are looked at."""
        return self.dimension

    @property
    def is_gaussian(self) -> bool:
        """Whether the noise is Gaussian; Laplace otherwise."""
        return self.mechanism.distribution == "discrete_gaussian"

    @property
    def noise_variance(self) -> float:
        """Variance of the noise in one coordinate (no unit)."""
        return (1 if self.is_gaussian else 2) * self.mechanism.noise_scale**2

    def against(self, rows: FloatArray) -> AdditiveCandidates:
        """Make rows of known people ready for comparison.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, n_features)
            Scaled rows (no unit), before projection and clipping.

        Returns
        -------
        AdditiveCandidates
            Projected, clipped and on the grid.
        """
        coordinates = rows if self.basis is None else rows @ self.basis
        return AdditiveCandidates(self, self.mechanism.bound(coordinates))

    def unknown(self, released: ReleasedRows) -> FloatArray:
        """Give the log-likelihood of released rows of somebody at the public centre.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            In nat.
        """
        return self.log_density(self.values(released))

    def values(self, released: ReleasedRows) -> FloatArray:
        """Give released rows as numbers.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, m)
            On the scaled axis (no unit).
        """
        assert released.values is not None  # noise was added: there are numbers
        return released.values

    def log_density(self, noise: FloatArray) -> FloatArray:
        """Give the log-density of noise, without the constant.

        On the grid the law is that of integers; its constant is the same for every row.

        Parameters
        ----------
        noise : ndarray of float64, shape (n, m)
            Released minus candidate values (no unit).

        Returns
        -------
        ndarray of float64, shape (n,)
            In nat.
        """
        scale = self.mechanism.noise_scale
        if self.is_gaussian:
            squares: FloatArray = np.einsum("ij,ij->i", noise, noise)
            return squares / (-2 * scale**2)
        lengths: FloatArray = np.abs(noise).sum(axis=1)
        return lengths / -scale


@dataclass(frozen=True, eq=False)
class AdditiveCandidates:
    """Bounded rows under additive noise.

    Parameters
    ----------
    channel : AdditiveChannel
        The public mechanism.
    rows_int : ndarray of int64, shape (n_rows, m)
        Rows in units of the grid.
    """

    channel: AdditiveChannel
    rows_int: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows_int.shape[0])

    @property
    def rows(self) -> FloatArray:
        """The bounded rows on the scaled axis (no unit)."""
        return self.channel.mechanism.to_scaled(self.rows_int)

    def draw(self, which: IntArray, source: RandomSource) -> ReleasedRows:
        """Release chosen rows anew, with fresh noise.

        Parameters
        ----------
        which : ndarray of int64, shape (n_draws,)
            Numbers of rows, repeats allowed.
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        ReleasedRows
            One released row a number.
        """
        mechanism = self.channel.mechanism
        noise = mechanism.draw(which.size, source)
        return ReleasedRows(mechanism.apply(self.rows_int[which], noise))

    def each(self, released: ReleasedRows, which: IntArray) -> FloatArray:
        """Give the log-likelihood of every released row under one candidate.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.
        which : ndarray of int64, shape (n_released,)
            The candidate of each.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            In nat.
        """
        return self.channel.log_density(self.channel.values(released) - self.rows[which])

    def all(self, released: ReleasedRows) -> FloatArray:
        """Give the log-likelihood of every released row under every candidate.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, n_rows)
            In nat.
        """
        from scipy.spatial.distance import cdist

        values, scale = self.channel.values(released), self.channel.mechanism.noise_scale
        if self.channel.is_gaussian:
            return cdist(values, self.rows, "sqeuclidean") / (-2 * scale**2)
        return cdist(values, self.rows, "cityblock") / -scale
