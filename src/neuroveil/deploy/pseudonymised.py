"""What a hospital sends to a trusted server: GlobalIDs, and one row of features for each.

Both are Parquet files with exactly the columns that are named here. There is no name in them,
no patient number and no date; a label only where the study declares one. Files that a reader would
have to unfold (compressed pages, dictionaries, shared prefixes) are refused, so that what is read
is no larger than what was sent.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from neuroveil.errors import LinkageError, RecordingError
from neuroveil.linkage.global_id import parse_global_id
from neuroveil.types.catalogue import Column
from neuroveil.types.recording import FloatArray
from neuroveil.types.table import FeatureTable

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["roster", "features"]
KINDS: tuple[Kind, ...] = ("roster", "features")

ID, WINDOWS, SECONDS, LABEL = "global_id", "n_windows", "seconds", "label"
BESIDE = (ID, WINDOWS, SECONDS)
"""Columns that stand before the features; ``label`` follows them where the study declares one."""

POSITIVE, NEGATIVE, UNKNOWN = 1, 0, -1
"""Labels as they are sent."""

IntLabels = npt.NDArray[np.int8]

_MOST_WINDOWS = 10**9
_LARGEST_VALUE = 1e100  # far from any EEG, and from overflow when rows are pooled and scaled
_FLAT = {"PLAIN", "RLE"}


@dataclass(frozen=True, eq=False, repr=False)
class SentRows:
    """A hospital's pseudonymised rows. Inside the trusted environment only.

    Parameters
    ----------
    global_ids : tuple of str
        One a row, each once.
    values : ndarray of float64, shape (n_patients, n_features)
        Features in the columns' units, on the linear scale; NaN marks a missing cell.
    n_windows : ndarray of int64, shape (n_patients,)
        Kept windows that each row rests on.
    seconds : ndarray of float64, shape (n_patients,)
        Recorded time that each row rests on, in seconds.
    labels : ndarray of int8, shape (n_patients,), optional
        1 positive, 0 negative, -1 unknown; where the study declares a label.
    """

    global_ids: tuple[str, ...]
    values: FloatArray
    n_windows: npt.NDArray[np.int64]
    seconds: FloatArray
    labels: IntLabels | None = None

    def in_order_of(self, roster: Sequence[str], columns: tuple[Column, ...]) -> FeatureTable:
        """Give the rows in the order of a roster, under row numbers instead of GlobalIDs.

        Parameters
        ----------
        roster : sequence of str
            The same GlobalIDs.
        columns : tuple of Column
            What the values are.

        Returns
        -------
        FeatureTable
            Private.

        Raises
        ------
        RecordingError
            If somebody is on the roster and has no row, or the other way round.
        """
        rows = self._rows_of(roster)
        return FeatureTable(
            patients=tuple(map(str, range(len(rows)))), columns=columns,
            values=self.values[rows], n_windows=self.n_windows[rows], seconds=self.seconds[rows],
        )  # fmt: skip

    def labels_in_order_of(self, roster: Sequence[str]) -> IntLabels:
        """Give the labels in the order of a roster.

        Parameters
        ----------
        roster : sequence of str
            The same GlobalIDs.

        Returns
        -------
        ndarray of int8, shape (n_patients,)
            All unknown where none were sent. Private.

        Raises
        ------
        RecordingError
            If somebody is on the roster and has no row, or the other way round.
        """
        rows = self._rows_of(roster)
        if self.labels is None:
            return np.full(len(rows), UNKNOWN, dtype=np.int8)
        return self.labels[rows]

    def _rows_of(self, roster: Sequence[str]) -> npt.NDArray[np.int64]:
        place = {each: row for row, each in enumerate(self.global_ids)}
        if len(roster) != len(place) or not place.keys() == set(roster):
            raise malformed("one row for each patient of the closed roster", "other patients")
        return np.array([place[each] for each in roster], dtype=np.int64)


def roster_bytes(global_ids: Sequence[str]) -> bytes:
    """Write a roster.

    Parameters
    ----------
    global_ids : sequence of str
        One a patient.

    Returns
    -------
    bytes
        Parquet.
    """
    import pyarrow as pa

    return _bytes(pa.table({ID: pa.array(global_ids, pa.string())}))


def features_bytes(
    table: FeatureTable, global_ids: Sequence[str], labels: IntLabels | None = None
) -> bytes:
    """Write feature rows under GlobalIDs instead of roster keys, without any other attribute.

    Parameters
    ----------
    table : FeatureTable
        The hospital's table. Private.
    global_ids : sequence of str
        One a row.
    labels : ndarray of int8, shape (n_patients,), optional
        1 positive, 0 negative, -1 unknown; where the study declares a label.

    Returns
    -------
    bytes
        Parquet.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {
        ID: pa.array(global_ids, pa.string()),
        WINDOWS: pa.array(table.n_windows, pa.int64()),
        SECONDS: pa.array(table.seconds, pa.float64()),
    }
    if labels is not None:
        columns[LABEL] = pa.array(labels, pa.int8())
    for column, values in zip(table.columns, table.values.T, strict=True):
        columns[column.name] = pa.array(np.ascontiguousarray(values), pa.float64())
    return _bytes(pa.table(columns))


