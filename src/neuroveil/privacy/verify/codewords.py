"""Codewords from their public seed, in whole numbers, by the definition in the contract.

The words of the counter-based generator Philox4x64-10 (Salmon et al. 2011) under a key made
from the seed select normal quantiles in whole numbers; sums and differences of four of them
are the entries of a direction, and a codeword is its direction divided by its length.
"""

from __future__ import annotations

import hashlib
import math
from functools import cache
from statistics import NormalDist

_LABEL = b"neuroveil codebook 1"
_ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_WORD = (1 << 64) - 1
_QUANTILES = 1 << 16
_SCALE = 1024
_ENTRIES_A_BLOCK = 16


def key_of(seed: bytes) -> tuple[int, int]:
    """Key of the generator: the first 16 bytes of SHA-256 over a label and the seed.

    Parameters
    ----------
    seed : bytes
        16 bytes.

    Returns
    -------
    tuple of int
        Two words of 64 bits, least significant first.
    """
    digest = hashlib.sha256(_LABEL + seed).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


def philox(counter: int, key: tuple[int, int]) -> tuple[int, int, int, int]:
    """One block of Philox4x64-10.

    Parameters
    ----------
    counter : int
        Counter, below 2^256.
    key : tuple of int
        Two words of 64 bits.

    Returns
    -------
    tuple of int
        Four words of 64 bits.
    """
    a, b, c, d = (counter >> shift & _WORD for shift in (0, 64, 128, 192))
    first, second = key
    for _ in range(_ROUNDS):
        left, right = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (
            right >> 64 ^ b ^ first, right & _WORD, left >> 64 ^ d ^ second, left & _WORD,
        )  # fmt: skip
        first, second = first + _WEYL[0] & _WORD, second + _WEYL[1] & _WORD
    return a, b, c, d


@cache
def quantile_table() -> tuple[int, ...]:
    """Quantiles (i + 1/2) / 65536 of the normal law in units of 1/1024, whole numbers.

    Returns
    -------
    tuple of int
        65,536 entries, rising. No quantile lies within 1e-6 of a half, so the error of
        double precision (below 1e-11) never decides how one is rounded.
    """
    law = NormalDist()
    half = _QUANTILES // 2
    lower = [round(_SCALE * law.inv_cdf((i + 0.5) / _QUANTILES)) for i in range(half)]
    return (*lower, *(-value for value in reversed(lower)))


def direction(seed: bytes, number: int, sphere_dimension: int) -> list[int]:
    """Direction of one codeword, in whole numbers.

    Parameters
    ----------
    seed : bytes
        Public seed, 16 bytes.
    number : int
        Number of the codeword, from 0.
    sphere_dimension : int
        D, number of entries.

    Returns
    -------
    list of int
        D entries.
    """
    blocks = -(-sphere_dimension // _ENTRIES_A_BLOCK)
    key, table = key_of(seed), quantile_table()
    quantiles = [
        table[word >> shift & 0xFFFF]
        for counter in range(number * blocks + 1, (number + 1) * blocks + 1)
        for word in philox(counter, key)
        for shift in (0, 16, 32, 48)
    ]
    quarter = 4 * blocks
    parts = [quantiles[start : start + quarter] for start in range(0, 4 * quarter, quarter)]
    signs = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
    mixed = [
        a + s * b + t * c + u * d for s, t, u in signs for a, b, c, d in zip(*parts, strict=True)
    ]
    return mixed[:sphere_dimension]


def decoded(seed: bytes, number: int, sphere_dimension: int, decoding_scale: float) -> list[float]:
    """Row that a message stands for, up to the lifted entry, bit for bit.

    Parameters
    ----------
    seed : bytes
        Public seed, 16 bytes.
    number : int
        Number of the codeword, from 0.
    sphere_dimension : int
        D, one more than the row has columns.
    decoding_scale : float
        C / m, the length of a decoded codeword (no unit).

    Returns
    -------
    list of float
        D - 1 values: each entry divided by the length, and then multiplied by the scale.
    """
    entries = direction(seed, number, sphere_dimension)
    length = math.sqrt(max(sum(entry * entry for entry in entries), 1))
    return [entry / length * decoding_scale for entry in entries[:-1]]
