"""Which of a person's rows stays: duplicates resolved before anything is protected.

It happens on the trusted side: a person with two rows would have twice the influence that the
guarantee allows. The number of people that comes out is the public n of a release, and it is
fixed before any feature is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

import numpy as np

from neuroveil.errors import LinkageError
from neuroveil.linkage.dice import Rows
from neuroveil.linkage.people import People
from neuroveil.types.recording import FloatArray
from neuroveil.types.table import FeatureTable

Policy = Literal["pool", "keep_longest", "keep_newest", "hospital_order"]
"""What becomes of a person's several rows; see :func:`resolve_tables`."""


def keep_one(people: Rows, ranks: Sequence[Any]) -> Rows:
    """Choose one record a person: the one that ranks highest, the first among equals.

    Parameters
    ----------
    people : ndarray of int64, shape (n_records,)
        Number of the person, from 0.
    ranks : sequence
        One comparable value a record: seconds, a date, or a place in an order.

    Returns
    -------
    ndarray of int64, shape (n_people,)
        Row of the kept record, by person.
    """
    kept: dict[int, int] = {}
    for row, person in enumerate(people.tolist()):
        if person not in kept or ranks[row] > ranks[kept[person]]:
            kept[person] = row
    return np.array([kept[person] for person in sorted(kept)], dtype=np.int64)


def resolve_tables(
    tables: Sequence[FeatureTable], people: People, policy: Policy, dates: Sequence[str] = ()
) -> FeatureTable:
    """Make one table with one row a person of several hospitals' tables.

    Parameters
    ----------
    tables : sequence of FeatureTable
        One a hospital, in the fixed order of the hospitals, with the same columns. Private.
    people : People
        Who is one person; settled.
    policy : {"pool", "keep_longest", "keep_newest", "hospital_order"}
        ``pool`` averages a person's rows, weighted by their windows; ``keep_longest`` keeps the
        row with the most recorded seconds; ``keep_newest`` that with the latest date; and
        ``hospital_order`` that of the first hospital. Each person's row rests on that person's
        own records alone, whichever it is.
    dates : sequence of str
        For ``keep_newest``: ``YYYY-MM-DD`` a record, over all tables in order.

    Returns
    -------
    FeatureTable
        One row a person; its length is the n of the release. Private.

    Raises
    ------
    LinkageError
        If people are not settled, or tables and people do not fit together.
    """
    people.require_settled()
    _require_fit(tables, people, policy, dates)
    stacked = _Stacked(
        np.concatenate(people.of_record),
        np.concatenate([table.values for table in tables]),
        np.concatenate([table.n_windows for table in tables]),
        np.concatenate([table.seconds for table in tables]),
    )
    kept = keep_one(stacked.person, _ranks(tables, policy, stacked, dates))
    rows = stacked.pooled(people.n_people) if policy == "pool" else stacked.taken(kept)
    keys = [f"list-{i + 1}:{key}" for i, table in enumerate(tables) for key in table.patients]
    names = set.intersection(*(set(table.attributes) for table in tables))
    columns = {name: [v for t in tables for v in t.attributes[name]] for name in sorted(names)}
    return FeatureTable(
        patients=tuple(keys[row] for row in kept),
        columns=tables[0].columns,
        values=rows.values,
        n_windows=rows.n_windows,
        seconds=rows.seconds,
        attributes={name: tuple(column[row] for row in kept) for name, column in columns.items()},
        metadata=tables[0].metadata,
    )


@dataclass(frozen=True, eq=False)
class _Stacked:
    """All tables, one on top of the other."""

    person: Rows
    values: FloatArray
    n_windows: Rows
    seconds: FloatArray

    def taken(self, kept: Rows) -> _Stacked:
        return _Stacked(
            self.person[kept], self.values[kept], self.n_windows[kept], self.seconds[kept]
        )

    def pooled(self, n_people: int) -> _Stacked:
        """Average over a person's windows; a missing cell has none."""
        shape = (n_people, self.values.shape[1])
        weights = np.where(np.isnan(self.values), 0.0, self.n_windows[:, None])
        sums, totals = np.zeros(shape), np.zeros(shape)
        np.add.at(sums, self.person, np.nan_to_num(self.values) * weights)
        np.add.at(totals, self.person, weights)
        values: FloatArray = np.full(shape, np.nan)
        np.divide(sums, totals, out=values, where=totals > 0)
        n_windows, seconds = np.zeros(n_people, np.int64), np.zeros(n_people)
        np.add.at(n_windows, self.person, self.n_windows)
        np.add.at(seconds, self.person, self.seconds)
        return _Stacked(np.arange(n_people), values, n_windows, seconds)


def _ranks(
    tables: Sequence[FeatureTable], policy: Policy, stacked: _Stacked, dates: Sequence[str]
) -> Sequence[Any]:
    if policy == "keep_longest":
        return list(stacked.seconds)
    if policy == "keep_newest":
        return dates
    return [-number for number, table in enumerate(tables) for _ in table.patients]


def _require_fit(
    tables: Sequence[FeatureTable], people: People, policy: Policy, dates: Sequence[str]
) -> None:
    sizes = [table.n_patients for table in tables]
    if not tables or sizes != [len(rows) for rows in people.of_record]:
        raise LinkageError(
            "tables", "one a linked list, with a row a record", f"{len(tables)} of other sizes",
            "Link the patients of these very tables.",
        )  # fmt: skip
    if any(table.columns != tables[0].columns for table in tables):
        raise LinkageError(
            "tables", "the same columns in every hospital", "different ones",
            "Extract with the same montage and features everywhere.",
        )  # fmt: skip
    if policy not in get_args(Policy):
        raise LinkageError(
            "policy", f"one of {', '.join(get_args(Policy))}", "another", "Choose one of them."
        )
    if policy == "keep_newest" and (len(dates) != sum(sizes) or not all(map(_is_date, dates))):
        raise LinkageError(
            "dates of the records", "one a record, YYYY-MM-DD", "others", "Give a date for each."
        )


def _is_date(text: str) -> bool:
    """Whether the order of such texts is the order of days."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except (TypeError, ValueError):
        return False
