"""From a row to a released row: fresh draws, and how likely a released row is.

A channel is the public mechanism as an attacker sees it. Everything here follows from the
certificate; the rows that released rows are compared with are handed in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray

_BLOCK_CELLS = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedRows:
    """Released rows as they are published, or drawn anew in the same form.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, m), optional
        Randomised values on the scaled axis (no unit); none where codewords are released.
    messages : Messages, optional
        Released codewords.
    """

    values: FloatArray | None = None
    messages: Messages | None = None

    @property
    def n_rows(self) -> int:
        """Number of released rows."""
        if self.values is not None:
            return int(self.values.shape[0])
        return 0 if self.messages is None else int(self.messages.numbers.size)


class Candidates(Protocol):
    """Rows of known people, made ready for comparison with released rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    def draw(self, which: IntArray, source: RandomSource) -> ReleasedRows:
        """Release chosen rows anew, with fresh randomness.

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
        ...

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
            log P(released row | candidate), up to what :meth:`Channel.unknown` shares (nat).
        """
        ...

    def all(self, released: ReleasedRows) -> FloatArray:
        """Give scores that rank all candidates behind every released row.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, n_rows)
            Log-likelihood (nat). Where a mechanism makes candidates equally likely, closeness
            may part them by less than any difference of likelihoods.
        """
        ...


class Channel(Protocol):
    """A public mechanism, as an attacker sees it."""

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        ...

    @property
    def dimension(self) -> int:
        """Number m of coordinates of a released row."""
        ...

    @property
    def cells_a_row(self) -> int:
        """What scoring one released row costs, in cells that are looked at."""
        ...

    def against(self, rows: FloatArray) -> Candidates:
        """Make rows of known people ready for comparison.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, n_features)
            Scaled rows (no unit), before projection and clipping.

        Returns
        -------
        Candidates
            Bounded as the mechanism bounds them.
        """
        ...

    def unknown(self, released: ReleasedRows) -> FloatArray:
        """Give the log-likelihood of released rows when nothing is known about the person.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            In the same units as :meth:`Candidates.each` (nat).
        """
        ...

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
        ...


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


def block_size(cells_a_row: int) -> int:
    """Give how many rows to treat at a time, so that memory stays flat.

    Parameters
    ----------
    cells_a_row : int
        Cells that one row takes.

    Returns
    -------
    int
        At least 1.
    """
    return max(1, math.floor(_BLOCK_CELLS / max(1, cells_a_row)))
