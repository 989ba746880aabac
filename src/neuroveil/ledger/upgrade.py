"""Ledgers of format 0: read as they are, and carried over before anything is written.

Format 0 had one table ``entry`` with a column a field. Its spends keep their amounts, order
and dates. The old table stays in the file under another name, so that an old version of
neuroveil refuses the file instead of spending from it again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sa

from neuroveil.errors import BudgetError
from neuroveil.ledger.amounts import read_amount, read_count
from neuroveil.ledger.book import Book
from neuroveil.ledger.contents import Content, Opening, Spend
from neuroveil.ledger.entries import GENESIS_HASH, Entry, next_entry, tampered
from neuroveil.types.budget import AccountingEvent

_NAME = "entry"
_NAME_ASIDE = "entry_of_format_0"


@dataclass(frozen=True)
class _OldEntry:
    """An entry of format 0; its hash is over exactly these fields."""

    number: int
    kind: str
    epsilon: str
    delta: str
    mechanism: str
    n_patients: int
    dimension: int
    columns_digest: str
    created: str
    nonce: str
    previous_hash: str

    @property
    def hash(self) -> str:
        """SHA-256 over every field, hexadecimal."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def read_format_0(connection: sa.Connection) -> Book:
    """Read and check a ledger of format 0, as the present format would put it.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        An open connection.

    Returns
    -------
    Book
        With entries of the present format, not written anywhere yet.

    Raises
    ------
    BudgetError
        If it was tampered with.
    """
    names = (*_OldEntry.__dataclass_fields__, "hash")
    rows = connection.exec_driver_sql(f"SELECT {', '.join(names)} FROM {_NAME} ORDER BY number")
    old = _check_old_chain([dict(zip(names, row, strict=True)) for row in rows])
    entries: list[Entry] = []
    for before in old:
        try:
            entry = next_entry(_content(before, old[-1].hash), entries[-1] if entries else None)
        except (ValueError, ZeroDivisionError, BudgetError):
            raise tampered(f"entry {before.number} holds no amount") from None
        entries.append(replace(entry, created=before.created))
    return Book(tuple(entries), {}, is_current=False)


def _check_old_chain(rows: list[dict[str, Any]]) -> list[_OldEntry]:
    checked: list[_OldEntry] = []
    previous = GENESIS_HASH
    for position, row in enumerate(rows):
        stored = row.pop("hash")
        if any(not isinstance(value, str | int) for value in row.values()):
            raise tampered(f"entry {position} does not match its hash")
        entry = _OldEntry(**row)
        kind = "limit" if position == 0 else "spend"
        in_order = (entry.number, entry.kind, entry.previous_hash) == (position, kind, previous)
        if not in_order or entry.hash != stored:
            raise tampered(f"entry {position} does not match its hash")
        checked.append(entry)
        previous = stored
    if not checked:
        raise tampered("no limit is written in it")
    return checked


def _content(old: _OldEntry, head: str) -> Content:
    epsilon, delta = read_amount(old.epsilon), read_amount(old.delta)
    texts = (old.mechanism, old.columns_digest, old.created)
    if not all(isinstance(text, str) for text in texts) or epsilon == 0 or delta >= 1:
        raise ValueError("no entry of this format")
    if old.number == 0:
        return Opening(epsilon, delta, upgraded_from=head)
    return Spend(
        events=(AccountingEvent(old.mechanism, epsilon, delta),), mechanism=old.mechanism,
        n_patients=read_count(old.n_patients), dimension=read_count(old.dimension),
        columns_digest=old.columns_digest,
    )  # fmt: skip


def set_format_0_aside(connection: sa.Connection) -> None:
    """Rename the old table; its triggers go with it.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        With a transaction that holds the write lock.
    """
    connection.exec_driver_sql(f"ALTER TABLE {_NAME} RENAME TO {_NAME_ASIDE}")
