"""Keyed Bloom encodings of whole records (cryptographic long-term keys).

Schnell, Bachteler and Reiher (2009) hash the pieces of a name into a Bloom filter; the record
level encoding (Schnell, Bachteler and Reiher 2011) puts all fields into one. Their double
hashing, h1 + i·h2 modulo the length, leaves patterns by which single pieces were read back
(Niedermeyer, Steinmetzer, Kroll and Schnell 2014). Here every position is drawn on its own from
HMAC-SHA256 of the piece under a key of its field.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError
from neuroveil.linkage.grams import canonical_value, cut_into_grams
from neuroveil.linkage.schema import LinkageSchema

BitArray = NDArray[np.uint8]
"""Packed bits, shape (n_records, n_bytes), most significant bit first."""

KEY_BYTES = 32
_POSITIONS_A_BLOCK = 16  # sixteen 16-bit numbers in one SHA-256
_BLOCK = 65_536  # records encoded at a time: bounds the memory


@dataclass(frozen=True)
class FieldKeys:
    """Secret keys of a project's fields, one each. Never printed.

    Parameters
    ----------
    keys : mapping of str to bytes
        32 bytes by field name.
    """

    keys: Mapping[str, bytes]

    def __post_init__(self) -> None:
        if any(len(key) != KEY_BYTES for key in self.keys.values()):
            raise LinkageError(
                "field keys", f"{KEY_BYTES} bytes each", "another length",
                "Derive them from the project's linkage key.",
            )  # fmt: skip

    def __repr__(self) -> str:
        return f"FieldKeys({len(self.keys)} fields)"


def bits_a_gram(schema: LinkageSchema) -> dict[str, int]:
    """Say how many positions a piece of each field sets.

    Parameters
    ----------
    schema : LinkageSchema
        Public settings.

    Returns
    -------
    dict of str to int
        By field name, at least 1: in proportion to the weights, and so many that a record of
        typical length sets the wanted share of bits. With m positions drawn at random from L,
        1 - (1 - 1/L)^m of the bits are set.
    """
    length, fill = schema.encoding.length, schema.encoding.fill
    wanted = math.log1p(-fill) / math.log1p(-1.0 / length)
    weighted = sum(field.weight * field.typical_grams for field in schema.field)
    if not weighted:
        return {}
    return {field.name: max(1, round(wanted * field.weight / weighted)) for field in schema.field}


def encode_records(
    records: Mapping[str, Sequence[object]], schema: LinkageSchema, keys: FieldKeys
) -> BitArray:
    """Encode the rows of a patient list, before any hardening.

    Parameters
    ----------
    records : mapping of str to sequence
        Values by field name, one an entry and row; empty texts where a value is missing.
    schema : LinkageSchema
        Public settings.
    keys : FieldKeys
        Secret keys.

    Returns
    -------
    ndarray of uint8, shape (n_records, length / 8)
        Packed bits, in the order of the rows.

    Raises
    ------
    LinkageError
        If a value is not what the schema says, by field and line; the line of the first row
        is 2, as in a file with a header.
    """
    names = [field.name for field in schema.field]
    lengths = {len(records[name]) for name in names}
    if len(lengths) != 1:
        raise LinkageError(
            "patient list", "as many values in every field", "different numbers",
            "Check the file for rows that are cut short.",
        )  # fmt: skip
    (n_records,) = lengths
    encoder = _Encoder(schema, keys)
    blocks = [
        encoder.encode({name: records[name][start : start + _BLOCK] for name in names}, start)
        for start in range(0, n_records, _BLOCK)
    ]
    return np.concatenate(blocks) if blocks else np.zeros((0, schema.encoding.length // 8), "u1")


class _Encoder:
    """Remembers the positions of pieces it has met: lists repeat most of them."""

    def __init__(self, schema: LinkageSchema, keys: FieldKeys) -> None:
        missing = [field.name for field in schema.field if field.name not in keys.keys]
        if missing:
            raise LinkageError(
                "field keys", f"a key for the field {missing[0]}", "none",
                "Derive the keys with the schema at hand.",
            )  # fmt: skip
        self.schema = schema
        self.keys = keys
        self.counts = bits_a_gram(schema)
        self.known: dict[tuple[str, str, str], NDArray[np.uint16]] = {}

    def encode(self, records: Mapping[str, Sequence[object]], first: int) -> BitArray:
        """Encode one block; ``first`` is the index of its first row in the list."""
        values = {
            field.name: [
                canonical_value(
                    value, field.kind, self.schema.encoding.date_order,
                    f"{field.name}, line {first + index + 2}",
                )
                for index, value in enumerate(records[field.name])
            ]
            for field in self.schema.field
        }  # fmt: skip
        n_records = len(next(iter(values.values())))
        salts = values.get(self.schema.encoding.salt_field, [""] * n_records)
        bits = np.zeros((n_records, self.schema.encoding.length), dtype=np.bool_)
        for row, salt in enumerate(salts):
            positions = [
                self._positions(field.name, salt, gram)
                for field in self.schema.field
                for gram in cut_into_grams(values[field.name][row], field.kind)
            ]
            if positions:
                bits[row, np.concatenate(positions)] = True
        return np.packbits(bits, axis=1)

    def _positions(self, field: str, salt: str, gram: str) -> NDArray[np.uint16]:
        """Give the positions that one piece sets, drawn by a keyed random function."""
        name = (field, salt, gram)
        found = self.known.get(name)
        if found is None:
            count = self.counts[field]
            message = f"{salt}\x1f{gram}\x1f".encode()
            blocks = b"".join(
                hmac.digest(self.keys.keys[field], message + bytes([block]), "sha256")
                for block in range(-(-count // _POSITIONS_A_BLOCK))
            )
            # The length divides 2^16, so the remainder is uniform.
            found = np.frombuffer(blocks, dtype=">u2")[:count] % self.schema.encoding.length
            found = found.astype(np.uint16)
            self.known[name] = found
        return found
