"""Whether the estimated table follows from the table by the stated public steps.

Each step is written down here as the contract defines it and applied to the rows of
``table.csv``, in double precision. That takes about a hundred nanoseconds for each pair of
coordinates of each row under Wiener's filter; of very large tables some rows are checked, drawn
anew in every run, so that nobody can know beforehand which.
"""

from __future__ import annotations

import math
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import mul
from pathlib import Path
from typing import Any

from neuroveil.privacy.verify.csvfile import TableError, lines_of, number_in
from neuroveil.privacy.verify.findings import broken, finding, holds
from neuroveil.privacy.verify.public_inputs import PublicInputs
from neuroveil.privacy.verify.result import Check

TOLERANCE = 1e-6
"""Difference that is allowed, in parts of the largest value of the column."""

_MOST_WORK = 200_000_000
_LARGEST_MATRIX = 800

Row = list[float]
Step = Callable[[Row], Row]


@dataclass(frozen=True)
class Tables:
    """The two tables, with what their dictionaries say.

    Parameters
    ----------
    table, estimated : Path
        ``table.csv`` and ``table_estimated.csv``.
    names, estimated_names : sequence of str
        Their columns.
    n_coordinates, n_features : int
        How many of the columns are numbers; label columns follow.
    log10 : sequence of bool
        Which features are on a log10 scale.
    """

    table: Path
    estimated: Path
    names: Sequence[str]
    estimated_names: Sequence[str]
    n_coordinates: int
    n_features: int
    log10: Sequence[bool]


def check_estimate(
    steps: Sequence[Mapping[str, Any]], inputs: PublicInputs, tables: Tables
) -> Iterator[Check]:
    """Repeat the post-processing and compare.

    Parameters
    ----------
    steps : sequence of mapping
        The stated steps.
    inputs : PublicInputs
        Public constants.
    tables : Tables
        Both tables.

    Yields
    ------
    Check
        Whether the estimated table follows.
    """
    name = "release.estimate"
    log10 = next((s["params"]["log10_columns"] for s in steps if s["step"] == _LAST), None)
    if log10 != sum(tables.log10):
        yield broken(name, "Another number of columns is on a logarithmic scale than stated.")
        return
    if "covariance" in inputs.numbers and tables.n_coordinates > _LARGEST_MATRIX:
        yield finding(
            "unchecked", name, f"The filter of more than {_LARGEST_MATRIX} coordinates is not "
            "repeated here.",
        )  # fmt: skip
        return
    try:
        chain = [_step(entry, inputs, tables) for entry in steps]
        largest, n_rows = _largest_values(tables)
        checked, off = _compare(chain, tables, largest, _share(inputs, tables, n_rows))
    except (TableError, ZeroDivisionError, OverflowError, ValueError) as error:
        words = str(error) if isinstance(error, TableError) else "The steps cannot be carried out."
        yield broken(name, words)
        return
    if off:
        yield broken(
            name, f"{off} of {checked} rows of the estimated table do not follow from the table "
            "by the stated steps.", stated=off, recomputed=0, source="post-processing",
        )  # fmt: skip
    else:
        yield holds(
            name, f"The estimated table follows from the table by {len(steps)} public step(s); "
            f"{checked} of {n_rows} rows were worked out again.", source="post-processing",
        )  # fmt: skip


_LAST = "inverse_scaling"


def _step(entry: Mapping[str, Any], inputs: PublicInputs, tables: Tables) -> Step:
    """Make a step from its settings and the public constants."""
    params, numbers = entry["params"], inputs.numbers
    if entry["step"] == "wiener":
        return _wiener(numbers["mean"], numbers["covariance"], float(params["noise_variance"]))
    if entry["step"] == "james_stein":
        return _james_stein(tables.n_coordinates, float(params["noise_variance"]))
    if entry["step"] == "projection_back":
        columns = list(zip(*numbers["basis"], strict=True))
        return lambda row: [dot(column, row) for column in columns]
    if entry["step"] == "unclipping":
        factor = float(params["factor"])
        return lambda row: [factor * value for value in row]
    if entry["step"] == "clamp":
        low, high = float(params["low"]), float(params["high"])
        return lambda row: [min(max(value, low), high) for value in row]
    return _inverse_scaling(numbers["centre"], numbers["spread"], tables.log10)


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """Give the inner product of two lists.

    Parameters
    ----------
    left, right : sequence of float
        Of the same length.

    Returns
    -------
    float
        In double precision.
    """
    return float(sum(map(mul, left, right)))


