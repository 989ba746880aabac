"""The audit log: append-only, each entry bound to the one before it by its hash."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from neuroveil.deploy.receipt import AUDIT_LOG, signed
from neuroveil.deploy.server.database import AUDIT, Database
from neuroveil.errors import CertificateError
from neuroveil.keys import SiteKey
from neuroveil.types.certificate import canonical_json, digest

_START = digest(b"")


def utc_now() -> str:
    """Give the time as it is written down.

    Returns
    -------
    str
        UTC to the second, ISO 8601.
    """
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def append(connection: sa.Connection, event: str, facts: Mapping[str, Any]) -> tuple[int, str]:
    """Write one entry inside the caller's transaction.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        From :meth:`~neuroveil.deploy.server.database.Database.writing`.
    event : str
        What happened, for example ``"submission.accepted"``.
    facts : mapping
        Public facts: key ids, digests, codes; no content.

    Returns
    -------
    tuple of int and str
        Number of the entry and its hash.
    """
    last = connection.execute(
        sa.select(AUDIT.c.number, AUDIT.c.hash).order_by(AUDIT.c.number.desc()).limit(1)
    ).first()
    number, before = (last[0] + 1, last[1]) if last else (0, _START)
    entry = {"number": number, "time": utc_now(), "event": event, **facts, "previous": before}
    body = canonical_json(entry)
    connection.execute(AUDIT.insert().values(number=number, body=body.decode(), hash=digest(body)))
    return number, digest(body)


def export(database: Database, key: SiteKey) -> dict[str, Any]:
    """Give the whole log, checked, with the server's signature over it.

    Parameters
    ----------
    database : Database
        The server's database.
    key : SiteKey
        The server's key.

    Returns
    -------
    dict
        Keys ``entries``, ``head`` (hash of the last one), and those of a signed statement.
    """
    with database.reading() as connection:
        rows = connection.execute(sa.select(AUDIT.c.body, AUDIT.c.hash).order_by(AUDIT.c.number))
        lines = [(str(row[0]), str(row[1])) for row in rows]
    entries = check_entries(lines)
    head = lines[-1][1] if lines else _START
    return signed(key, AUDIT_LOG, {"exported": utc_now(), "entries": entries, "head": head})


def check_entries(lines: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Check that nothing was changed, left out or put in between.

    Parameters
    ----------
    lines : list of tuple of str and str
        Body and hash of every entry, in order.

    Returns
    -------
    list of dict
        The entries.

    Raises
    ------
    CertificateError
        If the chain is broken; tells at which entry.
    """
    entries, before = [], _START
    for number, (body, stated) in enumerate(lines):
        entry = _entry(body)
        fits = digest(body.encode()) == stated and entry.get("previous") == before
        if not fits or entry.get("number") != number:
            raise CertificateError(
                "audit log", "a chain of entries as they were written",
                f"a break at entry {number}",
                "Keep the database as it is: somebody changed it. Compare with an export.",
            )  # fmt: skip
        entries.append(entry)
        before = stated
    return entries


def _entry(body: str) -> dict[str, Any]:
    """Read an entry; what is no entry any more fits into no chain."""
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}
