"""Codewords: points that are spread uniformly over a sphere, made from a public seed.

A codebook is defined by arithmetic that any language can repeat bit for bit: the words of the
counter-based generator Philox4x64-10 (Salmon et al. 2011) under a key made from the seed, a
table of 65,536 normal quantiles in whole numbers, and sums of four of them. A codeword is a
whole-number vector divided by its length, so (seed, number) names one released row for ever.

The seed is public and needs no secrecy: privacy holds for every codebook that does not depend
on data. It is drawn afresh for a release, before any row is looked at, and never again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.recording import FloatArray

SEED_BYTES = 16
"""Length of a codebook's seed; two releases share a seed with probability 2^-128."""

GENERATOR = "neuroveil codebook 1"
"""Name of the rule that makes codewords; ``docs/certificate.md`` spells it out."""

_QUANTILES = 1 << 16
_QUANTILE_SCALE = 1 << 10
_WORDS_A_COUNTER = 16  # one step of Philox4x64 has 256 bits


def draw_codebook_seed(source: RandomSource) -> bytes:
    """Draw the public seed of a codebook, before and without looking at data.

    Parameters
    ----------
    source : RandomSource
        Where the randomness comes from; the operating system's generator in a release.

    Returns
    -------
    bytes
        :data:`SEED_BYTES` bytes, uniform.
    """
    return source.below(1 << (8 * SEED_BYTES)).to_bytes(SEED_BYTES, "big")


@dataclass(frozen=True)
class Codebook:
    """A public list of unit vectors.

    Parameters
    ----------
    seed : bytes
        :data:`SEED_BYTES` bytes, public.
    size : int
        Number N of codewords, at least 2.
    sphere_dimension : int
        Number D of columns of a codeword, at least 2.

    Raises
    ------
    ChainError
        If a parameter is out of range.
    """

    seed: bytes
    size: int
    sphere_dimension: int

    def __post_init__(self) -> None:
        if len(self.seed) != SEED_BYTES:
            raise ChainError(
                "mechanism.codebook_seed", f"{SEED_BYTES} bytes", f"{len(self.seed)} bytes",
                "Let the release draw the seed.",
            )  # fmt: skip
        if self.size < 2 or self.sphere_dimension < 2:
            raise ChainError(
                "mechanism.codebook", "at least 2 codewords of at least 2 columns",
                f"{self.size} of {self.sphere_dimension}", "Use a larger codebook.",
            )  # fmt: skip

    def directions(self, start: int, stop: int) -> npt.NDArray[np.int16]:
        """Give a run of codewords as whole-number vectors, not yet of length 1.

        Each entry is a sum or difference of four normal quantiles, in units of
        1 / 2048 of its standard deviation, so that tails are normal to 8 standard deviations.

        Parameters
        ----------
        start, stop : int
            First number, and the number after the last.

        Returns
        -------
        ndarray of int16, shape (stop - start, sphere_dimension)
            Directions; the codeword is the row divided by its Euclidean norm.

        Raises
        ------
        ChainError
            If there are no such codewords.
        """
        if not 0 <= start <= stop <= self.size:
            raise ChainError(
                "codeword", f"numbers from 0 to {self.size - 1}", f"{start} to {stop - 1}",
                "Decode with the codebook that the message was made for.",
            )  # fmt: skip
        counters = -(-self.sphere_dimension // _WORDS_A_COUNTER)
        # Codeword j has the blocks of counters j * counters + 1 on: any run stands alone.
        stream = np.random.Philox(key=self._key, counter=start * counters)
        words = stream.random_raw((stop - start) * counters * _WORDS_A_COUNTER // 4)
        quantiles = _quantile_table()[words.astype("<u8", copy=False).view("<u2")]
        return _mix(quantiles.reshape(stop - start, 4, 4 * counters))[:, : self.sphere_dimension]

    def vectors(self, numbers: IntArray) -> FloatArray:
        """Give chosen codewords.

        Parameters
        ----------
        numbers : ndarray of int64, shape (n,)
            Numbers of codewords, from 0.

        Returns
        -------
        ndarray of float64, shape (n, sphere_dimension)
            Unit vectors, the same bits on every machine.

        Raises
        ------
        ChainError
            If there is no such codeword.
        """
        different, which = np.unique(numbers, return_inverse=True)
        rows = [self.directions(number, number + 1) for number in different.tolist()]
        exact = np.concatenate([self.directions(0, 0), *rows]).astype(np.float64)
        unit: FloatArray = (exact / direction_norms(exact)[:, None])[which]
        return unit

    @property
    def _key(self) -> int:
        digest = hashlib.sha256(GENERATOR.encode() + self.seed).digest()
        return int.from_bytes(digest[:16], "little")


def direction_norms(directions: FloatArray) -> FloatArray:
    """Give the lengths of whole-number vectors.

    Parameters
    ----------
    directions : ndarray of float64, shape (n, sphere_dimension)
        Whole numbers; their squares add up to less than 2^53 exactly.

    Returns
    -------
    ndarray of float64, shape (n,)
        Correctly rounded square roots of exact sums; 1 for a vector of zeros.
    """
    squares = np.einsum("ij,ij->i", directions, directions)
    norms: FloatArray = np.sqrt(np.maximum(squares, 1.0))
    return norms


def _mix(quantiles: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """Combine four blocks of columns by a Hadamard matrix: still uncorrelated, better tails."""
    a, b, c, d = (quantiles[:, block] for block in range(4))
    sums = (a + b, a - b, c + d, c - d)
    mixed = [sums[0] + sums[2], sums[0] - sums[2], sums[1] + sums[3], sums[1] - sums[3]]
    return np.concatenate(mixed, axis=1)


@lru_cache(maxsize=1)
def _quantile_table() -> npt.NDArray[np.int16]:
    """Quantiles (i + 1/2) / 65536 of the normal distribution, in units of 1 / 1024."""
    from scipy.special import ndtri

    probabilities = (np.arange(_QUANTILES // 2) + 0.5) / _QUANTILES
    lower = np.rint(_QUANTILE_SCALE * ndtri(probabilities)).astype(np.int16)
    return np.concatenate([lower, -lower[::-1]])
