"""Whether every row of the table is the codeword that its message names, bit for bit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from neuroveil.privacy.verify.basis import row_dimension
from neuroveil.privacy.verify.codebook import stated_codebook
from neuroveil.privacy.verify.codewords import decoded
from neuroveil.privacy.verify.csvfile import TableError, lines_of, number_in
from neuroveil.privacy.verify.findings import broken, finding, holds
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement
from neuroveil.privacy.verify.table import check_labels, label_sizes

_SEED = re.compile(r"[0-9a-f]{32}")
_NUMBER = re.compile(r"[0-9]{1,19}")
_HEADER = ("seed", "number")
_SOURCE = "neuroveil codebook 1, derived again in whole numbers"


def check_messages(
    statement: Statement, messages: Path, table: Path, names: Sequence[str]
) -> Iterator[Check]:
    """Decode every message and compare it with its row.

    Parameters
    ----------
    statement : Statement
        The certificate.
    messages, table : Path
        ``messages.csv`` and ``table.csv``.
    names : sequence of str
        Column names by the data dictionary.

    Yields
    ------
    Check
        Messages and table.
    """
    book, dimension = stated_codebook(statement), row_dimension(statement)
    n, scale = statement.integer("domain.n"), statement.number("mechanism.decoding_scale")
    if book is None or dimension is None or n is None or scale is None:
        yield finding("unchecked", "release.table", "Cannot be checked: the chain is incomplete.")
        return
    try:
        found = _read_messages(messages, n, book.size)
    except TableError as error:
        yield broken("release.messages", str(error))
        return
    yield from _check_seeds(statement, [seed for seed, _ in found])
    try:
        different = _compare(found, table, names, dimension, float(scale), label_sizes(statement))
    except TableError as error:
        yield broken("release.table", str(error))
        return
    if different:
        yield broken(
            "release.table", f"{different} row(s) of the table are not the codewords that the "
            "messages name.", stated=different, recomputed=0, source=_SOURCE,
        )  # fmt: skip
    else:
        yield holds(
            "release.table", f"All {n} rows are the codewords that their messages name, to the "
            "bit.", source=_SOURCE,
        )  # fmt: skip


def _read_messages(path: Path, n: int, size: int) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for seed, number in lines_of(path, _HEADER, "list of messages"):
        if not _SEED.fullmatch(seed) or not _NUMBER.fullmatch(number) or int(number) >= size:
            raise TableError("A message names no codeword of its codebook.")
        found.append((seed, int(number)))
        if len(found) > n:
            break
    if len(found) != n:
        raise TableError("There is another number of messages than rows.")
    return found


def _check_seeds(statement: Statement, seeds: list[str]) -> Iterator[Check]:
    """One seed for all rows, that of the certificate; or one of its own for every row."""
    own = statement.flag("mechanism.codebook_per_message")
    stated = statement.text("mechanism.codebook_seed")
    agrees = len(set(seeds)) == len(seeds) if own else set(seeds) == {stated}
    yield finding(
        "holds" if agrees else "broken", "release.messages",
        f"{len(seeds)} messages name one codeword each."
        if agrees
        else "The seeds of the messages are not those of the certificate.",
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _row(seed: str, number: int, sphere_dimension: int, scale: float) -> tuple[float, ...]:
    return tuple(decoded(bytes.fromhex(seed), number, sphere_dimension, scale))


def _compare(
    messages: list[tuple[str, int]], table: Path, names: Sequence[str], dimension: int,
    scale: float, labels: dict[str, object],
) -> int:  # fmt: skip
    """Count the rows that differ from their messages."""
    categories: list[set[str]] = [set() for _ in names[dimension:]]
    different = n_rows = 0
    for line in lines_of(table, names, "table"):
        if n_rows == len(messages):
            raise TableError("The table has another number of rows than certified.")
        seed, number = messages[n_rows]
        values = tuple(number_in(text, "table") for text in line[:dimension])
        different += values != _row(seed, number, dimension + 1, scale)
        for seen, text in zip(categories, line[dimension:], strict=True):
            seen.add(text)
        n_rows += 1
    if n_rows != len(messages):
        raise TableError("The table has another number of rows than certified.")
    check_labels(names[dimension:], categories, labels)
    return different
