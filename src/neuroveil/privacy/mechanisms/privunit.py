"""PrivUnit as a k-closest codebook: one public codeword a patient, pure epsilon.

A row is lifted to the sphere of radius C in R^(d + 1), where it is as long as every other. Of N
public codewords, the K closest to it form its set; one of them is released with probability p,
one of the others with 1 - p, uniformly within each group. From any two rows, a codeword's
chances are one of the same two numbers, p / K and (1 - p) / (N - K), whose ratio is at most
e^epsilon: pure epsilon, whatever the ranking does, rounding, ties and NaN included.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import Event
from neuroveil.privacy.bounds import ClipL2, IntArray
from neuroveil.privacy.codebook.design import (
    PROBABILITY_BITS,
    CodebookDesign,
    choose_codebook,
)
from neuroveil.privacy.codebook.messages import Messages, decode, pick
from neuroveil.privacy.codebook.ranking import closest_codewords
from neuroveil.privacy.codebook.vectors import SEED_BYTES, Codebook, draw_codebook_seed
from neuroveil.privacy.exact import float_up
from neuroveil.privacy.grid import quantise
from neuroveil.privacy.mechanisms import privunit_links
from neuroveil.privacy.mechanisms.contract import Draws, MechanismSpec, RowGuarantee
from neuroveil.privacy.mechanisms.links import bound_link
from neuroveil.privacy.prediction import Utility
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.certificate import Fact
from neuroveil.types.recording import FloatArray

_GRID_BITS = 28
"""A row of norm C is 2^27 to 2^28 grid steps long: inner products stay below 2^53."""

_SEED_WORD_BITS = 8 * SEED_BYTES // 4  # four columns of draws, positive as int64


@dataclass(frozen=True)
class PrivUnit:
    """The k-closest codebook mechanism; pure epsilon for every row.

    Parameters
    ----------
    spec : MechanismSpec
        L2 clipping, ``delta = 0``; ``epsilon`` is that of one row.
    design : CodebookDesign
        Sizes of the codebook, from public numbers.
    codebook_seed : bytes, optional
        Public seed of the codebook that all rows share; a release draws its own by
        :meth:`renewed`. Without one, :meth:`draw` draws a fresh codebook for every row,
        which removes the bias of a single codebook and takes longer.

    Raises
    ------
    ChainError
        If the specification and the design disagree.

    References
    ----------
    Bhowmick, Duchi, Freudiger, Kapoor and Rogers 2018 (PrivUnit); Asi, Feldman and Talwar 2022
    (its optimality).
    """

    spec: MechanismSpec
    design: CodebookDesign
    codebook_seed: bytes | None

    def __post_init__(self) -> None:
        spec, design = self.spec, self.design
        if spec.norm != "l2" or spec.delta != 0:
            raise ChainError(
                "privacy", "an l2 clip and delta = 0 for privunit",
                f"{spec.norm!r} and {spec.delta!r}",
                "Clip rows in l2 and leave delta out: the guarantee is pure epsilon.",
            )  # fmt: skip
        if (spec.epsilon, spec.dimension) != (design.epsilon, design.dimension):
            raise ChainError(
                "mechanism.codebook", f"epsilon {spec.epsilon} in {spec.dimension} columns",
                f"epsilon {design.epsilon} in {design.dimension} columns",
                "Choose the codebook for this specification.",
            )  # fmt: skip
        if self.codebook_seed is not None:
            _ = self._codebook(self.codebook_seed)  # refuses a seed of another length
        _ = self.clip

    @property
    def clip(self) -> ClipL2:
        """The bound on rows."""
        return ClipL2(self.spec.clip_norm)

    @property
    def grid_log2(self) -> int:
        """Binary logarithm of the grid's step."""
        return math.frexp(self.spec.clip_norm)[1] - _GRID_BITS

    @property
    def decoding_scale(self) -> float:
        """C / m, the length of a decoded codeword in R^(d + 1) (no unit)."""
        return self.spec.clip_norm / self.design.alignment

    @property
    def guarantee(self) -> RowGuarantee:
        """Pure epsilon for one row."""
        # The ratio is proven to be at most e^epsilon; only its logarithm is rounded here.
        logarithm = _log_up(self.design.likelihood_ratio)
        proof = "two-valued likelihood of k-closest codewords; Bhowmick et al. 2018"
        supported = min(self.spec.epsilon, logarithm)
        return RowGuarantee("pure_dp", self.spec.epsilon, 0.0, supported, proof)

    @property
    def event(self) -> Event:
        """What an accountant sees: one use of a mechanism without noise."""
        return Event("two_valued", None)

    def renewed(self, source: RandomSource) -> PrivUnit:
        """Give the same mechanism with a codebook that is drawn anew.

        Parameters
        ----------
        source : RandomSource
            Where the public seed comes from.

        Returns
        -------
        PrivUnit
            The mechanism itself where every row has a codebook of its own.
        """
        if self.codebook_seed is None:
            return self
        return replace(self, codebook_seed=draw_codebook_seed(source))

    def facts(self) -> Mapping[str, Mapping[str, Fact]]:
        """Links ``bound``, ``sensitivity``, ``mechanism`` and this part of ``guarantee``.

        Returns
        -------
        mapping of str to mapping of str to Fact
            Facts by link and name.
        """
        return {
            "bound": bound_link(self.spec, self.grid_log2),
            "sensitivity": privunit_links.sensitivity_link(),
            "mechanism": privunit_links.mechanism_link(self),
            "guarantee": privunit_links.guarantee_link(self.guarantee),
        }

    def predict(self) -> Utility:
        """Predict what is left, from public numbers alone.

        Returns
        -------
        Utility
            Over codebooks and draws, for rows of exactly the clipping norm. Cells of a random
            direction are nearly normal, which the mean absolute error takes them to be.
        """
        alignment, second = self.design.moments
        mse = self.design.mse_over_clip_norm_squared
        rmse = self.spec.clip_norm * math.sqrt(max(mse, 0.0) / self.spec.dimension)
        released = 1 - (1 - second) / self.spec.dimension
        return Utility(
            rmse=rmse,
            mae=math.sqrt(2 / math.pi) * rmse,
            correlation=min(1.0, alignment / math.sqrt(released)),
            snr_db=-10 * math.log10(mse) if mse > 0 else math.inf,
            mse_over_clip_norm_squared=mse,
        )

    def bound(self, rows: FloatArray) -> IntArray:
        """Clip scaled rows and put them on the grid.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, dimension)
            Scaled rows (no unit), finite.

        Returns
        -------
        ndarray of int64, shape (n_patients, dimension)
            Rows in units of the grid, within the clipping norm exactly.

        Raises
        ------
        ChainError
            If the shape is wrong or a value is not finite.
        """
        return quantise(rows, self.clip, self.grid_log2, self.spec.dimension)

    def to_scaled(self, rows_int: IntArray) -> FloatArray:
        """Give grid units back on the scaled axis, without noise.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            Rows in units of the grid.

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            The same rows on the scaled axis (no unit).
        """
        scaled: FloatArray = np.ldexp(rows_int.astype(np.float64), self.grid_log2)
        return scaled

    def draw(self, n_patients: int, source: RandomSource) -> Draws:
        """Draw all randomness for a table, without looking at it.

        Parameters
        ----------
        n_patients : int
            Number of rows.
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        Draws
            Integers of shape (n_patients, 2 or 6): whether a close codeword is released, its
            rank by number among the close or the other ones, and four words of the row's own
            codebook seed where rows do not share one.
        """
        rows = [self._draw_row(source) for _ in range(n_patients)]
        width = 2 if self.codebook_seed is not None else 6
        return Draws(
            np.array(rows, dtype=np.int64).reshape(n_patients, width), source.uniform_facts
        )

    def apply(self, rows_int: IntArray, draws: Draws) -> FloatArray:
        """Replace bounded rows by decoded codewords.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            From :meth:`bound`.
        draws : Draws
            From :meth:`draw`, for as many patients.

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            Values on the scaled axis (no unit).

        Raises
        ------
        ChainError
            If the shapes disagree.
        """
        return self.decode(self.messages(rows_int, draws))

    def messages(self, rows_int: IntArray, draws: Draws) -> Messages:
        """Choose the codeword that is published for each row.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            From :meth:`bound`.
        draws : Draws
            From :meth:`draw`, for as many patients.

        Returns
        -------
        Messages
            One a row, in the order of the rows.

        Raises
        ------
        ChainError
            If the shapes disagree.
        """
        n_rows, width = rows_int.shape[0], 2 if self.codebook_seed is not None else 6
        shapes = (rows_int.shape, draws.integers.shape)
        if shapes != ((n_rows, self.spec.dimension), (n_rows, width)):
            raise ChainError(
                "rows and draws", f"{self.spec.dimension} columns and {width} draws a row",
                f"shapes {shapes[0]} and {shapes[1]}",
                "Draw for as many patients as there are rows.",
            )  # fmt: skip
        lifted = self.lift(rows_int)
        if self.codebook_seed is not None:
            seeds = (self.codebook_seed,) * n_rows
            close = self.close_sets(lifted, self.codebook_seed)
        else:
            seeds = tuple(_seed(words) for words in draws.integers[:, 2:].tolist())
            close = self._close_alone(lifted, seeds)
        return Messages(pick(close, draws.integers[:, 0], draws.integers[:, 1]), seeds)

    def decode(self, messages: Messages) -> FloatArray:
        """Give the row that a message stands for: C / m times its codeword.

        Anybody can do this with the published seeds and numbers, and gets the same bits.

        Parameters
        ----------
        messages : Messages
            Published messages.

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            Values on the scaled axis (no unit).

        Raises
        ------
        ChainError
            If there is no such codeword.
        """
        codewords = decode(messages, self.design)
        return codewords[:, : self.spec.dimension] * self.decoding_scale

    def lift(self, rows_int: IntArray) -> IntArray:
        """Add the column sqrt(C^2 - |x|^2), which makes all rows equally long.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            Bounded rows in units of the grid.

        Returns
        -------
        ndarray of int64, shape (n_patients, dimension + 1)
            Lifted rows in units of the grid, of norm C up to one unit.
        """
        radius = Fraction(self.spec.clip_norm) / Fraction(2) ** self.grid_log2
        missing = int(radius * radius) - np.einsum("ij,ij->i", rows_int, rows_int)
        height = np.sqrt(np.maximum(missing, 0).astype(np.float64)).astype(np.int64)
        return np.concatenate([rows_int, height[:, None]], axis=1)

    def close_sets(self, lifted: IntArray, seed: bytes) -> IntArray:
        """Find the K close codewords of lifted rows; they do not depend on draws.

        Parameters
        ----------
        lifted : ndarray of int64, shape (n_patients, dimension + 1)
            From :meth:`lift`.
        seed : bytes
            Public seed of the codebook.

        Returns
        -------
        ndarray of int64, shape (n_patients, K)
            Numbers of codewords in increasing order.
        """
        return closest_codewords(lifted, self._codebook(seed), self.design.top)

    def _close_alone(self, lifted: IntArray, seeds: tuple[bytes, ...]) -> IntArray:
        """Find each row's close codewords in a codebook of its own, by as many threads."""
        rows = [lifted[row : row + 1] for row in range(len(seeds))]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            alone = list(pool.map(self.close_sets, rows, seeds))
        return np.concatenate([np.empty((0, self.design.top), dtype=np.int64), *alone])

    def _codebook(self, seed: bytes) -> Codebook:
        return Codebook(seed, self.design.size, self.design.sphere_dimension)

    def _draw_row(self, source: RandomSource) -> list[int]:
        design = self.design
        close = source.below(1 << PROBABILITY_BITS) < design.threshold
        rank = source.below(design.top if close else design.size - design.top)
        if self.codebook_seed is not None:
            return [close, rank]
        return [close, rank, *(source.below(1 << _SEED_WORD_BITS) for _ in range(4))]


def make_privunit(spec: MechanismSpec) -> PrivUnit:
    """Choose a codebook for a specification.

    Parameters
    ----------
    spec : MechanismSpec
        L2 clipping, ``delta = 0``.

    Returns
    -------
    PrivUnit
        With a codebook that is always the same, for planning: privacy holds for every
        codebook, but a release draws its own by :meth:`PrivUnit.renewed`. With a codebook for
        every row where the specification asks for that.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """
    design = choose_codebook(spec.epsilon, spec.dimension, spec.codebook.largest)
    return PrivUnit(spec, design, None if spec.codebook.fresh_per_row else bytes(SEED_BYTES))


def _seed(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(_SEED_WORD_BITS // 8, "big") for word in words)


def _log_up(ratio: Fraction) -> float:
    logarithm = math.log(ratio.numerator) - math.log(ratio.denominator)
    return float_up(Fraction(logarithm) + Fraction(1, 1 << 40))