def _james_stein(dimension: int, variance: float) -> Step:
    def shrink(row: Row) -> Row:
        square = dot(row, row)
        factor = max(0.0, 1 - (dimension - 2) * variance / square) if square else 0.0
        return [factor * value for value in row]

    return shrink


def _inverse_scaling(centre: Row, spread: Row, log10: Sequence[bool]) -> Step:
    def restore(row: Row) -> Row:
        scaled = [c + s * value for c, s, value in zip(centre, spread, row, strict=True)]
        return [_power(v) if is_log else v for v, is_log in zip(scaled, log10, strict=True)]

    return restore


def _power(exponent: float) -> float:
    """Power of 10; what no double can hold stays at the largest one."""
    try:
        return float(min(10.0**exponent, sys.float_info.max))
    except OverflowError:
        return sys.float_info.max


def _wiener(mean: Row, lower: list[Row], variance: float) -> Step:
    """S (S + v I)^-1 (y - mean), as (y - mean) - v (S + v I)^-1 (y - mean), by Cholesky."""
    factor = cholesky([[*row[:-1], row[-1] + variance] for row in lower])
    columns = [[factor[i][j] for i in range(j, len(factor))] for j in range(len(factor))]

    def filtered(row: Row) -> Row:
        centred = [value - middle for value, middle in zip(row, mean, strict=True)]
        solved: Row = []
        for i, line in enumerate(factor):
            solved.append((centred[i] - dot(line[:i], solved)) / line[i])
        for i in range(len(factor) - 1, -1, -1):
            column = columns[i]
            solved[i] = (solved[i] - dot(column[1:], solved[i + 1 :])) / column[0]
        return [
            middle + value - variance * part
            for middle, value, part in zip(mean, centred, solved, strict=True)
        ]

    return filtered


def cholesky(lower: list[Row]) -> list[Row]:
    """Give the Cholesky factor of a symmetric matrix.

    Parameters
    ----------
    lower : list of list of float
        Lower triangle, row by row.

    Returns
    -------
    list of list of float
        Lower triangle of the factor, row by row.

    Raises
    ------
    TableError
        If the matrix is not positive definite.
    """
    factor: list[Row] = []
    for i, line in enumerate(lower):
        row: Row = []
        for j in range(i):
            other = factor[j]
            row.append((line[j] - dot(row, other)) / other[j])
        left = line[i] - dot(row, row)
        if left <= 0:
            raise TableError("The public covariance is not one.")
        row.append(math.sqrt(left))
        factor.append(row)
    return factor


def _largest_values(tables: Tables) -> tuple[Row, int]:
    """Largest absolute value of every feature, and the number of rows."""
    largest, n_rows = [0.0] * tables.n_features, 0
    for line in lines_of(tables.estimated, tables.estimated_names, "estimated table"):
        values = [abs(number_in(t, "estimated table")) for t in line[: tables.n_features]]
        largest = list(map(max, largest, values))
        n_rows += 1
    return largest, n_rows


def _share(inputs: PublicInputs, tables: Tables, n_rows: int) -> float:
    """Share of the rows that can be worked out in reasonable time."""
    m, d = tables.n_coordinates, tables.n_features
    work = d + (2 * m * m if "covariance" in inputs.numbers else 0)
    work += m * d if "basis" in inputs.numbers else 0
    return min(1.0, _MOST_WORK / max(1, work * n_rows))


def _compare(chain: Sequence[Step], tables: Tables, largest: Row, share: float) -> tuple[int, int]:
    """Count the rows that were worked out, and those of them that differ."""
    chosen, checked, off = secrets.SystemRandom(), 0, 0
    pairs = zip_longest(
        lines_of(tables.table, tables.names, "table"),
        lines_of(tables.estimated, tables.estimated_names, "estimated table"),
    )
    for line, stated in pairs:
        if line is None or stated is None:
            raise TableError("The two tables have different numbers of rows.")
        if line[tables.n_coordinates :] != stated[tables.n_features :]:
            raise TableError("The labels beside the two tables differ.")
        if share < 1 and chosen.random() > share:
            continue
        row = [number_in(text, "table") for text in line[: tables.n_coordinates]]
        for step in chain:
            row = step(row)
        values = [number_in(t, "estimated table") for t in stated[: tables.n_features]]
        checked += 1
        off += any(
            abs(value - right) > TOLERANCE * most
            for value, right, most in zip(values, row, largest, strict=True)
        )
    return checked, off
