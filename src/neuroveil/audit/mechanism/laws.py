"""Laws that a chain can promise for a release: additive noise, and codewords."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from neuroveil.audit.mechanism.estimators import TradeOff, gaussian_trade_off
from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.validate import check_positive
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray

_STEPS = 1000
_DECODED_AT_ONCE = 4096


@dataclass(frozen=True)
class AdditiveLaw:
    """Independent noise of one scale in every cell of a row.

    Discrete noise on a fine grid is judged by its continuous counterpart: at the grids of this
    package the two cannot be told apart by any number of trials that a machine can run.

    Parameters
    ----------
    family : {"gaussian", "laplace"}
        Law of the noise.
    scale : float
        Standard deviation, or Laplace scale b, on the scaled axis (no unit).

    Raises
    ------
    ChainError
        If the scale is not positive.
    """

    family: Literal["gaussian", "laplace"]
    scale: float

    def __post_init__(self) -> None:
        check_positive(self.scale, "law.scale")

    def log_ratio(self, values: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Give the log-likelihood ratio of releases between two tables.

        Parameters
        ----------
        values : ndarray of float64, shape (n_trials, n_values)
            Releases, flattened (no unit).
        first, second : ndarray of float64, shape (n_rows, dimension)
            The two tables, bounded (no unit).

        Returns
        -------
        ndarray of float64, shape (n_trials,)
            log P(values | first) - log P(values | second) (nat).

        Raises
        ------
        ChainError
            If a release has not one value a cell of the table.
        """
        one, two = first.ravel(), second.ravel()
        if values.shape[1] != one.size:
            raise ChainError(
                "subject.law", f"{one.size} released values, one a cell", f"{values.shape[1]}",
                "State no law for a release that is not made of rows; a score is learned then.",
            )  # fmt: skip
        centred = values - (one + two) / 2
        if self.family == "gaussian":
            return centred @ ((one - two) / self.scale**2)
        half = np.abs(one - two) / 2
        np.clip(centred, -half, half, out=centred)
        return centred @ (np.sign(one - two) * 2 / self.scale)

    def trade_off(self, first: FloatArray, second: FloatArray) -> TradeOff:
        """Give what the best test achieves between the releases of two tables.

        Parameters
        ----------
        first, second : ndarray of float64, shape (n_rows, dimension)
            The two tables, bounded (no unit).

        Returns
        -------
        TradeOff
            Closed form for Gaussian noise; for Laplace noise by Fourier transforms, to about
            1e-3 in epsilon.
        """
        apart = np.abs(first - second).ravel() / self.scale
        if self.family == "gaussian":
            return gaussian_trade_off(float(np.linalg.norm(apart)))
        return _laplace_trade_off(apart[apart > 0])


