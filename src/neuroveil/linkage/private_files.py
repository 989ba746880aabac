"""Files of linkage: read as text, and written so that only their owner can read them."""

from __future__ import annotations

import csv
import io
import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from neuroveil.errors import LinkageError, MachineError

_DELIMITERS = (",", ";", "\t")


def require_new(path: Path, role: str) -> None:
    """Refuse a file that is there already, before any long work begins.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    role : str
        What it is, for errors.

    Raises
    ------
    LinkageError
        If it exists.
    """
    if os.path.lexists(path):
        raise LinkageError(
            role, "a file that does not exist yet", "an existing one",
            "Name another place with --out, or remove what is there.",
        )  # fmt: skip


def write_private(path: Path, data: bytes, role: str) -> None:
    """Write a new file that only its owner can read: all of it or nothing.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    data : bytes
        Its content.
    role : str
        What it is, for errors.

    Raises
    ------
    LinkageError
        If the file exists or its folder cannot be written to.
    MachineError
        If there is no room for it; nothing is left behind.
    """
    require_new(path, role)
    draft = path.with_name(f".{secrets.token_hex(8)}.unfinished")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise LinkageError(
            role, "a place that can be written to", error.strerror or "none",
            "Choose another folder.",
        ) from None  # fmt: skip
    try:
        with open(descriptor, "wb") as stream:  # noqa: PTH123
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        require_new(path, role)
        draft.rename(path)
    except OSError as error:
        raise no_room(role, error) from None
    finally:
        draft.unlink(missing_ok=True)


def no_room(role: str, error: OSError) -> MachineError:
    """Make the refusal of a file that the disk did not take.

    Parameters
    ----------
    role : str
        What it is.
    error : OSError
        What the system said.

    Returns
    -------
    MachineError
        To be raised.
    """
    return MachineError(
        role, "room for it on the disk", error.strerror or "none",
        "Make room and run again; nothing of this file was kept.",
    )  # fmt: skip


def write_table(
    path: Path, columns: Sequence[str], lines: Iterable[Sequence[Any]], role: str
) -> None:
    """Write a table to a new CSV file that only its owner can read.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    columns : sequence of str
        Its heading.
    lines : iterable of sequence
        A value a column.
    role : str
        What it is, for errors.

    Raises
    ------
    LinkageError
        If the file exists or its folder cannot be written to.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    write_private(path, text.getvalue().encode(), role)


def read_table(path: Path, columns: Sequence[str], role: str) -> list[dict[str, str]]:
    """Read a table, as it was written or as a spreadsheet saved it.

    Parameters
    ----------
    path : Path
        CSV in UTF-8; separated by commas, semicolons or tabs.
    columns : sequence of str
        Columns that must be there.
    role : str
        What it is, for errors.

    Returns
    -------
    list of dict of str to str
        Row by row.

    Raises
    ------
    LinkageError
        If it is another file; a file without its heading is one, too.
    """
    wanted = f"CSV in UTF-8 with the columns {', '.join(columns)}"
    try:
        text = path.read_bytes().decode("utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = max(_DELIMITERS, key=first.count)
        stream = io.StringIO(text, newline="")
        reader = csv.DictReader(stream, strict=True, delimiter=delimiter)
        rows = list(reader)
        found = "another file" if set(columns) - set(reader.fieldnames or ()) else ""
    except FileNotFoundError:
        found = "no such file"
    except (OSError, UnicodeDecodeError, csv.Error):
        found = "another file"
    if not found and any(row[column] is None for row in rows for column in columns):
        found = "a row that is cut short"
    if found:
        raise LinkageError(role, wanted, found, "Name the file as neuroveil wrote it.")
    return rows
