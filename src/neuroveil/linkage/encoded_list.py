"""What one hospital hands to the linkage unit: GlobalIDs and record encodings, row by row.

The file is Parquet. Its metadata say under which schema, version of encoding and key it was
made, so that two files are compared only if they can be. It holds pseudonyms of patients: it
goes to the linkage unit and nowhere else, and stands in no release.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.global_id import parse_global_id
from neuroveil.linkage.identifiers import ENCODING_VERSION
from neuroveil.linkage.matching import SiteList
from neuroveil.linkage.private_files import write_private
from neuroveil.linkage.schema import LinkageSchema

ENCODED_FORMAT = "neuroveil-encoded-patients"

_FORMAT_VERSION = 1
_METADATA = b"neuroveil.linkage"
_IDS, _PREVIOUS, _BITS = "global_id", "previous_global_id", "encoding"


@dataclass(frozen=True)
class MadeWith:
    """What must be alike before two lists are compared.

    Parameters
    ----------
    schema_digest : str
        Digest of the linkage schema.
    encoding_version : int
        Version of the rules of encoding.
    key_id : str
        Public name of the linkage key.
    previous_key_id : str
        Name of the key that previous GlobalIDs were made with; empty for none.
    """

    schema_digest: str
    encoding_version: int
    key_id: str
    previous_key_id: str = ""


@dataclass(frozen=True, eq=False)
class EncodedList:
    """An encoded patient list.

    Parameters
    ----------
    made_with : MadeWith
        Schema, version and key.
    bits : ndarray of uint8, shape (n_records, n_bytes), or None
        Hardened record encodings.
    global_ids : tuple of str or None
        One a row; empty where a patient has no number.
    previous_ids : tuple of str or None
        The same under the previous key, while a rotation is under way.
    """

    made_with: MadeWith
    bits: BitArray | None
    global_ids: tuple[str, ...] | None
    previous_ids: tuple[str, ...] | None = None

    @property
    def n_records(self) -> int:
        """Number of rows."""
        return len(self.bits) if self.bits is not None else len(self.global_ids or ())

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all rows in their order; it stays inside the trusted environment."""
        texts = [asdict(self.made_with), self.global_ids, self.previous_ids]
        digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode())
        if self.bits is not None:
            digest.update(f"{self.bits.shape}".encode())
            digest.update(np.ascontiguousarray(self.bits).data)
        return digest.hexdigest()

    def take(self, rows: NDArray[np.int64]) -> EncodedList:
        """Select rows.

        Parameters
        ----------
        rows : ndarray of int64, shape (n_kept,)
            Row numbers.

        Returns
        -------
        EncodedList
            Those rows, in the order given.
        """

        def texts(ids: tuple[str, ...] | None) -> tuple[str, ...] | None:
            return None if ids is None else tuple(ids[row] for row in rows.tolist())

        bits = None if self.bits is None else self.bits[rows]
        return EncodedList(self.made_with, bits, texts(self.global_ids), texts(self.previous_ids))

    def site_list(self) -> SiteList:
        """Give the rows as matching takes them.

        Returns
        -------
        SiteList
            Encodings and current GlobalIDs.
        """
        return SiteList(self.bits, self.global_ids)


def write_encoded(path: Path, encoded: EncodedList) -> None:
    """Write an encoded list to a new file that only its owner can read.

    Parameters
    ----------
    path : Path
        A Parquet file that does not exist yet.
    encoded : EncodedList
        What is written.

    Raises
    ------
    LinkageError
        If the file exists or cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {}
    if encoded.global_ids is not None:
        columns[_IDS] = pa.array(encoded.global_ids, pa.string())
    if encoded.previous_ids is not None:
        columns[_PREVIOUS] = pa.array(encoded.previous_ids, pa.string())
    if encoded.bits is not None:
        width = encoded.bits.shape[1]
        buffers = [None, pa.py_buffer(np.ascontiguousarray(encoded.bits).tobytes())]
        columns[_BITS] = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width), len(encoded.bits), buffers
        )
    about = {
        "format": ENCODED_FORMAT, "format_version": _FORMAT_VERSION, **asdict(encoded.made_with)
    }  # fmt: skip
    table = pa.table(columns).replace_schema_metadata({_METADATA: json.dumps(about)})
    stream = io.BytesIO()
    pq.write_table(table, stream)
    write_private(path, stream.getvalue(), "encoded patient list")


def read_encoded(path: Path, role: str = "encoded patient list") -> EncodedList:
    """Read an encoded list.

    Parameters
    ----------
    path : Path
        As :func:`write_encoded` wrote it.
    role : str
        What it is, for errors.

    Returns
    -------
    EncodedList
        Its rows.

    Raises
    ------
    LinkageError
        If it is another file, was made by another version, mixes keys or versions, or holds
        an encoding without a single bit.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(path.read_bytes()), use_threads=False)
        about = json.loads((table.schema.metadata or {})[_METADATA])
        if about["format"] != ENCODED_FORMAT or about["format_version"] != _FORMAT_VERSION:
            raise ValueError
        names = MadeWith.__dataclass_fields__
        made_with = MadeWith(**{name: about[name] for name in names})
        encoded = EncodedList(
            made_with, _bits(table), _texts(table, _IDS), _texts(table, _PREVIOUS)
        )
    except FileNotFoundError:
        raise _not_read(role, "no such file") from None
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        raise _not_read(role, "another file, or a changed one") from None
    _require_sound(encoded, role)
    return encoded


