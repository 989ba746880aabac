"""A hospital's patient list, read as text and nothing else.

A spreadsheet's numbers have lost their leading zeros and its dates are whatever it thinks a
date is, so the list is a text file and every value stays a text until the schema says what it
is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from neuroveil.errors import LinkageError
from neuroveil.linkage.schema import LinkageSchema

_DELIMITERS = (",", ";", "\t")
_ROLE = "patient list"


@dataclass(frozen=True, eq=False)
class PatientList:
    """What a schema needs of a patient list. Private.

    Parameters
    ----------
    patients : tuple of str
        The hospital's own key of each patient, as its recordings are filed.
    lines : tuple of int
        Line of the file on which each row begins.
    numbers : tuple of str or None
        Patient numbers; None where the schema has no ``[identifier]``.
    fields : dict of str to list of str
        Values by field name.
    problems : tuple of LinkageError
        Lines that cannot be used as they are: rows cut short or too long, patient keys that
        are empty or stand twice. Checking refuses them, together with what it finds.
    """

    patients: tuple[str, ...]
    lines: tuple[int, ...]
    numbers: tuple[str, ...] | None
    fields: dict[str, list[str]]
    problems: tuple[LinkageError, ...] = ()

    def __repr__(self) -> str:
        return f"PatientList({len(self.patients)} rows)"


def read_patient_list(
    path: Path, schema: LinkageSchema, patient_column: str = "patient"
) -> PatientList:
    """Read the columns that a schema names.

    Parameters
    ----------
    path : Path
        CSV or TSV in UTF-8 with a header; the separator is a comma, a semicolon or a tab,
        whichever the header holds most of.
    schema : LinkageSchema
        Names the columns.
    patient_column : str
        Column of the hospital's own patient key.

    Returns
    -------
    PatientList
        All values as text.

    Raises
    ------
    LinkageError
        If the file cannot be read, or a column is missing or stands twice.
    """
    text = _read_text(path)
    rows = _rows(text)
    header = [name.strip() for name in next(rows, (0, []))[1]]
    wanted = _wanted_columns(schema, patient_column)
    for column in sorted(wanted):
        _require_once(header, column, is_key=column == patient_column)
    places = {column: header.index(column) for column in wanted}
    problems: list[LinkageError] = []
    kept: list[tuple[int, list[str]]] = []
    for line, row in rows:
        if len(row) == len(header):
            kept.append((line, row))
        elif any(cell.strip() for cell in row):
            problems.append(LinkageError(
                f"{_ROLE}, line {line}", f"{len(header)} values, as in the header", f"{len(row)}",
                "Check the line for separators that are no separators, and quotation marks.",
            ))  # fmt: skip
    lines = tuple(line for line, _ in kept)
    columns = {name: [row[place] for _, row in kept] for name, place in places.items()}
    patients = tuple(key.strip() for key in columns[patient_column])
    problems += _key_problems(patients, lines)
    identifier = schema.identifier
    numbers = tuple(columns[identifier.column]) if identifier else None
    fields = {field.name: columns[field.column or field.name] for field in schema.field}
    return PatientList(patients, lines, numbers, fields, tuple(problems))


def _wanted_columns(schema: LinkageSchema, patient_column: str) -> set[str]:
    columns = {field.column or field.name for field in schema.field} | {patient_column}
    return columns | ({schema.identifier.column} if schema.identifier else set())


def _read_text(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise _refused("a file", "no such file", "Correct the path.") from None
    except UnicodeDecodeError:
        raise _refused("text in UTF-8", "another encoding", "Save the file as UTF-8.") from None
    except OSError as error:
        raise _refused(
            "a file that can be read", error.strerror or "none", "Check the file's rights."
        ) from None
    if "\0" in text:
        raise _refused("a text file", "a binary one", "Save the list as CSV.")
    return text


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Give each row with the line that it begins on."""
    first = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first.count)
    # Lines end as a text editor ends them; a value may hold any other separator of Unicode.
    stream = io.StringIO(text, newline="")
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error:
        raise LinkageError(
            f"{_ROLE}, line {line}", "values with paired quotation marks, of ordinary length",
            "a broken line",
            "Correct that line: a quotation mark inside a value is written twice.",
        ) from None  # fmt: skip


def _require_once(header: list[str], column: str, *, is_key: bool) -> None:
    count = header.count(column)
    if count != 1:
        where = "with --patient-column" if is_key else "in the schema"
        raise LinkageError(
            f"{_ROLE}, column {column!r}", "one such column", f"{count}",
            f"Name the column {where} as the heading does; capital letters matter.",
        )  # fmt: skip


def _key_problems(patients: tuple[str, ...], lines: tuple[int, ...]) -> Iterator[LinkageError]:
    first: dict[str, int] = {}
    for key, line in zip(patients, lines, strict=True):
        if not key:
            yield LinkageError(
                f"patient key, line {line}", "the hospital's own key of a patient", "none",
                "Fill it in: it is how the result finds its way back.",
            )  # fmt: skip
        elif first.setdefault(key, line) != line:
            yield LinkageError(
                f"patient key, line {line}", "each key once", f"the key of line {first[key]}",
                "Merge the two lines.",
            )  # fmt: skip


def _refused(expected: str, found: str, remedy: str) -> LinkageError:
    return LinkageError(_ROLE, expected, found, remedy)


def filled_counts(fields: dict[str, list[str]]) -> dict[str, int]:
    """Count the values that are there.

    Parameters
    ----------
    fields : dict of str to list of str
        Canonical values by field name.

    Returns
    -------
    dict of str to int
        Number of values that are not empty, by field name.
    """
    return {name: sum(map(bool, values)) for name, values in fields.items()}
