"""Mean and second moment of all patients' rows, under one Gaussian guarantee.

As with rows, drawing and applying are separate: :meth:`MeanCovariance.draw` sees no data, and
:meth:`MeanCovariance.apply` is deterministic, so an audit can replay draws on a neighbouring
table. Sums and noise are integers, added as integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import Event
from neuroveil.privacy.bounds import ClipL2, IntArray
from neuroveil.privacy.central.calibration import MomentCalibration, calibrate_moments
from neuroveil.privacy.central.moment_links import moment_facts
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.central.moments import sum_of_products, sum_of_rows, symmetric
from neuroveil.privacy.central.noisy_moments import MomentDraws, NoisyMoments, NoisySums
from neuroveil.privacy.grid import quantise
from neuroveil.privacy.mechanisms.contract import RowGuarantee
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.certificate import Fact
from neuroveil.types.recording import FloatArray

_BLOCK = 1024  # rows that are checked at a time, to keep memory flat
_OUTPUT_LIMIT = 1 << 62
_NOISE_LIMIT = _OUTPUT_LIMIT + (1 << 61)


@dataclass(frozen=True)
class MeanCovariance:
    """Discrete Gaussian noise on the sums of x and of x x^T; (epsilon, delta).

    Parameters
    ----------
    spec : MomentSpec
        Public specification.

    Raises
    ------
    ChainError
        If the specification cannot be calibrated.

    References
    ----------
    Dwork, Talwar, Thakurta and Zhang 2014 (Gaussian noise on the second moment); Balle and
    Wang 2018, Theorem 8; Canonne, Kamath and Steinke 2020 for the sampler.
    """

    spec: MomentSpec

    def __post_init__(self) -> None:
        _ = self.calibration  # so that a specification without a calibration is refused here

    @cached_property
    def calibration(self) -> MomentCalibration:
        """Noise scales, grid and the price of integers."""
        return calibrate_moments(self.spec)

    @property
    def clip(self) -> ClipL2:
        """The bound on rows."""
        return ClipL2(self.spec.clip_norm)

    @cached_property
    def guarantee(self) -> RowGuarantee:
        """(epsilon, delta) for one patient, mean and second moment together."""
        proof = (
            "Balle and Wang 2018, Theorem 8, for both moments as one vector; discrete noise by "
            "Poisson summation and Jensen's inequality"
        )
        spec = self.spec
        return RowGuarantee(
            "approximate_dp", spec.epsilon, spec.delta, self.calibration.epsilon_supported, proof
        )

    @property
    def event(self) -> Event:
        """What an accountant sees: one Gaussian release for mean and second moment."""
        return Event("gaussian", self.calibration.noise_scale / self.calibration.sensitivity)

    def facts(self) -> Mapping[str, Mapping[str, Fact]]:
        """Links ``bound``, ``sensitivity``, ``mechanism``, ``guarantee`` and ``model``.

        Returns
        -------
        mapping of str to mapping of str to Fact
            Facts by link and name.
        """
        return moment_facts(self.calibration, self.guarantee)

    def bound(self, rows: FloatArray) -> IntArray:
        """Clip scaled rows and put them on the grid.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, dimension)
            Scaled rows (no unit), finite, one for each patient on the roster.

        Returns
        -------
        ndarray of int64, shape (n_patients, dimension)
            Rows in units of the grid, within the clipping norm exactly.

        Raises
        ------
        ChainError
            If the shape is wrong or a value is not finite.
        """
        self._check(rows.shape)
        grid_log2, dimension = self.calibration.grid_log2, self.spec.dimension
        blocks = [
            quantise(rows[start : start + _BLOCK], self.clip, grid_log2, dimension)
            for start in range(0, rows.shape[0], _BLOCK)
        ]
        return np.concatenate(blocks)

    def draw(self, source: RandomSource) -> MomentDraws:
        """Draw the noise, without looking at the table.

        Parameters
        ----------
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        MomentDraws
            Integers for the sum of rows and for the sum of products.
        """
        d, used = self.spec.dimension, self.calibration
        grid = used.grid_log2
        total = np.zeros(d, dtype=np.int64)
        if self.spec.mean_share:
            total = source.discrete_gaussian(math.ldexp(used.sum_std, -grid), (1, d))[0]
        diagonal_scale = math.ldexp(used.diagonal_std, -2 * grid)
        off_diagonal_scale = math.ldexp(used.off_diagonal_std, -2 * grid)
        diagonal = source.discrete_gaussian(diagonal_scale, (1, d))[0]
        upper = source.discrete_gaussian(off_diagonal_scale, (1, d * (d - 1) // 2))[0]
        return MomentDraws(total, symmetric(diagonal, upper), source.facts)

    def apply(self, rows_int: IntArray, draws: MomentDraws) -> NoisyMoments:
        """Add noise to the moments of bounded rows; deterministic once draws are given.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            From :meth:`bound`.
        draws : MomentDraws
            From :meth:`draw`.

        Returns
        -------
        NoisyMoments
            What may be published.

        Raises
        ------
        ChainError
            If the shapes disagree.
        """
        return self.moments(self.apply_integers(rows_int, draws))

    def apply_integers(self, rows_int: IntArray, draws: MomentDraws) -> NoisySums:
        """Add noise to the sums of bounded rows, in whole numbers.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            From :meth:`bound`.
        draws : MomentDraws
            From :meth:`draw`.

        Returns
        -------
        NoisySums
            What may be published.

        Raises
        ------
        ChainError
            If the shapes disagree.
        """
        self._check(rows_int.shape)
        d = self.spec.dimension
        if draws.total.shape != (d,) or draws.products.shape != (d, d):
            raise ChainError(
                "draws", f"draws for {d} columns",
                f"shapes {draws.total.shape} and {draws.products.shape}",
                "Draw with the same mechanism.",
            )  # fmt: skip
        products = _add(sum_of_products(rows_int), draws.products)
        has_mean = bool(self.spec.mean_share)
        return NoisySums(_add(sum_of_rows(rows_int), draws.total) if has_mean else None, products)

    def moments(self, sums: NoisySums) -> NoisyMoments:
        """Turn noisy sums into noisy means. Post-processing.

        Parameters
        ----------
        sums : NoisySums
            A release.

        Returns
        -------
        NoisyMoments
            On the scaled axis (no unit).
        """
        n, grid = self.spec.n_patients, self.calibration.grid_log2
        mean = None if sums.total is None else np.ldexp(sums.total.astype(np.float64), grid) / n
        products = np.ldexp(sums.products.astype(np.float64), 2 * grid) / n
        return NoisyMoments(mean, products, self.calibration)

    def _check(self, shape: tuple[int, ...]) -> None:
        expected = (self.spec.n_patients, self.spec.dimension)
        if shape != expected:
            raise ChainError(
                "rows", f"shape {expected}", f"shape {shape}",
                "Give one row for every patient on the roster; n is public and fixed.",
            )  # fmt: skip


def _add(exact_sum: IntArray, noise: IntArray) -> IntArray:
    # Sums are below 2^61. Where 64-bit noise has saturated, the result is beyond the output
    # limit for every table alike, so clamping is post-processing of unlimited noise.
    bounded = np.clip(noise, -_NOISE_LIMIT, _NOISE_LIMIT)
    noisy: IntArray = np.clip(exact_sum + bounded, -_OUTPUT_LIMIT, _OUTPUT_LIMIT)
    return noisy
