"""Turn whatever a database complains about into one clear refusal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from neuroveil.errors import BudgetError

NOT_A_LEDGER = "a database that is not a ledger"
APPEND_ONLY = "the ledger is append-only"
"""What the triggers say; recognised below."""

# What SQLite says, in lower case. Its error codes do not tell all of these apart.
_SQLITE = {
    "locked": "one that another process has locked",
    "readonly": "a read-only one",
    "full": "a full disk",
    "unable to open": "a file that cannot be opened",
    "not a database": NOT_A_LEDGER,
    "no such table": NOT_A_LEDGER,
    "no such column": NOT_A_LEDGER,
    "malformed": "a damaged file",
    "decode": "a damaged file",
    "disk i/o": "a disk that reports errors",
}

# PostgreSQL's condition codes, by their first characters.
_POSTGRESQL = {
    "55P03": "one that another process has locked",
    "40": "one that another process has locked",
    "23505": "one that another process wrote to at the same moment",
    "25006": "a read-only one",
    "42501": "one that this user may not write to",
    "53100": "a full disk",
    "53": "a server that is out of resources",
    "42P01": NOT_A_LEDGER,
    "42703": NOT_A_LEDGER,
    "XX": "a damaged database",
    "57": "a server that is shutting down",
    "28": "a server that refuses this user",
    "3D": "a server without this database",
}


@contextmanager
def refused_clearly() -> Iterator[None]:
    """Guard a block that talks to a database.

    Yields
    ------
    None
        The block to guard.

    Raises
    ------
    BudgetError
        If the database is locked, read-only, full, damaged, absent or not a ledger.
    """
    try:
        yield
    except (sa.exc.SQLAlchemyError, sqlite3.Error, UnicodeDecodeError) as error:
        raise BudgetError(
            "ledger", "a database that can be read and written", _complaint(error),
            "Nothing was released. Put that right and run again.",
        ) from None  # fmt: skip


def _complaint(error: Exception) -> str:
    original = getattr(error, "orig", None) or error
    said = str(original).lower()
    code = getattr(original, "sqlstate", None)
    # Not every message with these words: a damaged file may quote the triggers.
    if APPEND_ONLY in said and (isinstance(original, sqlite3.IntegrityError) or code == "P0001"):
        return "an attempt to change an old entry"
    if code is not None:
        known = (text for start, text in _POSTGRESQL.items() if code.startswith(start))
        return next(known, f"a database error with the code {code}")
    if isinstance(original, sqlite3.Error | UnicodeDecodeError):
        return next((text for key, text in _SQLITE.items() if key in said), "a database error")
    return "a server that does not answer"
