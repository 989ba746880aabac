"""Neighbouring tables for a replay: random ones, and those that hurt most.

All on the scaled axis, where rows are meant to be clipped. Two tables of a pair differ in one
row, the protected one; NaN marks a missing cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.canaries import dense_row, row_clip, sparse_row
from neuroveil.audit.subject import SubjectFacts
from neuroveil.errors import ChainError
from neuroveil.types.recording import FloatArray

FEWEST_ROWS = 2
_FAR_OUT = 50.0  # clipping norms; far enough to move any mean, spread or range
_TYPICAL_SPREAD = 1.0


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two tables that differ in one patient's row.

    Parameters
    ----------
    kind : str
        What is special about them, for a reader.
    first, second : ndarray of float64, shape (n_rows, dimension)
        The tables on the scaled axis (no unit); NaN marks a missing cell.
    row : int
        Place of the protected row.
    """

    kind: str
    first: FloatArray
    second: FloatArray
    row: int


def neighbouring_tables(
    facts: SubjectFacts, n_rows: int, generator: np.random.Generator, *, with_missing: bool
) -> Iterator[Neighbours]:
    """Give one pair of every kind; call it again for other pairs of the same kinds.

    Parameters
    ----------
    facts : SubjectFacts
        Dimension and clipping norm.
    n_rows : int
        Rows of a table, at least 2.
    generator : numpy Generator
        Where the rows come from.
    with_missing : bool
        Whether cells may be missing.

    Yields
    ------
    Neighbours
        Random rows first.

    Raises
    ------
    ChainError
        If there are too few rows to tell the protected one from the others.
    """
    if n_rows < FEWEST_ROWS:
        raise ChainError("replay", f"at least {FEWEST_ROWS} rows", f"{n_rows}", "Ask for more.")
    kinds: dict[str, _Maker] = {
        "random rows": _random,
        "opposite rows at the clipping norm, in one column": _opposite(sparse_row(facts)),
        "opposite rows at the clipping norm, over all columns": _opposite(dense_row(facts)),
        "a random direction and its opposite, at the clipping norm": _opposite_random(facts),
        "a row far outside the clipping norm": _far_out(facts),
        "a row of zeros": _zeros,
        "the row that decides medians": _deciding,
        "exact copies of one row": _copies(facts),
        "columns that are constant but for one row": _constant(facts),
    }
    if with_missing:
        kinds |= {"a row without any value": _missing_row, "a row with missing cells": _missing}
    for kind, make in kinds.items():
        row = int(generator.integers(n_rows))
        table = generator.normal(0.0, _TYPICAL_SPREAD, (n_rows, facts.dimension))
        first, second = make(table, row, generator)
        yield Neighbours(kind, first, second, row)


_Maker = Callable[[FloatArray, int, np.random.Generator], tuple[FloatArray, FloatArray]]


def _with(table: FloatArray, row: int, values: FloatArray) -> FloatArray:
    changed = table.copy()
    changed[row] = values
    return changed


def _random(
    table: FloatArray, row: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    return table, _with(table, row, generator.normal(0.0, _TYPICAL_SPREAD, (table.shape[1],)))


def _opposite(direction: FloatArray) -> _Maker:
    def make(
        table: FloatArray, row: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        return _with(table, row, direction[0]), _with(table, row, -direction[0])

    return make


def _opposite_random(facts: SubjectFacts) -> _Maker:
    def make(
        table: FloatArray, row: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        long = facts.clip_norm * 1e3 * generator.normal(size=(1, facts.dimension))
        return _opposite(row_clip(facts).apply(long))(table, row, generator)

    return make


def _far_out(facts: SubjectFacts) -> _Maker:
    def make(
        table: FloatArray, row: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        far = np.full(facts.dimension, _FAR_OUT * facts.clip_norm)
        return _with(table, row, far), _with(table, row, -far)

    return make


def _zeros(
    table: FloatArray, row: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    return table, _with(table, row, np.zeros(table.shape[1]))


def _deciding(
    table: FloatArray, row: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Half of the other rows at 0, half at 1: the protected row decides every median.

    It lies far below in half of the columns and far above in the others, and then the other
    way round. Scaling by median and interquartile range moves every other row.
    """
    n_rows, d = table.shape
    others = np.arange(n_rows - 1) >= (n_rows - 1) // 2
    base = np.insert(np.repeat(others[:, None].astype(np.float64), d, axis=1), row, 0.0, axis=0)
    below = np.arange(d) < (d + 1) // 2
    return (
        _with(base, row, np.where(below, -9.0, 10.0)),
        _with(base, row, np.where(below, 10.0, -9.0)),
    )


def _copies(facts: SubjectFacts) -> _Maker:
    def make(
        table: FloatArray, row: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        copies = np.repeat(dense_row(facts), len(table), axis=0)
        return copies, _with(copies, row, -copies[row])

    return make


def _constant(facts: SubjectFacts) -> _Maker:
    def make(
        table: FloatArray, row: int, generator: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        constant = np.repeat(table[:1], len(table), axis=0)
        step = np.full(facts.dimension, facts.clip_norm)
        return constant, _with(constant, row, constant[row] + step)

    return make


def _missing_row(
    table: FloatArray, row: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    return table, _with(table, row, np.full(table.shape[1], np.nan))


def _missing(
    table: FloatArray, row: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Cells are missing elsewhere too, and in other places of the protected row."""
    gone = generator.random(table.shape) < 0.3
    holes = np.where(gone, np.nan, table)
    other = generator.random(table.shape[1]) < 0.5
    return holes, _with(holes, row, np.where(other, np.nan, table[row] + 1.0))