def require_alike(one: EncodedList, other: EncodedList, schema: LinkageSchema) -> None:
    """Refuse lists that cannot be compared.

    Parameters
    ----------
    one, other : EncodedList
        Two hospitals' lists.
    schema : LinkageSchema
        What they should have been made with.

    Raises
    ------
    LinkageError
        If they were made with another schema, version of encoding, or key.
    """
    for number, encoded in enumerate((one, other), 1):
        if encoded.made_with.schema_digest != schema.digest:
            raise LinkageError(
                f"encoded list {number}", "the schema at hand", "another one",
                "Encode again with the project's schema; only columns, the order of dates and "
                "thresholds may differ.",
            )  # fmt: skip
    if one.made_with.encoding_version != other.made_with.encoding_version:
        raise LinkageError(
            "encoded lists", "one version of encoding",
            f"{one.made_with.encoding_version} and {other.made_with.encoding_version}",
            "Encode the older one again.",
        )  # fmt: skip
    if one.made_with.key_id != other.made_with.key_id:
        raise LinkageError(
            "encoded lists", "one linkage key", "two keys",
            "Compare the key ids with the project's, and encode again with the current key.",
        )  # fmt: skip


def _not_read(role: str, found: str) -> LinkageError:
    return LinkageError(
        role, "encoded.parquet as `neuroveil link encode` writes it", found,
        "Name the folder in which each hospital's encoded.parquet lies.",
    )  # fmt: skip


def _bits(table: Any) -> BitArray | None:
    import pyarrow as pa

    if _BITS not in table.column_names:
        return None
    column = table.column(_BITS)
    if not pa.types.is_fixed_size_binary(column.type) or column.null_count:
        raise ValueError
    raw = b"".join(column.to_pylist())
    return np.frombuffer(raw, dtype=np.uint8).reshape(-1, column.type.byte_width)


def _texts(table: Any, name: str) -> tuple[str, ...] | None:
    import pyarrow as pa

    if name not in table.column_names:
        return None
    column = table.column(name)
    if not pa.types.is_string(column.type) or column.null_count:
        raise ValueError
    return tuple(column.to_pylist())


def _require_sound(encoded: EncodedList, role: str) -> None:
    """Refuse rows that do not say what the metadata say."""
    made = encoded.made_with
    if made.encoding_version != ENCODING_VERSION:
        raise LinkageError(
            role, f"version {ENCODING_VERSION} of encoding", f"version {made.encoding_version}",
            "Encode the list again with this version of neuroveil.",
        )  # fmt: skip
    columns = ((encoded.global_ids, made.key_id), (encoded.previous_ids, made.previous_key_id))
    for ids, key_id in columns:
        for row, each in enumerate(ids or (), 1):
            found = parse_global_id(each, f"{role}, row {row}") if each else None
            if found and (found.encoding_version, found.key_id) != (made.encoding_version, key_id):
                raise LinkageError(
                    f"{role}, row {row}", "the version and key id of the whole file",
                    "another one", "Encode the list again; lists cannot be put together by hand.",
                )  # fmt: skip
    if encoded.bits is not None:
        empty = np.flatnonzero(~encoded.bits.any(axis=1))
        if len(empty):
            raise LinkageError(
                f"{role}, row {empty[0] + 1}", "an encoding with bits", "one without any",
                "Encode the list again: patients without any value are refused there.",
            )  # fmt: skip
