"""Whether a ``.parquet`` file holds the same table as the ``.csv`` file of its name."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

from neuroveil.privacy.verify.csvfile import TableError, lines_of, number_in
from neuroveil.privacy.verify.findings import broken, finding
from neuroveil.privacy.verify.parquet import Column, ParquetError, read_columns
from neuroveil.privacy.verify.result import Check


def check_copy(table: Path, names: Sequence[str], n_numbers: int | None) -> Check:
    """Compare a Parquet file with the CSV file beside it, value by value.

    Parameters
    ----------
    table : Path
        The CSV file; the other one has the same name with ``.parquet``.
    names : sequence of str
        Its columns.
    n_numbers : int or None
        How many of the first columns hold numbers; the others hold text.

    Returns
    -------
    Check
        Whether both say the same.
    """
    name, what = "release.parquet", table.with_suffix(".parquet").name
    try:
        columns = read_columns(table.with_suffix(".parquet"))
        agrees = (
            bool(columns)
            and list(columns) == list(names)
            and _is_same(table, names, list(columns.values()), n_numbers or 0)
        )
    except ParquetError as error:
        return broken(name, f"{what} is not plain Parquet that can be compared: {error}.")
    except TableError as error:
        return broken(name, str(error))
    return finding(
        "holds" if agrees else "broken", name,
        f"{what} holds the same values as {table.name}."
        if agrees
        else f"{what} holds another table than {table.name}.",
        source="value by value",
    )  # fmt: skip


def _is_same(table: Path, names: Sequence[str], columns: list[Column], n_numbers: int) -> bool:
    if any(isinstance(column, array) != (j < n_numbers) for j, column in enumerate(columns)):
        return False
    n_rows = 0
    for i, line in enumerate(lines_of(table, names, "table")):
        if i >= len(columns[0]):
            return False
        numbers = [number_in(text, "table") for text in line[:n_numbers]]
        if [column[i] for column in columns] != [*numbers, *line[n_numbers:]]:
            return False
        n_rows += 1
    return n_rows == len(columns[0])
