"""The channel of the k-closest codebook: a released codeword has one of two chances.

The codeword is close to a candidate's row or it is not; nothing else in it tells candidates
apart. Codebooks and their seeds are public, so anybody can redo the ranking.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuroveil.audit.table.channels import ReleasedRows, block_size
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.messages import pick
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray

_DRAWING = 400
"""Drawing one codeword costs as much as looking at so many cells."""

_TIE_BREAK = 1e-3
"""Closeness parts candidates by at most this share of the log-ratio of the two chances."""


@dataclass(frozen=True, eq=False)
class CodewordChannel:
    """PrivUnit with its public codebook.

    Parameters
    ----------
    mechanism : PrivUnit
        With the codebook of the release, or one for each row.
    basis : ndarray of float64, shape (n_features, m), optional
        Public basis that rows are projected on first.
    """

    mechanism: PrivUnit
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
        design = self.mechanism.design
        if self.mechanism.codebook_seed is None:
            return design.size * design.sphere_dimension
        return max(design.top, _DRAWING)

    @cached_property
    def log_chances(self) -> tuple[float, float]:
        """Logarithm of a codeword's chance, times N, where it is close and where it is not."""
        design = self.mechanism.design
        inside = design.probability * design.size / design.top
        outside = float(1 / design.likelihood_ratio) * inside
        return float(np.log(inside)), float(np.log(outside))

    @property
    def noise_variance(self) -> float:
        """Mean square of decoded minus bounded value in one coordinate (no unit)."""
        design, norm = self.mechanism.design, self.mechanism.spec.clip_norm
        return design.mse_over_clip_norm_squared * norm**2 / self.dimension

    def against(self, rows: FloatArray) -> CodewordCandidates:
        """Make rows of known people ready for comparison.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, n_features)
            Scaled rows (no unit), before projection and clipping.

        Returns
        -------
        CodewordCandidates
            Projected, clipped and on the grid.
        """
        coordinates = rows if self.basis is None else rows @ self.basis
        return CodewordCandidates(self, self.mechanism.bound(coordinates))

    def unknown(self, released: ReleasedRows) -> FloatArray:
        """Give the log-likelihood of codewords of somebody unknown: all are equally likely.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            Zeros (nat), since chances are taken times N.
        """
        return np.zeros(released.n_rows)

    def values(self, released: ReleasedRows) -> FloatArray:
        """Decode released codewords.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, m)
            On the scaled axis (no unit).
        """
        return self.mechanism.decode(messages_of(released))


