"""Whose row is whose: what a hospital keeps when its encoded list leaves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from neuroveil.errors import LinkageError
from neuroveil.linkage.encoded_list import EncodedList
from neuroveil.linkage.private_files import read_table, write_table

_COLUMNS = ("patient", "row", "encoded")
_ROLE = "local map"


def write_local_map(path: Path, rows: Mapping[str, int], encoded: EncodedList) -> None:
    """Write which row is whose to a new file that only its owner can read.

    Parameters
    ----------
    path : Path
        A CSV file that does not exist yet.
    rows : mapping of str to int
        Row by the hospital's own key of the patient. Private.
    encoded : EncodedList
        The list that it belongs to; the map names its digest.

    Raises
    ------
    LinkageError
        If the file exists or cannot be written.
    """
    digest = encoded.digest
    write_table(path, _COLUMNS, ((key, row, digest) for key, row in rows.items()), _ROLE)


def read_local_map(path: Path, encoded: EncodedList) -> dict[int, str]:
    """Read which row is whose.

    Parameters
    ----------
    path : Path
        As :func:`write_local_map` wrote it.
    encoded : EncodedList
        The list that it should belong to.

    Returns
    -------
    dict of int to str
        Patient key by row. Private.

    Raises
    ------
    LinkageError
        If it is another file, or another list's map.
    """
    rows = read_table(path, _COLUMNS, _ROLE)
    try:
        keys = {int(row["row"]): row["patient"] for row in rows}
    except ValueError:
        keys = {}
    digest = encoded.digest
    belongs = all(row["encoded"] == digest for row in rows)
    is_whole = len(rows) == encoded.n_records and set(keys) == set(range(encoded.n_records))
    if not belongs or not is_whole:
        raise LinkageError(
            _ROLE, "the map that was made with this very list, a row a patient",
            "another list's map, or a changed one",
            "Keep the two files of `neuroveil link encode` together; a list that is encoded "
            "again has another order of rows.",
        )  # fmt: skip
    return keys
