"""Steps that make patterns in encodings harder to read back.

Every step keeps records that were alike alike, more or less, so matching still works, with a
threshold learned anew. What each one costs in accuracy and wins against our own attacks is
measured in ``docs/measured/linkage-attacks.json``.

- ``xor_fold`` (Schnell and Borgs 2016): the second half on the first, exclusive or.
- ``rule_90`` (Schnell and Borgs 2018, after Wolfram): each bit becomes the exclusive or of its
  two neighbours, in a ring.
- ``sliding_xor`` (after Ranbaduge and Schnell 2020): each bit and the next one, in a ring.
- ``diffusion`` (Armknecht, Heng and Schnell 2023): each bit becomes the exclusive or of three
  bits at secret places.
- ``blip`` (Alaggan, Gambs and Kermarrec 2012): each bit flips with a small probability. Its
  epsilon is **for one bit**. A record has hundreds of bits that all rest on the same person,
  so it is no differential privacy of the record and is never called that.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import KEY_BYTES, BitArray
from neuroveil.linkage.schema import Hardening, LinkageSchema

DIFFUSION_TERMS = 3
"""Bits in each exclusive or; Armknecht, Heng and Schnell find 3 enough against their attacks."""

_ROWS = 8192  # unpacked at a time: bounds the memory
Unpacked = NDArray[np.uint8]


@dataclass(frozen=True)
class HardeningKeys:
    """Secrets of the steps that need one. Never printed.

    Parameters
    ----------
    diffusion : bytes
        32 bytes that all sites share, derived from the linkage key: it draws the secret places.
    noise : bytes
        32 bytes of this site alone, drawn once and kept: it draws the noise of ``blip``. With
        the same key the same record always gets the same noise, so encoding it again gives
        nobody a second look.

    Raises
    ------
    LinkageError
        If a key has another length.
    """

    diffusion: bytes
    noise: bytes

    def __post_init__(self) -> None:
        if len(self.diffusion) != KEY_BYTES or len(self.noise) != KEY_BYTES:
            raise LinkageError(
                "hardening keys", f"{KEY_BYTES} bytes each", "another length",
                "Derive one from the linkage key, and draw the other once at this site.",
            )  # fmt: skip

    def __repr__(self) -> str:
        return "HardeningKeys(2 keys)"


def hardened_length(schema: LinkageSchema) -> int:
    """Give the length of an encoding after its hardening.

    Parameters
    ----------
    schema : LinkageSchema
        Public settings.

    Returns
    -------
    int
        Bits; folding halves them.
    """
    return schema.encoding.length >> schema.encoding.hardening.count("xor_fold")


def blip_epsilon_per_bit(flip: float) -> float:
    """Say how well one flipped bit hides its value.

    Parameters
    ----------
    flip : float
        Probability of a flip, between 0 and 1/2.

    Returns
    -------
    float
        Epsilon of a single bit, ln((1 - flip)/flip). It says nothing about a record.
    """
    return math.log((1.0 - flip) / flip)


def harden(
    bits: BitArray,
    schema: LinkageSchema,
    keys: HardeningKeys | None = None,
    records: Sequence[str] | None = None,
) -> BitArray:
    """Apply the schema's steps in their order.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_records, length / 8)
        Packed bits from :func:`~neuroveil.linkage.bloom.encode_records`.
    schema : LinkageSchema
        Public settings.
    keys : HardeningKeys, optional
        Needed for ``diffusion`` and ``blip``.
    records : sequence of str, optional
        Local key of each record. With it ``blip`` gives two people with the same encoding
        noise of their own, so that their encodings no longer repeat; without it they share it.

    Returns
    -------
    ndarray of uint8, shape (n_records, hardened_length / 8)
        Packed bits; the input itself where the schema has no step.

    Raises
    ------
    LinkageError
        If the encodings have another length, or a key is missing.
    """
    encoding = schema.encoding
    if bits.ndim != 2 or bits.shape[1] * 8 != encoding.length:
        raise LinkageError(
            "encodings", f"{encoding.length} bits a record", f"shape {bits.shape}",
            "Encode the records with this schema, and harden them once.",
        )  # fmt: skip
    if not encoding.hardening:
        return bits
    if keys is None and {"diffusion", "blip"} & set(encoding.hardening):
        raise LinkageError(
            "hardening keys", "keys for diffusion and blip", "none",
            "Derive them from the linkage key.",
        )  # fmt: skip
    if records is not None and len(records) != len(bits):
        raise LinkageError(
            "local keys", f"one for each of {len(bits)} records", f"{len(records)}",
            "Give the keys of these very records.",
        )  # fmt: skip
    hardened = np.empty((len(bits), hardened_length(schema) // 8), dtype=np.uint8)
    for start in range(0, len(bits), _ROWS):
        block = np.unpackbits(bits[start : start + _ROWS], axis=1)
        names = None if records is None else records[start : start + _ROWS]
        for step in encoding.hardening:
            if step == "blip":
                assert keys is not None
                block ^= _permanent_noise(block, encoding.blip_flip, keys.noise, names)
            else:
                block = _apply(step, block, keys)
        hardened[start : start + _ROWS] = np.packbits(block, axis=1)
    return hardened


def _apply(step: Hardening, bits: Unpacked, keys: HardeningKeys | None) -> Unpacked:
    if step == "xor_fold":
        half = bits.shape[1] // 2
        return bits[:, :half] ^ bits[:, half:]
    if step == "rule_90":
        return np.roll(bits, 1, axis=1) ^ np.roll(bits, -1, axis=1)
    if step == "sliding_xor":
        return bits ^ np.roll(bits, -1, axis=1)
    assert keys is not None
    places = diffusion_places(keys.diffusion, bits.shape[1])
    mixed = bits[:, places[0]]
    for term in places[1:]:
        mixed = mixed ^ bits[:, term]
    return mixed


def diffusion_places(key: bytes, length: int) -> NDArray[np.intp]:
    """Draw the secret places whose bits are mixed.

    Parameters
    ----------
    key : bytes
        Shared by all sites.
    length : int
        Bits of an encoding, a power of two.

    Returns
    -------
    ndarray of intp, shape (3, length)
        Three different places for each bit. Each row is a permutation, so every bit of the
        encoding goes into exactly three bits and none is lost.
    """
    taken: list[NDArray[np.intp]] = []
    for term in range(DIFFUSION_TERMS):
        message = b"neuroveil diffusion\x1f" + key + bytes([term])
        stream = hashlib.shake_256(message).digest(8 * length)
        order = np.argsort(np.frombuffer(stream, dtype=">u8"), kind="stable")
        taken.append(_moved_apart(order, taken))
    return np.stack(taken)


def _moved_apart(order: NDArray[np.intp], taken: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Exchange entries of a permutation until it differs from the earlier ones everywhere."""

    def clashes(index: int, value: int) -> bool:
        return any(int(earlier[index]) == value for earlier in taken)

    length = len(order)
    for index in range(length):
        step = 1
        while clashes(index, int(order[index])):
            other = (index + step) % length
            here, there = int(order[index]), int(order[other])
            if not clashes(index, there) and not clashes(other, here):
                order[index], order[other] = there, here
            step += 1
    return order


def _permanent_noise(
    bits: Unpacked, flip: float, key: bytes, records: Sequence[str] | None
) -> Unpacked:
    """Draw a record's flips from a keyed random function of the record itself.

    The probability is rounded to a multiple of 2^-16, and is at least that.
    """
    n_records, length = bits.shape
    limit = max(1, round(flip * 65536))
    noise = np.empty((n_records, length), dtype=np.uint8)
    for row, record in enumerate(np.packbits(bits, axis=1)):
        name = b"" if records is None else records[row].encode()
        message = b"neuroveil blip\x1f" + key + record.tobytes() + name
        stream = hashlib.shake_256(message).digest(2 * length)
        noise[row] = np.frombuffer(stream, dtype=">u2") < limit
    return noise
