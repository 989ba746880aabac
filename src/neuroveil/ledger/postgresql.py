"""A ledger on a server: PostgreSQL, for several machines that share one budget.

All writers take the same advisory lock before they read, so two never read the same
remainder; and an entry's number is a primary key, so even a writer that ignores the lock
cannot add a second entry after the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import sqlalchemy as sa

from neuroveil.errors import BudgetError
from neuroveil.ledger.book import Book
from neuroveil.ledger.entries import Entry, tampered
from neuroveil.ledger.refusals import APPEND_ONLY, refused_clearly
from neuroveil.ledger.tables import ENTRY, METADATA, ROSTER, append, read_book

LOCK_TIMEOUT_SECONDS = 30.0

# "nvlg" and the table's own number, so that it is the same however a session finds the table.
_LOCK = (
    f"SELECT pg_advisory_xact_lock({0x6E766C67}, "
    f"(coalesce(to_regclass('{ENTRY.name}')::oid::bigint, 0) % 2147483647)::int)"
)
_FUNCTION = "neuroveil_append_only"
_TRIGGERS = {
    f"{table}_{event}": f"BEFORE {action} ON {table} FOR EACH {each}"
    for table in (ENTRY.name, ROSTER.name)
    for event, action, each in (
        ("no_change", "UPDATE OR DELETE", "ROW"),
        ("no_truncate", "TRUNCATE", "STATEMENT"),
        ("in_order", "INSERT", "ROW"),
    )
}
_FUNCTION_BODY = f"""
CREATE FUNCTION {_FUNCTION}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF TG_TABLE_NAME <> '{ENTRY.name}' THEN RETURN NEW; END IF;
    EXECUTE format('SELECT count(*) FROM %%I.%%I', TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO n;
    IF NEW.number = n THEN RETURN NEW; END IF;
  END IF;
  RAISE EXCEPTION '{APPEND_ONLY}';
END $$
"""


class PostgreSQLStore:
    """The database of a ledger.

    Parameters
    ----------
    url : sqlalchemy.URL
        Where it is; the schema is the first of the connection's search path.
    mode : {"rw", "ro"}
        ``"ro"`` for looking only.

    Raises
    ------
    BudgetError
        If the driver is not installed.
    """

    def __init__(self, url: sa.URL, mode: Literal["rw", "ro"] = "rw") -> None:
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise BudgetError(
                "ledger", "the driver for PostgreSQL", "none",
                "Install it with `pip install neuroveil[server]`.",
            ) from None  # fmt: skip
        self._mode = mode
        self._engine = sa.create_engine(url, poolclass=sa.pool.NullPool)

    @property
    def exists(self) -> bool:
        """Whether the database holds a ledger."""
        with self.reading() as connection:
            return _has_table(connection)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Look at one state of the ledger.

        Yields
        ------
        sqlalchemy.Connection
            In a transaction that sees no later writes.
        """
        reader = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        with refused_clearly(), reader.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Hold the write lock for a block; what it wrote is on the disk afterwards.

        Yields
        ------
        sqlalchemy.Connection
            In a transaction that is committed unless the block fails.

        Raises
        ------
        BudgetError
            If the server does not flush commits to its disk.
        """
        # Every statement sees what was committed before it, so also what the writer before us
        # committed while we waited for the lock.
        writer = self._engine.execution_options(
            isolation_level="READ COMMITTED", postgresql_readonly=self._mode == "ro"
        )
        with refused_clearly(), writer.begin() as connection:
            _require_durable(connection)
            milliseconds = round(LOCK_TIMEOUT_SECONDS * 1000)
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")
            connection.exec_driver_sql(_LOCK.replace("%", "%%"))
            yield connection

    def read(self, connection: sa.Connection) -> Book:
        """Read and check everything.

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
            If it was tampered with.
        """
        book = read_book(connection)
        stored = connection.exec_driver_sql(
            "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A') "
            f"AND tgrelid IN ('{ENTRY.name}'::regclass, '{ROSTER.name}'::regclass)"
        )
        if not set(_TRIGGERS) <= {row[0] for row in stored}:
            raise tampered("no guard against changes to old entries")
        return book

    def make_current(self, connection: sa.Connection, book: Book) -> None:
        """Do nothing: there was no older format on servers.

        Parameters
        ----------
        connection : sqlalchemy.Connection
            From :meth:`writing`.
        book : Book
            As it was read.
        """

    def create(self, opening: Entry) -> None:
        """Start the ledger with its first entry, in one transaction.

        Parameters
        ----------
        opening : Entry
            The first entry.

        Raises
        ------
        BudgetError
            If a ledger is there already.
        """
        with self.writing() as connection:
            if _has_table(connection):
                raise BudgetError(
                    "ledger", "no ledger yet", "an existing one",
                    "A limit that was set stays set. Use the existing ledger.",
                )  # fmt: skip
            METADATA.create_all(connection)
            connection.exec_driver_sql(_FUNCTION_BODY)
            for name, text in _TRIGGERS.items():
                connection.exec_driver_sql(
                    f"CREATE TRIGGER {name} {text} EXECUTE FUNCTION {_FUNCTION}()"
                )
            append(connection, opening)


def _has_table(connection: sa.Connection) -> bool:
    found: Any = connection.exec_driver_sql(f"SELECT to_regclass('{ENTRY.name}')").scalar()
    return found is not None


def _require_durable(connection: sa.Connection) -> None:
    settings = {
        name: connection.exec_driver_sql(f"SHOW {name}").scalar()
        for name in ("fsync", "full_page_writes")
    }
    if "off" in settings.values():
        raise BudgetError(
            "ledger", "a server that flushes every commit to its disk", "one that is told not to",
            "Set fsync and full_page_writes to on: a spend must survive a power cut.",
        )  # fmt: skip
    if connection.exec_driver_sql("SHOW synchronous_commit").scalar() in ("off", "local"):
        connection.exec_driver_sql("SET LOCAL synchronous_commit = 'on'")
