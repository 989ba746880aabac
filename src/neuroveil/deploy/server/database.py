"""The server's database: SQLite in its folder, or PostgreSQL for several workers."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.tables import METADATA
from neuroveil.errors import MachineError, StudyError, StudyMistake

HOSPITAL = sa.Table(
    "deploy_hospital",
    METADATA,
    sa.Column("key_id", sa.String(32), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("public_key", sa.String(64), nullable=False),
    sa.Column("is_active", sa.Boolean, nullable=False),
)
NONCE = sa.Table(
    "deploy_nonce",
    METADATA,
    sa.Column("key_id", sa.String(32), primary_key=True),
    sa.Column("nonce", sa.String(32), primary_key=True),
    sa.Column("expires", sa.Float, nullable=False, index=True),
)
SUBMISSION = sa.Table(
    "deploy_submission",
    METADATA,
    sa.Column("content_id", sa.String(64), primary_key=True),
    sa.Column("key_id", sa.String(32), primary_key=True),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("begun", sa.Float, nullable=False),
    sa.Column("manifest", sa.Text, nullable=False),
    sa.Column("facts", sa.Text),
    sa.Column("receipt", sa.Text),
)
AUDIT = sa.Table(
    "deploy_audit",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
)

_WRITES = "neuroveil_deploy_writes"
_LOCK = 0x6E76_6470  # "nvdp", one writer at a time on a server
_GUARDS = {
    event: f"CREATE TRIGGER IF NOT EXISTS deploy_audit_no_{event} BEFORE {event.upper()} "
    f"ON {AUDIT.name} BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    for event in ("update", "delete")
}
_GUARD_FUNCTION = """
CREATE OR REPLACE FUNCTION neuroveil_deploy_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$
"""
_GUARD_TRIGGER = f"""
CREATE OR REPLACE TRIGGER deploy_audit_no_change BEFORE UPDATE OR DELETE ON {AUDIT.name}
FOR EACH ROW EXECUTE FUNCTION neuroveil_deploy_append_only()
"""


class Database:
    """A connection pool with two kinds of transactions.

    Parameters
    ----------
    location : Path or str
        A SQLite file, or the URL of a PostgreSQL database.

    Raises
    ------
    StudyError
        If the driver of the database is not installed, or the URL is none.
    """

    def __init__(self, location: Path | str) -> None:
        self._file = location if isinstance(location, Path) else None
        try:
            self._engine = _file(location) if isinstance(location, Path) else _server(location)
        except (ImportError, sa.exc.ArgumentError):
            raise StudyError([StudyMistake(
                "database", "a database that can be used", "no driver for it, or no URL",
                "Install `neuroveil[server]`, and write postgresql+psycopg://HOST/NAME.",
            )]) from None  # fmt: skip

    def create(self) -> None:
        """Make the tables where they are missing.

        Raises
        ------
        MachineError
            If the database cannot be reached.
        """
        try:
            if self._file is not None:
                os.close(os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600))
            with self._engine.execution_options(**{_WRITES: True}).begin() as connection:
                self._lock(connection)
                METADATA.create_all(connection)
                guards = _GUARDS.values() if self._file else (_GUARD_FUNCTION, _GUARD_TRIGGER)
                for guard in guards:
                    connection.exec_driver_sql(guard)
        except (sa.exc.SQLAlchemyError, OSError):
            raise MachineError(
                "database", "a database that answers", "none",
                "Check that it runs, and the rights of the server's folder.",
            ) from None  # fmt: skip

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Look at the database.

        Yields
        ------
        sqlalchemy.Connection
            In a transaction.
        """
        with _refused(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Hold the write lock for a block; what it wrote is on the disk afterwards.

        Yields
        ------
        sqlalchemy.Connection
            In a transaction that is committed unless the block fails.
        """
        with _refused(), self._engine.execution_options(**{_WRITES: True}).begin() as connection:
            self._lock(connection)
            yield connection

    def scrub(self) -> None:
        """Leave nothing of deleted rows in the write-ahead log of a SQLite file.

        PostgreSQL keeps deleted rows until its own VACUUM; they are sealed there, too.
        """
        if self._file is not None:
            raw = self._engine.raw_connection()
            try:
                raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                raw.close()

    def _lock(self, connection: sa.Connection) -> None:
        if self._file is None:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            connection.exec_driver_sql("SET LOCAL synchronous_commit = 'on'")


@contextmanager
def _refused() -> Iterator[None]:
    """Turn what a database says into a refusal without its words: they repeat values."""
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        is_full = "full" in str(getattr(error, "orig", "")).lower()
        raise Refusal(
            "no_room" if is_full else "database_unavailable", "a database that answers",
            "a full disk" if is_full else "none", "Nothing was lost. Try again in a while.",
        ) from None  # fmt: skip


def _file(path: Path) -> sa.Engine:
    def connect() -> sqlite3.Connection:
        # A file that has gone must not be replaced by an empty one.
        raw = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=30.0, isolation_level=None,
            check_same_thread=False,
        )  # fmt: skip
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("PRAGMA secure_delete=ON")
        return raw

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.NullPool)

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        writes: Any = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _server(location: str) -> sa.Engine:
    url = sa.make_url(location).set(drivername="postgresql+psycopg")
    return sa.create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 5})