@dataclass(frozen=True, eq=False)
class CodewordLaw:
    """One of N public codewords: each of the K close ones e^epsilon times as likely.

    Parameters
    ----------
    mechanism : PrivUnit
        The mechanism with the public codebook that all rows share.

    Raises
    ------
    ChainError
        If every row has a codebook of its own.
    """

    mechanism: PrivUnit

    def __post_init__(self) -> None:
        if self.mechanism.codebook_seed is None:
            raise ChainError(
                "law", "one codebook for all rows", "a codebook for every row",
                "Give the codebook by renewed(), or audit without a law.",
            )  # fmt: skip

    @property
    def family(self) -> Literal["codewords"]:
        """Which law."""
        return "codewords"

    def log_ratio(self, values: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Give the log-likelihood ratio of released rows between two tables.

        Parameters
        ----------
        values : ndarray of float64, shape (n_trials, n_values)
            Releases, flattened (no unit).
        first, second : ndarray of float64, shape (n_rows, dimension)
            The two tables, bounded (no unit).

        Returns
        -------
        ndarray of float64, shape (n_trials,)
            log P(values | first) - log P(values | second) (nat).

        Raises
        ------
        ChainError
            If a released row is no codeword.
        """
        numbers = self.numbers(values.reshape(-1, first.shape[1])).reshape(len(values), -1)
        ratio = float(self.mechanism.design.likelihood_ratio)
        difference = np.zeros(len(values))
        for row in range(first.shape[0]):
            near = np.isin(numbers[:, row], self.close(first[row]))
            far = np.isin(numbers[:, row], self.close(second[row]))
            difference += near.astype(np.float64) - far.astype(np.float64)
        return difference * math.log(ratio)

    def trade_off(self, first: FloatArray, second: FloatArray) -> TradeOff:
        """Give what the best test achieves between the releases of two neighbouring tables.

        Parameters
        ----------
        first, second : ndarray of float64, shape (n_rows, dimension)
            The two tables, bounded (no unit), which differ in one row at most.

        Returns
        -------
        TradeOff
            Exact.
        """
        design = self.mechanism.design
        row = int(np.argmax((first != second).any(axis=1)))
        only_first = len(np.setdiff1d(self.close(first[row]), self.close(second[row])))
        neither = design.size - design.top - only_first
        near = design.probability / design.top
        far = (1 - design.probability) / (design.size - design.top)
        both = design.top - only_first
        rest = both * near + neither * far
        above = np.array([only_first * near, only_first * near + rest, 1.0])
        below = np.array([only_first * far, only_first * far + rest, 1.0])
        return TradeOff(above, below)

    def close(self, row: FloatArray) -> IntArray:
        """Give the numbers of a row's close codewords.

        Parameters
        ----------
        row : ndarray of float64, shape (dimension,)
            A bounded row (no unit).

        Returns
        -------
        ndarray of int64, shape (K,)
            In increasing order.
        """
        mechanism = self.mechanism
        assert mechanism.codebook_seed is not None
        lifted = mechanism.lift(mechanism.bound(row[None]))
        numbers: IntArray = mechanism.close_sets(lifted, mechanism.codebook_seed)[0]
        return numbers

    def numbers(self, values: FloatArray) -> IntArray:
        """Find which codeword each released row is.

        Parameters
        ----------
        values : ndarray of float64, shape (n, dimension)
            Released rows (no unit).

        Returns
        -------
        ndarray of int64, shape (n,)
            Numbers of codewords.

        Raises
        ------
        ChainError
            If a row is no codeword, bit by bit.
        """
        try:
            found = [self._by_bits[row.tobytes()] for row in np.ascontiguousarray(values)]
        except KeyError:
            raise ChainError(
                "released rows", "codewords of the public codebook, to the last bit", "others",
                "Give the codebook of this release, and rows before post-processing.",
            ) from None  # fmt: skip
        return np.array(found, dtype=np.int64)

    @cached_property
    def _by_bits(self) -> dict[bytes, int]:
        """Numbers of codewords by the bits of the decoded row."""
        seed, size = self.mechanism.codebook_seed, self.mechanism.design.size
        assert seed is not None
        table: dict[bytes, int] = {}
        for start in range(0, size, _DECODED_AT_ONCE):
            numbers = np.arange(start, min(size, start + _DECODED_AT_ONCE))
            rows = self.mechanism.decode(Messages(numbers, (seed,) * len(numbers)))
            table.update((row.tobytes(), start + i) for i, row in enumerate(rows))
        return table


def _laplace_trade_off(apart: FloatArray) -> TradeOff:
    """Distribution of the privacy loss of Laplace noise, from a convolution over cells."""
    from scipy.fft import irfft, next_fast_len, rfft

    if not apart.size:
        return TradeOff(np.array([1.0]), np.array([1.0]))
    total = float(apart.sum())
    step = max(float(apart.max()) / _STEPS, total / 2**20)
    length = next_fast_len(2 * int(np.ceil(total / step) + apart.size) + 2)
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for shift, count in zip(*np.unique(apart, return_counts=True), strict=True):
        mass, offset = _laplace_losses(float(shift), step)
        placed = np.zeros(length)
        np.add.at(placed, (np.arange(mass.size) - offset) % length, mass)
        spectrum *= rfft(placed) ** int(count)
    probability = np.maximum(irfft(spectrum, length), 0.0)
    losses = np.arange(length, dtype=np.float64)
    losses[losses > length // 2] -= length
    losses *= step
    order = np.argsort(-losses)
    losses, probability = losses[order], probability[order]
    # On the second table every loss L is e^-L times as likely. Below a loss of 0 the transform's
    # rounding would be blown up, and no lower bound of epsilon lies there.
    worth = (losses >= 0) & (losses <= total + step / 2)
    true_positive = np.cumsum(probability[worth])
    return TradeOff(true_positive, np.cumsum(probability[worth] * np.exp(-losses[worth])))


def _laplace_losses(shift: float, step: float) -> tuple[FloatArray, int]:
    """Mass of one cell's privacy loss on multiples of a step, and the index of loss 0."""
    n_steps = max(1, round(shift / step))
    losses = np.arange(-n_steps, n_steps + 1) * (shift / n_steps)
    # The loss is at most l when the noise is at least (shift - l) / 2.
    edges = (losses[:-1] + losses[1:]) / 2
    below = 0.5 * np.exp(-(shift - edges) / 2)
    return np.diff(np.concatenate([[0.0], below, [1.0]])), n_steps
