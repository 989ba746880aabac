"""A ledger in a file: SQLite with a write-ahead log and full synchronisation."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from neuroveil.errors import BudgetError
from neuroveil.ledger import upgrade
from neuroveil.ledger.book import Book
from neuroveil.ledger.contents import FORMAT
from neuroveil.ledger.entries import Entry, tampered
from neuroveil.ledger.patients import publish
from neuroveil.ledger.refusals import APPEND_ONLY, NOT_A_LEDGER, refused_clearly
from neuroveil.ledger.tables import ENTRY, METADATA, ROSTER, append, read_book

APPLICATION_ID = 0x6E766C67  # "nvlg", so that another program's database is not taken for ours
LOCK_TIMEOUT_SECONDS = 30.0

_WRITES = "neuroveil_ledger_writes"


def _triggers() -> dict[str, str]:
    """Triggers by name. Inserting is guarded too: ``INSERT OR REPLACE`` fires no delete trigger."""
    refuse = f"BEGIN SELECT RAISE(ABORT, '{APPEND_ONLY}'); END"
    found = {}
    for table, new_row_fits in (
        (ENTRY.name, f"NEW.number = (SELECT count(*) FROM {ENTRY.name})"),
        (ROSTER.name, f"NOT EXISTS (SELECT 1 FROM {ROSTER.name} WHERE hash = NEW.hash)"),
    ):
        found[f"{table}_no_update"] = f"BEFORE UPDATE ON {table} {refuse}"
        found[f"{table}_no_delete"] = f"BEFORE DELETE ON {table} {refuse}"
        found[f"{table}_in_order"] = f"BEFORE INSERT ON {table} WHEN NOT ({new_row_fits}) {refuse}"
    return {name: f"CREATE TRIGGER {name} {text}" for name, text in found.items()}


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open SQLite with explicit transactions.

    Parameters
    ----------
    path : Path
        The file.
    mode : {"rw", "rwc", "ro"}
        SQLite's opening mode; ``"rwc"`` creates the file.

    Returns
    -------
    sqlite3.Connection
        Every commit is flushed to the disk before it returns.
    """
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None,
        timeout=LOCK_TIMEOUT_SECONDS, check_same_thread=False,
    )  # fmt: skip
    for pragma in ("synchronous=FULL", "fullfsync=1", "cell_size_check=1", "trusted_schema=0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


class SQLiteStore:
    """The file of a ledger.

    Parameters
    ----------
    path : Path
        SQLite file.
    mode : {"rw", "rwc", "ro"}
        SQLite's opening mode.
    """

    def __init__(self, path: Path, mode: Literal["rw", "rwc", "ro"] = "rw") -> None:
        self._path = path
        self._engine = sa.create_engine(
            # Looked up on every call, so that what a connection is can be replaced in tests.
            "sqlite://", creator=lambda: connect(path, mode), poolclass=sa.pool.NullPool,
        )  # fmt: skip

        @sa.event.listens_for(self._engine, "begin")
        def _begin(connection: sa.Connection) -> None:
            # A writer takes the lock before it reads, so two never read the same remainder.
            writes = connection.get_execution_options().get(_WRITES, False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self._path.is_file()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Look at one state of the ledger.

        Yields
        ------
        sqlalchemy.Connection
            In a transaction that sees no later writes.
        """
        with refused_clearly(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Hold the write lock for a block; what it wrote is on the disk afterwards.

        Yields
        ------
        sqlalchemy.Connection
            In a transaction that is committed unless the block fails.
        """
        writer = self._engine.execution_options(**{_WRITES: True})
        with refused_clearly(), writer.begin() as connection:
            yield connection

    def read(self, connection: sa.Connection) -> Book:
        """Read and check everything, the file's own structure included.

        Parameters
        ----------
        connection : sqlalchemy.Connection
            From :meth:`reading` or :meth:`writing`.

        Returns
        -------
        Book
            Checked.

        Raises
        ------
        BudgetError
            If the file is no ledger, is damaged, or was tampered with.
        """
        version = self._format(connection)
        damage = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
        if damage != "ok":
            raise tampered("a damaged file")
        if version == 0:
            return upgrade.read_format_0(connection)
        stored = connection.exec_driver_sql(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        )
        found = {str(row[0]): str(row[1]) for row in stored}
        if any(found.get(name) != text for name, text in _triggers().items()):
            raise tampered("no guard against changes to old entries")
        return read_book(connection)

    def _format(self, connection: sa.Connection) -> int:
        application = connection.exec_driver_sql("PRAGMA application_id").scalar()
        version = connection.exec_driver_sql("PRAGMA user_version").scalar()
        if application != APPLICATION_ID or not isinstance(version, int):
            raise BudgetError(
                "ledger", "a ledger of neuroveil", NOT_A_LEDGER, "Name the right file."
            )
        if version not in range(FORMAT + 1):
            raise BudgetError(
                "ledger", f"format {FORMAT} or older", "a ledger of another format",
                "Install the version of neuroveil that wrote it, or a newer one.",
            )  # fmt: skip
        return version

    def make_current(self, connection: sa.Connection, book: Book) -> None:
        """Bring a ledger of format 0 to the present format, inside a write.

        Parameters
        ----------
        connection : sqlalchemy.Connection
            From :meth:`writing`.
        book : Book
            As it was read.
        """
        if not book.is_current:
            upgrade.set_format_0_aside(connection)
            self._create_schema(connection)
            for entry in book.entries:
                append(connection, entry)

    def _create_schema(self, connection: sa.Connection) -> None:
        METADATA.create_all(connection)
        for trigger in _triggers().values():
            connection.exec_driver_sql(trigger)
        connection.exec_driver_sql(f"PRAGMA user_version={FORMAT}")

    def create(self, opening: Entry) -> None:
        """Start the ledger with its first entry.

        It is built aside and named when it is finished, so that a crash never leaves a
        ledger without a limit.

        Parameters
        ----------
        opening : Entry
            The first entry.

        Raises
        ------
        BudgetError
            If a ledger is there already, or the disk does not play along.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        try:
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            aside = SQLiteStore(draft)
            aside._initialise()
            with aside.writing() as connection:
                aside._create_schema(connection)
                append(connection, opening)
            if not publish(draft, self._path):
                raise BudgetError(
                    "ledger", "no file yet", "one that another process has just made",
                    "Use the existing ledger.",
                )  # fmt: skip
        finally:
            for leftover in self._path.parent.glob(f"{draft.name}*"):
                leftover.unlink(missing_ok=True)

    def _initialise(self) -> None:
        with refused_clearly(), self._engine.connect() as connection:
            raw = connection.connection.dbapi_connection
            assert isinstance(raw, sqlite3.Connection)
            raw.execute("PRAGMA journal_mode=WAL")
            raw.execute(f"PRAGMA application_id={APPLICATION_ID}")
