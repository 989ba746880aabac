"""Read the plainest Parquet there is: no compression, no dictionaries, no missing values.

People load a release from its ``.parquet`` file, so what it holds has to be compared with the
``.csv`` file that was checked. That takes no library for the form in which releases are
written: the format's thrift records (compact protocol) and pages of plain values. Anything
else that Parquet can do is refused.
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

LARGEST_FILE = 4 << 30
_MAGIC = b"PAR1"
_DEEPEST = 16
_DOUBLE, _BYTE_ARRAY = 5, 6
_TEXT = 0
_PLAIN, _UNCOMPRESSED, _DATA_PAGE = 0, 0, 0
_REQUIRED, _OPTIONAL = 0, 1

Column: TypeAlias = "array[float] | list[str]"  # arrays take no brackets before Python 3.12


class ParquetError(Exception):
    """A file is not Parquet in the plain form of releases."""


def read_columns(path: Path) -> dict[str, Column]:
    """Read all columns.

    Parameters
    ----------
    path : Path
        A Parquet file.

    Returns
    -------
    dict of str to array or list
        Doubles (an array) or text (a list) of every row by column name, in the order of the
        file.

    Raises
    ------
    ParquetError
        If the file is not of the plain form.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ParquetError("too large")
        return _columns_of(path.read_bytes())
    except (
        OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError,
        struct.error,
    ) as error:  # fmt: skip
        raise ParquetError(type(error).__name__) from None


def _columns_of(data: bytes) -> dict[str, Column]:
    if data[:4] != _MAGIC or data[-4:] != _MAGIC or len(data) < 12:
        raise ParquetError("no Parquet")
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    if start < len(_MAGIC):
        raise ParquetError("no footer")
    footer = _Thrift(data, start).record()
    fields = [_field_of(element) for element in _schema_of(footer)]
    found: dict[str, Column] = {
        field.name: array("d") if field.kind == _DOUBLE else [] for field in fields
    }
    if len(found) != len(fields):
        raise ParquetError("a name that stands twice")
    for group in footer[4]:
        _read_group(data, group, fields, found)
    if any(len(column) != footer[3] for column in found.values()):
        raise ParquetError("another number of rows")
    return found


@dataclass(frozen=True)
class _Field:
    name: str
    kind: int
    optional: bool


def _schema_of(footer: dict[int, Any]) -> list[dict[int, Any]]:
    root: dict[int, Any] = footer[2][0]
    elements: list[dict[int, Any]] = footer[2][1:]
    if root[5] != len(elements):
        raise ParquetError("nested columns")
    return elements


def _field_of(element: dict[int, Any]) -> _Field:
    """One flat column: doubles as they are, or text."""
    kind, repetition = element[1], element[3]
    is_text = kind == _BYTE_ARRAY and element.get(6) == _TEXT
    is_plain = kind == _DOUBLE and element.get(6) is None and element.get(10) is None
    if not (is_text or is_plain) or repetition not in {_REQUIRED, _OPTIONAL} or 5 in element:
        raise ParquetError("a column that is neither doubles nor text")
    return _Field(element[4].decode(), kind, repetition == _OPTIONAL)


def _read_group(
    data: bytes, group: dict[int, Any], fields: list[_Field], found: dict[str, Column]
) -> None:
    for chunk, field in zip(group[1], fields, strict=True):
        about = chunk[3]
        named = [part.decode() for part in about[3]]
        is_plain = about[4] == _UNCOMPRESSED and about.get(11) is None and chunk.get(1) is None
        if named != [field.name] or about[1] != field.kind or not is_plain:
            raise ParquetError("a column in another form")
        if about[5] != group[3]:
            raise ParquetError("another number of values")
        _read_pages(data, about[9], about[5], field, found[field.name])


def _read_pages(data: bytes, place: int, count: int, field: _Field, column: Column) -> None:
    if place < len(_MAGIC):
        raise ParquetError("a page outside the file")
    while count > 0:
        thrift = _Thrift(data, place)
        header = thrift.record()
        if header[1] != _DATA_PAGE or header[2] != header[3] or not 0 < header[5][1] <= count:
            raise ParquetError("a page of another kind")
        page = header[5]
        if page[2] != _PLAIN:
            raise ParquetError("values in another encoding")
        place = thrift.place + header[3]
        body = data[thrift.place : place]
        if len(body) != header[3] or header[3] < 0:
            raise ParquetError("a page that is cut off")
        if field.optional:
            body = _without_levels(body, page[1])
        _append(body, page[1], column)
        count -= page[1]


def _without_levels(body: bytes, count: int) -> bytes:
    """Take the definition levels off, which have to say that no value is missing."""
    size = int.from_bytes(body[:4], "little")
    levels, place, seen = body[4 : 4 + size], 0, 0
    if len(levels) != size:
        raise ParquetError("levels that are cut off")
    while seen < count:
        run, place = _varint(levels, place)
        if run & 1:  # eight levels a byte, the last byte may be padded
            n_bytes = run >> 1
            bits = int.from_bytes(levels[place : place + n_bytes], "little")
            here = min(8 * n_bytes, count - seen)
            if place + n_bytes > size or bits & ((1 << here) - 1) != (1 << here) - 1:
                raise ParquetError("a missing value")
            place += n_bytes
        else:
            here = run >> 1
            if here == 0 or levels[place] != 1:
                raise ParquetError("a missing value")
            place += 1
        seen += here
    return body[4 + size :]


def _append(body: bytes, count: int, column: Column) -> None:
    if isinstance(column, array):
        values = array("d", body)
        if sys.byteorder == "big":
            values.byteswap()
        if len(values) != count:
            raise ParquetError("another number of values")
        column.extend(values)
        return
    place = 0
    for _ in range(count):
        size = int.from_bytes(body[place : place + 4], "little")
        text = body[place + 4 : place + 4 + size]
        if place + 4 > len(body) or len(text) != size:
            raise ParquetError("a text that is cut off")
        column.append(text.decode())
        place += 4 + size
    if place != len(body):
        raise ParquetError("something behind the last text")


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, at most ten bytes."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ParquetError("a number without end")


class _Thrift:
    """Records of thrift's compact protocol: values by field number.

    Parameters
    ----------
    data : bytes
        Where they stand.
    place : int
        Where the record begins.
    """

    def __init__(self, data: bytes, place: int) -> None:
        self.data = data
        self.place = place

    def record(self, depth: int = 0) -> dict[int, Any]:
        """Read one record with everything in it."""
        found: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return found
            number = number + (head >> 4) if head >> 4 else self._signed()
            if number in found:
                raise ParquetError("a field that stands twice")
            kind = head & 0x0F
            found[number] = kind == 1 if kind in {1, 2} else self._value(kind, depth)

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _unsigned(self) -> int:
        value, self.place = _varint(self.data, self.place)
        return value

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ParquetError("nested too deeply")
        if kind in {1, 2, 3}:
            return self._byte()
        if kind in {4, 5, 6}:
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in {9, 10}:
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._unsigned()
            if size > len(self.data) - self.place:
                raise ParquetError("a list without end")
            return [self._value(head & 0x0F, depth + 1) for _ in range(size)]
        if kind == 12:
            return self.record(depth + 1)
        raise ParquetError("a value of an unknown kind")

    def _bytes(self, size: int) -> bytes:
        found = self.data[self.place : self.place + size]
        if len(found) != size:
            raise ParquetError("a value that is cut off")
        self.place += size
        return found
