"""Where a ledger is: a file, or a database on a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Protocol

from neuroveil.errors import BudgetError
from neuroveil.ledger.book import Book
from neuroveil.ledger.entries import Entry

Location = Path | str
"""Path of a SQLite file, or URL of a PostgreSQL database."""


class Store(Protocol):
    """A database that keeps a ledger."""

    @property
    def exists(self) -> bool:
        """Whether it holds a ledger."""
        ...

    def reading(self) -> Any:
        """Look at one state of the ledger.

        Returns
        -------
        context manager
            Gives a connection.
        """
        ...

    def writing(self) -> Any:
        """Hold the write lock for a block.

        Returns
        -------
        context manager
            Gives a connection; commits unless the block fails.
        """
        ...

    def read(self, connection: Any) -> Book:
        """Read and check everything.

        Parameters
        ----------
        connection : sqlalchemy.Connection
            From :meth:`reading` or :meth:`writing`.

        Returns
        -------
        Book
            Checked.
        """
        ...

    def make_current(self, connection: Any, book: Book) -> None:
        """Bring a ledger of an older format to the present one.

        Parameters
        ----------
        connection : sqlalchemy.Connection
            From :meth:`writing`.
        book : Book
            As it was read.
        """
        ...

    def create(self, opening: Entry) -> None:
        """Start the ledger with its first entry.

        Parameters
        ----------
        opening : Entry
            The first entry.
        """
        ...


def is_url(location: Location) -> bool:
    """Tell whether a location is a database on a server.

    Parameters
    ----------
    location : path or str
        As written in a study or on the command line.

    Returns
    -------
    bool
        True for anything with a scheme, ``postgresql://`` for example.
    """
    return isinstance(location, str) and "://" in location


def named(location: Location) -> str:
    """Name a ledger in a message: no folders, no server, no password.

    Parameters
    ----------
    location : path or str
        Where it is.

    Returns
    -------
    str
        File name, or ``"the PostgreSQL ledger"``.
    """
    return "the PostgreSQL ledger" if is_url(location) else Path(location).name


def key_file_beside(location: Location) -> Path | None:
    """Say where a ledger's key of patients lies unless somebody says otherwise.

    Parameters
    ----------
    location : path or str
        Where the ledger is.

    Returns
    -------
    Path or None
        Beside a file; nothing for a server, where it must be named.
    """
    if is_url(location):
        return None
    path = Path(location)
    return path.with_name(f"{path.name}.key")


def open_store(location: Location, mode: Literal["rw", "ro"] = "rw") -> Store:
    """Open the database of a ledger.

    Parameters
    ----------
    location : path or str
        Where the ledger is.
    mode : {"rw", "ro"}
        ``"ro"`` for looking only.

    Returns
    -------
    Store
        A file or a server.

    Raises
    ------
    BudgetError
        If the location is none that neuroveil can use.
    """
    if not is_url(location):
        from neuroveil.ledger.sqlite import SQLiteStore

        return SQLiteStore(Path(location), mode)
    import sqlalchemy as sa

    from neuroveil.ledger.postgresql import PostgreSQLStore

    try:
        url = sa.make_url(str(location))
    except sa.exc.ArgumentError:
        url = sa.URL.create("unreadable")
    if url.drivername not in ("postgresql", "postgresql+psycopg"):
        raise BudgetError(
            "ledger", "a file, or postgresql+psycopg://…", "another kind of location",
            "Name a file, or the URL of a PostgreSQL database.",
        )  # fmt: skip
    return PostgreSQLStore(url.set(drivername="postgresql+psycopg"), mode)
