"""Where entries are kept: SQLite with full synchronisation and append-only triggers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from neuroveil.errors import BudgetError
from neuroveil.ledger.entries import Entry

APPLICATION_ID = 0x6E766C67  # "nvlg", so that another program's database is not taken for ours
LOCK_TIMEOUT_SECONDS = 30

_METADATA = sa.MetaData()
ENTRIES = sa.Table(
    "entry",
    _METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Text, nullable=False),
    sa.Column("delta", sa.Text, nullable=False),
    sa.Column("mechanism", sa.Text, nullable=False),
    sa.Column("n_patients", sa.Integer, nullable=False),
    sa.Column("dimension", sa.Integer, nullable=False),
    sa.Column("columns_digest", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("nonce", sa.Text, nullable=False),
    sa.Column("previous_hash", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
)
_TRIGGERS = (
    "CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
    "CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END",
)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open SQLite with explicit transactions; ``mode`` is SQLite's (``rw``, ``rwc``, ``ro``)."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None,
        timeout=LOCK_TIMEOUT_SECONDS, check_same_thread=False,
    )  # fmt: skip
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def open_engine(path: Path, mode: str = "rw") -> sa.Engine:
    """Open the database file of a ledger.

    Parameters
    ----------
    path : Path
        The SQLite file.
    mode : {"rw", "rwc", "ro"}
        SQLite's opening mode; ``"rwc"`` creates the file.

    Returns
    -------
    sqlalchemy.Engine
        Transactions take the write lock when they begin, so that two processes never
        read the same remainder.
    """
    engine = sa.create_engine(
        "sqlite://", creator=lambda: _connect(path, mode), poolclass=sa.pool.NullPool
    )

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN" if mode == "ro" else "BEGIN IMMEDIATE")

    return engine


def create_schema(engine: sa.Engine) -> None:
    """Create the table and its triggers in an empty database.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        From :func:`open_engine` with mode ``"rwc"``.
    """
    with engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert isinstance(raw, sqlite3.Connection)
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute(f"PRAGMA application_id={APPLICATION_ID}")
    with engine.begin() as connection:
        _METADATA.create_all(connection)
        for trigger in _TRIGGERS:
            connection.exec_driver_sql(trigger)


def append(connection: sa.Connection, entry: Entry) -> None:
    """Add one entry inside the caller's transaction.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        With a transaction that holds the write lock.
    entry : Entry
        The new entry.
    """
    connection.execute(ENTRIES.insert().values(**asdict(entry), hash=entry.hash))


def read_all(connection: sa.Connection) -> list[tuple[Entry, str]]:
    """Read every entry with its stored hash, in order.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        An open connection.

    Returns
    -------
    list of (Entry, str)
        Unchecked.
    """
    rows = connection.execute(sa.select(ENTRIES).order_by(ENTRIES.c.number)).mappings()
    result = []
    for row in rows:
        fields: dict[str, Any] = dict(row)
        stored = str(fields.pop("hash"))
        result.append((Entry(**fields), stored))
    return result


@contextmanager
def refused_clearly() -> Iterator[None]:
    """Turn whatever the database complains about into one clear refusal.

    Yields
    ------
    None
        The block to guard.

    Raises
    ------
    BudgetError
        If the database is locked, read-only, full, damaged or not a ledger.
    """
    try:
        yield
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        original = getattr(error, "orig", None) or error
        raise BudgetError(
            "ledger", "a database that can be written to", _complaint(str(original)),
            "Nothing was released. Put that right and run again.",
        ) from None  # fmt: skip


def _complaint(message: str) -> str:
    known = {
        "locked": "one that another process has locked",
        "readonly": "a read-only one",
        "full": "a full disk",
        "unable to open": "a file that cannot be opened",
        "not a database": "a file that is not a ledger",
        "no such table": "a file that is not a ledger",
        "no such column": "a file that is not a ledger",
        "malformed": "a damaged file",
        "append-only": "an attempt to change an old entry",
        "disk i/o": "a disk that reports errors",
    }
    lowered = message.lower()
    return next((text for key, text in known.items() if key in lowered), "a database error")
