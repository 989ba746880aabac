"""Membership in released sums: what mean and second moment tell about one patient.

The attacker knows all other rows, so that what is left of the sums is one patient's part with
noise. That is the strongest attacker whom the guarantee covers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moments import sum_of_products, sum_of_rows
from neuroveil.privacy.central.noisy_moments import NoisySums
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.recording import FloatArray

_CALLING = 100_000
"""What one draw costs besides its cells."""


@dataclass(frozen=True, eq=False)
class MomentsChannel:
    """The release of a sum of rows and a sum of their products, with Gaussian noise.

    Parameters
    ----------
    mechanism : MeanCovariance
        Calibrated.
    """

    mechanism: MeanCovariance

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return "mean_covariance"

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return self.mechanism.spec.dimension

    @property
    def cells_a_draw(self) -> int:
        """Cells that drawing and scoring one release looks at."""
        return _CALLING + 10 * self.dimension**2

    @cached_property
    def weights(self) -> tuple[float, FloatArray]:
        """One over the noise variance of the sum, and of each entry of the products.

        In units of the grid and of its square. An entry off the diagonal stands twice in the
        symmetric matrix and counts half each time.
        """
        used = self.mechanism.calibration
        grid, d = used.grid_log2, self.dimension
        total = 0.0
        if self.mechanism.spec.mean_share:
            total = math.ldexp(used.sum_std, -grid) ** -2
        off = 0.5 * math.ldexp(used.off_diagonal_std, -2 * grid) ** -2
        weights = np.full((d, d), off)
        np.fill_diagonal(weights, math.ldexp(used.diagonal_std, -2 * grid) ** -2)
        return total, weights

    def farthest(self, rows: FloatArray) -> FloatArray:
        """Give for each row the one that moves both sums most.

        Opposite rows have the same second moment. With w the share of the mean, both sums
        together move most where the cosine is -w / (4 (1 - w)), nearly a right angle.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, n_features)
            Scaled rows (no unit).

        Returns
        -------
        ndarray of float64, shape (n_patients, n_features)
            Unit vectors (no unit); the opposite directions where there is one column.
        """
        lengths = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
        unit = rows / np.where(lengths > 0, lengths, 1.0)
        if rows.shape[1] == 1:
            return np.asarray(-unit)
        across = np.zeros_like(unit)
        across[np.arange(len(unit)), np.abs(unit).argmin(axis=1)] = 1.0
        across -= (across * unit).sum(axis=1, keepdims=True) * unit
        across /= np.sqrt(np.square(across).sum(axis=1, keepdims=True))
        share = float(self.mechanism.spec.mean_share)
        cosine = -share / (4 * (1 - share))
        return np.asarray(cosine * unit + math.sqrt(1 - cosine**2) * across)

    def game(self, rows: FloatArray) -> MomentsOfTable:
        """Sum a table up.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, n_features)
            Scaled rows (no unit).

        Returns
        -------
        MomentsOfTable
            Ready for one patient to be replaced.
        """
        return MomentsOfTable(self, self.mechanism.bound(rows))


@dataclass(frozen=True, eq=False)
class MomentsOfTable:
    """Exact sums of a bounded table.

    Parameters
    ----------
    channel : MomentsChannel
        The public mechanism.
    rows_int : ndarray of int64, shape (n_patients, n_features)
        Bounded rows in units of the grid.
    """

    channel: MomentsChannel
    rows_int: IntArray

    @cached_property
    def sums(self) -> tuple[IntArray, IntArray]:
        """Sum of rows and of products, without noise."""
        return sum_of_rows(self.rows_int), sum_of_products(self.rows_int)

    def release(self, leaving: int, joining: IntArray, source: RandomSource) -> NoisySums:
        """Release the sums of the table with one row replaced.

        Parameters
        ----------
        leaving : int
            Number of the row that leaves.
        joining : ndarray of int64, shape (n_features,)
            Bounded row that takes its place; the same row for the table as it is.
        source : RandomSource
            Where the noise comes from.

        Returns
        -------
        NoisySums
            In whole numbers, as a release publishes them.
        """
        draws = self.channel.mechanism.draw(source)
        row, (total, products) = self.rows_int[leaving], self.sums
        moved = products - np.outer(row, row) + np.outer(joining, joining)
        has_mean = bool(self.channel.mechanism.spec.mean_share)
        return NoisySums(
            total - row + joining + draws.total if has_mean else None, moved + draws.products
        )

    def log_ratio(self, sums: NoisySums, member: int, substitute: IntArray) -> float:
        """Give how much likelier sums are with a patient than with a substitute.

        Parameters
        ----------
        sums : NoisySums
            A release.
        member : int
            Number of the patient's row.
        substitute : ndarray of int64, shape (n_features,)
            Bounded row of the substitute.

        Returns
        -------
        float
            Exact log-likelihood ratio, all other rows being known (nat).
        """
        row, (total, products) = self.rows_int[member], self.sums
        weight, weights = self.channel.weights
        gap = (np.outer(row, row) - np.outer(substitute, substitute)).astype(np.float64)
        rest = (sums.products - products).astype(np.float64) + 0.5 * gap
        ratio = float(np.einsum("ij,ij,ij->", weights, rest, gap))
        if sums.total is not None:
            step = (row - substitute).astype(np.float64)
            ratio += weight * float(((sums.total - total) + 0.5 * step) @ step)
        return ratio