def read_roster(content: bytes, largest: int) -> tuple[str, ...]:
    """Read a roster that nobody vouches for.

    Parameters
    ----------
    content : bytes
        As :func:`roster_bytes` gives it.
    largest : int
        Most rows.

    Returns
    -------
    tuple of str
        GlobalIDs of one key, each once.

    Raises
    ------
    RecordingError
        If it is anything else; says what, and nothing of the content.
    """
    import pyarrow as pa

    return _global_ids(_read(content, {ID: pa.string()}, largest))


def read_features(
    content: bytes, columns: tuple[Column, ...], largest: int, has_label: bool = False
) -> SentRows:
    """Read feature rows that nobody vouches for.

    Parameters
    ----------
    content : bytes
        As :func:`features_bytes` gives it.
    columns : tuple of Column
        Features of the study, in order.
    largest : int
        Most rows.
    has_label : bool
        Whether the study declares a label, which then has to be there.

    Returns
    -------
    SentRows
        Checked.

    Raises
    ------
    RecordingError
        If it is anything else; says what, and nothing of the content.
    """
    import pyarrow as pa

    types = {ID: pa.string(), WINDOWS: pa.int64(), SECONDS: pa.float64()}
    types |= {LABEL: pa.int8()} if has_label else {}
    types |= {column.name: pa.float64() for column in columns}
    table = _read(content, types, largest)
    shape = (table.num_rows, len(columns))
    values: FloatArray = np.empty(shape, dtype=np.float64)
    for number, column in enumerate(columns):
        values[:, number] = table.column(column.name).to_numpy()
    if bool((np.abs(values) > _LARGEST_VALUE).any()):
        raise malformed(
            f"values within ±{_LARGEST_VALUE:g}, or missing cells (NaN)", "infinite or larger ones"
        )
    n_windows, seconds = table.column(WINDOWS).to_numpy(), table.column(SECONDS).to_numpy()
    if not bool(((n_windows >= 0) & (n_windows <= _MOST_WINDOWS)).all()):
        raise malformed(f"counts of windows from 0 to {_MOST_WINDOWS:,}", "another count")
    if not bool(((seconds >= 0) & (seconds <= _LARGEST_VALUE)).all()):
        raise malformed(f"recorded seconds from 0 to {_LARGEST_VALUE:g}", "another length")
    labels = table.column(LABEL).to_numpy() if has_label else None
    if labels is not None and not bool(np.isin(labels, (POSITIVE, NEGATIVE, UNKNOWN)).all()):
        raise malformed("labels 1 (positive), 0 (negative) or -1 (unknown)", "another number")
    return SentRows(_global_ids(table), values, n_windows.astype(np.int64), seconds, labels)


def malformed(expected: str, found: str) -> RecordingError:
    """Make the refusal of a file that cannot be used.

    Parameters
    ----------
    expected, found : str
        As in :class:`~neuroveil.errors.NeuroveilError`; nothing of the content.

    Returns
    -------
    RecordingError
        To be raised.
    """
    return RecordingError(
        "pseudonymised rows", expected, found, "Send them with `neuroveil submit`."
    )


def _bytes(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(
        table, stream, compression="none", use_dictionary=False, store_schema=False,
        write_statistics=False,
    )  # fmt: skip
    return stream.getvalue()


def _read(content: bytes, types: dict[str, pa.DataType], largest: int) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(content))
        _require_flat(file.metadata, list(types), largest)
        table = file.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError, UnicodeError, OverflowError):
        raise malformed("a Parquet file that can be read", "something else") from None
    if dict(zip(table.schema.names, table.schema.types, strict=True)) != types:
        raise malformed("text in global_id and numbers of the right types elsewhere", "other types")
    if any(column.null_count for column in table.columns):
        raise malformed("no empty cells; missing values are NaN", "empty cells")
    return table


def _require_flat(metadata: Any, names: list[str], largest: int) -> None:
    """Look at the description of a file before any of its cells is unfolded."""
    if not 1 <= metadata.num_rows <= largest:
        raise malformed(f"1 to {largest:,} rows", f"{metadata.num_rows:,}")
    if metadata.num_columns != len(names) or metadata.schema.names != names:
        raise malformed(f"exactly the {len(names)} columns of the study, in order", "others")
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            is_plain = chunk.compression == "UNCOMPRESSED" and set(chunk.encodings) <= _FLAT
            if not is_plain or chunk.has_dictionary_page:
                raise malformed("plain, uncompressed columns", "packed ones")


def _global_ids(table: pa.Table) -> tuple[str, ...]:
    ids: tuple[str, ...] = tuple(table.column(ID).to_pylist())
    try:
        kinds = {(each.encoding_version, each.key_id) for each in
                 (parse_global_id(text, "global_id") for text in ids)}  # fmt: skip
    except LinkageError:
        raise malformed("a GlobalID in every row", "something else") from None
    if len(kinds) != 1:
        raise malformed("GlobalIDs of one linkage key", f"{len(kinds)} keys")
    if len(set(ids)) != len(ids):
        raise malformed("each GlobalID once", "one that stands twice")
    return ids