@dataclass(frozen=True, eq=False)
class CodewordCandidates:
    """Bounded rows with the codewords that are close to them.

    Parameters
    ----------
    channel : CodewordChannel
        The public mechanism.
    rows_int : ndarray of int64, shape (n_rows, m)
        Rows in units of the grid.
    """

    channel: CodewordChannel
    rows_int: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows_int.shape[0])

    @property
    def rows(self) -> FloatArray:
        """The bounded rows on the scaled axis (no unit)."""
        return self.channel.mechanism.to_scaled(self.rows_int)

    @cached_property
    def lifted(self) -> IntArray:
        """Rows on the sphere, shape (n_rows, m + 1), in units of the grid."""
        return self.channel.mechanism.lift(self.rows_int)

    @cached_property
    def close(self) -> IntArray:
        """Close codewords of each row in the shared codebook, shape (n_rows, K)."""
        seed = self.channel.mechanism.codebook_seed
        assert seed is not None  # asked for only where rows share a codebook
        return self.channel.mechanism.close_sets(self.lifted, seed)

    def draw(self, which: IntArray, source: RandomSource) -> ReleasedRows:
        """Release a codeword for chosen rows anew.

        Parameters
        ----------
        which : ndarray of int64, shape (n_draws,)
            Numbers of rows, repeats allowed.
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        ReleasedRows
            One codeword a number, of the release's own codebook where it has one.
        """
        mechanism = self.channel.mechanism
        draws = mechanism.draw(which.size, source)
        if mechanism.codebook_seed is None:
            return ReleasedRows(messages=mechanism.messages(self.rows_int[which], draws))
        numbers = pick(self.close[which], draws.integers[:, 0], draws.integers[:, 1])
        return ReleasedRows(messages=Messages(numbers, (mechanism.codebook_seed,) * which.size))

    def each(self, released: ReleasedRows, which: IntArray) -> FloatArray:
        """Give the log-likelihood of every codeword under one candidate.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.
        which : ndarray of int64, shape (n_released,)
            The candidate of each.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            One of two values (nat).
        """
        messages = messages_of(released)
        if self.channel.mechanism.codebook_seed is not None:
            is_close = _is_listed(self.close, which, messages.numbers, self._size)
        else:
            found = self._close_in_own(messages, [self.lifted[[row]] for row in which.tolist()])
            is_close = np.array([
                bool(np.isin(number, close).all())
                for number, close in zip(messages.numbers, found, strict=True)
            ])  # fmt: skip
        inside, outside = self.channel.log_chances
        return np.where(is_close, inside, outside)

    def all(self, released: ReleasedRows) -> FloatArray:
        """Give the log-likelihood under every candidate; closeness parts equal ones.

        A row of another session is not quite the row that was released. Between candidates
        that are equally likely the one whose row points more in the codeword's direction is
        then the better guess; where the rows are the same, it is as good as any.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, n_rows)
            In nat.
        """
        messages, n = messages_of(released), self.n_rows
        if self.channel.mechanism.codebook_seed is not None:
            repeated = np.repeat(messages.numbers, n)
            which = np.tile(np.arange(n), messages.numbers.size)
            is_close = _is_listed(self.close, which, repeated, self._size)
        else:
            found = self._close_in_own(messages, [self.lifted] * len(messages.seeds))
            is_close = np.concatenate([
                (close == number).any(axis=1)
                for number, close in zip(messages.numbers, found, strict=True)
            ])  # fmt: skip
        inside, outside = self.channel.log_chances
        scores = np.where(is_close, inside, outside).reshape(-1, n)
        return scores + _TIE_BREAK * (inside - outside) * self._cosines(released)

    @property
    def _size(self) -> int:
        return self.channel.mechanism.design.size

    def _cosines(self, released: ReleasedRows) -> FloatArray:
        """Cosine between every codeword and every row, without the lifted coordinate."""
        codewords = _unit(self.channel.values(released))
        cosines: FloatArray = codewords @ _unit(self.rows_int.astype(np.float64)).T
        return cosines

    def _close_in_own(self, messages: Messages, lifted: list[IntArray]) -> list[IntArray]:
        """Close codewords in each message's own codebook, by as many threads as cores."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(self.channel.mechanism.close_sets, lifted, messages.seeds))


def messages_of(released: ReleasedRows) -> Messages:
    """Give the codewords of a release that has them.

    Parameters
    ----------
    released : ReleasedRows
        Released rows.

    Returns
    -------
    Messages
        One a row.
    """
    assert released.messages is not None  # this mechanism releases codewords
    return released.messages


def _is_listed(close: IntArray, which: IntArray, numbers: IntArray, size: int) -> np.ndarray:
    """Whether each number stands among the close codewords of the row beside it."""
    keys = (close + np.arange(close.shape[0])[:, None] * size).ravel()  # increasing
    found = np.empty(numbers.size, dtype=np.bool_)
    block = block_size(1)
    for start in range(0, numbers.size, block):
        part = slice(start, start + block)
        wanted = numbers[part] + which[part] * size
        places = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        found[part] = keys[places] == wanted
    return found


def _unit(rows: FloatArray) -> FloatArray:
    lengths = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    unit: FloatArray = rows / np.where(lengths > 0, lengths, 1.0)
    return unit
