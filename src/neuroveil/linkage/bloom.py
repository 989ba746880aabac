"""Keyed Bloom encodings of whole records (cryptographic long-term keys).

Schnell, Bachteler and Reiher (2009) hash the pieces of a name into a Bloom filter; the record
level encoding (Schnell, Bachteler and Reiher 2011) puts all fields into one. Their double
hashing, h1 + i·h2 modulo the length, leaves patterns by which single pieces were read back
(Niedermeyer, Steinmetzer, Kroll and Schnell 2014). Here every position is drawn on its own from
HMAC-SHA256 of the piece under a key of its field.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError, PatientListError
from neuroveil.linkage.grams import canonical_value, cut_into_grams
from neuroveil.linkage.schema import FieldSection, LinkageSchema

BitArray = NDArray[np.uint8]
"""Packed bits, shape (n_records, n_bytes), most significant bit first."""

KEY_BYTES = 32
_POSITIONS_A_BLOCK = 16  # sixteen 16-bit numbers in one SHA-256
_BLOCK = 8_192  # records encoded at a time: bounds the memory, and fits the cache
_MOST_REMEMBERED = 1 << 18
_SHA256_BLOCK = 64
_PADS = tuple(bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


@dataclass(frozen=True)
class FieldKeys:
    """Secret keys of a project's fields, one each. Never printed.

    Parameters
    ----------
    keys : mapping of str to bytes
        32 bytes by field name.

    Raises
    ------
    LinkageError
        If a key has another length.
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


