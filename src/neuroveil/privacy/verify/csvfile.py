"""Read released tables line by line, strictly."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_LONGEST = 400


class TableError(Exception):
    """A table cannot be read as what it has to be."""


def lines_of(path: Path, names: Sequence[str], what: str) -> Iterator[list[str]]:
    """Read the lines below the header.

    Parameters
    ----------
    path : Path
        A CSV file in UTF-8.
    names : sequence of str
        What the header has to be.
    what : str
        What the file is, for messages.

    Yields
    ------
    list of str
        The cells of a line, as many as there are names.

    Raises
    ------
    TableError
        If the file cannot be read, or has another header or lines of another length.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            lines = csv.reader(stream, strict=True)
            if next(lines, None) != list(names):
                raise TableError(f"The header of the {what} is not what it has to be.")
            for line in lines:
                if len(line) != len(names):
                    raise TableError(f"A row of the {what} has another number of cells.")
                yield line
    except (OSError, UnicodeDecodeError, csv.Error):
        raise TableError(f"The {what} cannot be read as CSV in UTF-8.") from None


def number_in(text: str, what: str) -> float:
    """Read one cell.

    Parameters
    ----------
    text : str
        The cell.
    what : str
        What the file is, for messages.

    Returns
    -------
    float
        The double that it denotes.

    Raises
    ------
    TableError
        If it is not a finite decimal number.
    """
    value = float(text) if len(text) < _LONGEST and _FLOAT.fullmatch(text) else math.inf
    if not math.isfinite(value):
        raise TableError(f"A cell of the {what} is not a finite number.")
    return value
