"""Tables of a ledger, the same in SQLite and PostgreSQL, and how they are read and written."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from neuroveil.ledger.book import Book
from neuroveil.ledger.entries import Entry, check_chain, hash_text
from neuroveil.ledger.patients import check_rosters

METADATA = sa.MetaData()
ENTRY = sa.Table(
    "neuroveil_entry",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
)
ROSTER = sa.Table(
    "neuroveil_roster",
    METADATA,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("patients", sa.Text, nullable=False),
)


def append(connection: sa.Connection, entry: Entry, roster: str | None = None) -> None:
    """Add one entry, with the list of its patients, inside the caller's transaction.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        With a transaction that holds the write lock.
    entry : Entry
        The new entry.
    roster : str, optional
        The list that the entry refers to; written where it is not there yet.
    """
    if roster is not None:
        name = hash_text(roster)
        known = connection.execute(sa.select(ROSTER.c.hash).where(ROSTER.c.hash == name))
        if known.first() is None:
            connection.execute(ROSTER.insert().values(hash=name, patients=roster))
    connection.execute(ENTRY.insert().values(number=entry.number, body=entry.body, hash=entry.hash))


def read_book(connection: sa.Connection) -> Book:
    """Read and check everything.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        An open connection.

    Returns
    -------
    Book
        Checked.

    Raises
    ------
    BudgetError
        If anything was changed, removed or added out of order.
    """
    columns = (ENTRY.c.number, ENTRY.c.body, ENTRY.c.hash)
    lines = connection.execute(sa.select(*columns).order_by(ENTRY.c.number))
    entries = check_chain((line[0], line[1], line[2]) for line in lines)
    stored = connection.execute(sa.select(ROSTER.c.hash, ROSTER.c.patients))
    texts: dict[Any, Any] = {name: text for name, text in stored}  # noqa: C416 (rows, no pairs)
    return Book(entries, check_rosters(texts))