def canonical_records(
    records: Mapping[str, Sequence[object]],
    schema: LinkageSchema,
    lines: Sequence[int] | None = None,
) -> dict[str, list[str]]:
    """Bring the rows of a patient list into canonical form.

    Parameters
    ----------
    records : mapping of str to sequence
        Values by field name, one an entry and row; empty texts where a value is missing.
    schema : LinkageSchema
        Public settings.
    lines : sequence of int, optional
        Line of the file that each row stands on; by default the first row stands on line 2,
        as in a file with a header.

    Returns
    -------
    dict of str to list of str
        Canonical values by field name.

    Raises
    ------
    LinkageError
        If the fields have different numbers of values.
    PatientListError
        If values are not what the schema says: all of them, by field and line.
    """
    lengths = {len(records[field.name]) for field in schema.field}
    if len(lengths) != 1:
        raise LinkageError(
            "patient list", "as many values in every field", "different numbers",
            "Check the file for rows that are cut short.",
        )  # fmt: skip
    (n_records,) = lengths
    lines = range(2, n_records + 2) if lines is None else lines
    problems: list[LinkageError] = []
    order = schema.encoding.date_order
    canonical = {}
    for field in schema.field:
        known: dict[object, str] = {}  # lists repeat most of their values
        column = []
        for value, line in zip(records[field.name], lines, strict=True):
            found = known.get(value)
            if found is None:
                try:
                    found = canonical_value(value, field.kind, order, f"{field.name}, line {line}")
                    known[value] = found
                except LinkageError as error:
                    problems.append(error)
                    found = ""
            column.append(found)
        canonical[field.name] = column
    if problems:
        raise PatientListError(problems)
    return canonical


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
    PatientListError
        If values are not what the schema says: all of them, by field and line; the line of
        the first row is 2, as in a file with a header.
    """
    return encode_canonical(canonical_records(records, schema), schema, keys)


def encode_canonical(
    canonical: Mapping[str, Sequence[str]],
    schema: LinkageSchema,
    keys: FieldKeys,
    progress: Callable[[int, int], None] | None = None,
) -> BitArray:
    """Encode rows that are in canonical form already.

    Parameters
    ----------
    canonical : mapping of str to sequence of str
        As :func:`canonical_records` gives them.
    schema : LinkageSchema
        Public settings.
    keys : FieldKeys
        Secret keys.
    progress : callable, optional
        Called with (records done, records).

    Returns
    -------
    ndarray of uint8, shape (n_records, length / 8)
        Packed bits, in the order of the rows.

    Raises
    ------
    LinkageError
        If a field has no key.
    """
    missing = [field.name for field in schema.field if field.name not in keys.keys]
    if missing:
        raise LinkageError(
            "field keys", f"a key for the field {missing[0]}", "none",
            "Derive the keys with the schema at hand.",
        )  # fmt: skip
    length, counts = schema.encoding.length, bits_a_gram(schema)
    fields = [
        (field, _Positions(keys.keys[field.name], counts[field.name], length))
        for field in schema.field
    ]
    n_records = len(next(iter(canonical.values()), ()))
    salts = canonical.get(schema.encoding.salt_field)
    packed = np.zeros((n_records, length // 8), dtype=np.uint8)
    for start in range(0, n_records, _BLOCK):
        stop = min(start + _BLOCK, n_records)
        bits = np.zeros((stop - start, length), dtype=np.bool_)
        block_salts = salts[start:stop] if salts else None
        for field, positions in fields:
            _set_bits(bits, canonical[field.name][start:stop], block_salts, field, positions)
        packed[start:stop] = np.packbits(bits, axis=1)
        if progress is not None:
            progress(stop, n_records)
    return packed


def _set_bits(
    bits: NDArray[np.bool_],
    values: Sequence[str],
    salts: Sequence[str] | None,
    field: FieldSection,
    positions: _Positions,
) -> None:
    """Set the bits of one field in a block of rows."""
    if salts is None:
        numbers = [positions.of_value("", value, field) for value in values]
    else:
        numbers = [
            positions.of_value(salt, value, field)
            for salt, value in zip(salts, values, strict=True)
        ]
    n_grams = np.fromiter(map(len, numbers), np.intp, len(numbers))
    grams = np.fromiter(chain.from_iterable(numbers), np.intp, int(n_grams.sum()))
    rows = np.repeat(np.arange(len(numbers)), n_grams)
    bits[rows[:, np.newaxis], positions.table()[grams]] = True
    positions.forget_if_many()


class _Positions:
    """The positions that pieces of one field set; remembers those that it has drawn."""

    def __init__(self, key: bytes, count: int, length: int) -> None:
        self._inner, self._outer = (
            hashlib.sha256(key.ljust(_SHA256_BLOCK, b"\0").translate(pad)) for pad in _PADS
        )
        self.count = count
        self.length = length
        self.n_blocks = -(-count // _POSITIONS_A_BLOCK)
        self.numbers: dict[str, dict[str, int]] = {}  # by salt, then by piece
        self.values: dict[tuple[str, str], tuple[int, ...]] = {}
        self.drawn: list[bytes] = []

    def of_value(self, salt: str, value: str, field: FieldSection) -> tuple[int, ...]:
        """Give the numbers of a value's pieces, which are rows of :meth:`table`."""
        found = self.values.get((salt, value))
        if found is None:
            numbers = self.numbers.setdefault(salt, {})
            grams = cut_into_grams(value, field.kind)
            for gram in grams:
                if gram not in numbers:
                    numbers[gram] = len(self.drawn)
                    self.drawn.append(self._draw(f"{salt}\x1f{gram}\x1f".encode()))
            found = self.values[salt, value] = tuple([numbers[gram] for gram in grams])
        return found

    def table(self) -> NDArray[np.uint16]:
        """Positions by number of a piece, shape (n_pieces, count)."""
        drawn = np.frombuffer(b"".join(self.drawn), dtype=">u2")
        drawn = drawn.reshape(-1, self.n_blocks * _POSITIONS_A_BLOCK)[:, : self.count]
        # The length divides 2^16, so the remainder is uniform.
        return (drawn % self.length).astype(np.uint16)

    def forget_if_many(self) -> None:
        """Bound the memory that large lists take."""
        if len(self.drawn) + len(self.values) > _MOST_REMEMBERED:
            self.numbers, self.values, self.drawn = {}, {}, []

    def _draw(self, message: bytes) -> bytes:
        """Draw a piece's positions: HMAC-SHA256 of it, block by block."""
        return b"".join([self._hmac(message + bytes([block])) for block in range(self.n_blocks)])

    def _hmac(self, message: bytes) -> bytes:
        """RFC 2104 with the key's two blocks hashed once: a third of the standard module's time."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()
