"""Patient lists in CSV and TSV files."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from neuroveil.errors import RecordingError

KEY_COLUMNS = ("patient", "participant_id", "subject")
"""Names of the key column, in order of preference; else the first column is the key."""


@dataclass(frozen=True)
class ListedRow:
    """One row of a patient list.

    Parameters
    ----------
    number : int
        Row in the file, where the heading is row 1.
    patient : str
        The key, without white space around it.
    values : dict of str to str
        All other columns.
    """

    number: int
    patient: str
    values: dict[str, str]


def read_patient_list(path: Path, where: str) -> tuple[ListedRow, ...]:
    """Read a patient list, separated by tabs, commas or semicolons.

    Parameters
    ----------
    path : Path
        The file, in UTF-8 with or without byte order mark, or in Windows-1252.
    where : str
        Its role, for errors.

    Returns
    -------
    tuple of ListedRow
        In the file's order, blank rows left out.

    Raises
    ------
    RecordingError
        If the file cannot be read, has no heading, a column twice, or rows of another length.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError  # a pipe or a device: opening it could wait for ever
        data = path.read_bytes()
    except OSError as error:
        raise RecordingError(
            where, "a file that can be opened",
            f"an error of the system ({type(error).__name__})",
            "Check the setting, and that the file may be read.",
        ) from None  # fmt: skip
    rows = [row for row in _rows(data, where) if any(cell.strip() for cell in row[1])]
    if not rows:
        raise RecordingError(where, "a heading and rows", "an empty file", "Fill the list.")
    heading = [cell.strip() for cell in rows[0][1]]
    if "" in heading or len(set(heading)) != len(heading):
        raise RecordingError(
            where, "a heading that names every column once",
            "columns without a name or with the same name", "Correct the heading.",
        )  # fmt: skip
    uneven = [number for number, row in rows if len(row) != len(heading)]
    if uneven:
        raise RecordingError(
            where, f"{len(heading)} columns in every row",
            f"{len(uneven)} rows with another number (first: row {uneven[0]})",
            "Correct these rows; put values that hold a separator into quotes.",
        )  # fmt: skip
    lowered = [name.lower() for name in heading]
    key = next((lowered.index(name) for name in KEY_COLUMNS if name in lowered), 0)
    return tuple(_listed(number, row, heading, key) for number, row in rows[1:])


def _listed(number: int, row: list[str], heading: list[str], key: int) -> ListedRow:
    """Split a row into key and other columns."""
    values = {
        name: cell.strip()
        for i, (name, cell) in enumerate(zip(heading, row, strict=True))
        if i != key
    }
    return ListedRow(number, row[key].strip(), values)


def _rows(data: bytes, where: str) -> list[tuple[int, list[str]]]:
    """Decode and split a list; row numbers count from the heading as row 1."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    heading = text.split("\n", 1)[0]
    separator = max("\t;,", key=heading.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        return list(enumerate(reader, start=1))
    except csv.Error:
        raise RecordingError(
            where, "a table of comma- or tab-separated values", "something else",
            "Save the list as CSV or TSV; check its quotation marks.",
        ) from None  # fmt: skip
