"""Ledger entries, how they are written down, and the hash chain over them.

An entry is one line of canonical JSON. Its hash is the SHA-256 of exactly that text, and the
text holds the hash of the entry before. A line that was changed, removed, added out of order,
or that says anything in another way than it would be written today, is refused.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from neuroveil.errors import BudgetError
from neuroveil.ledger.amounts import read_count
from neuroveil.ledger.contents import Content, decode, encode, kind_of

GENESIS_HASH = "0" * 64


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Parameters
    ----------
    number : int
        0 for the opening, then 1, 2, …
    created : str
        Time of writing, UTC, ISO 8601.
    nonce : str
        Random text, so that an entry's hash tells nothing about its content.
    previous_hash : str
        Hash of the entry before.
    content : Opening or Limit or Spend
        What it says.
    """

    number: int
    created: str
    nonce: str
    previous_hash: str
    content: Content

    @property
    def kind(self) -> Literal["opening", "limit", "spend"]:
        """What sort of entry it is."""
        return kind_of(self.content)

    @property
    def body(self) -> str:
        """The entry as canonical JSON."""
        document = {
            "number": self.number,
            "kind": self.kind,
            "created": self.created,
            "nonce": self.nonce,
            "previous_hash": self.previous_hash,
            "content": encode(self.content),
        }
        return json.dumps(document, sort_keys=True, separators=(",", ":"))

    @property
    def hash(self) -> str:
        """SHA-256 of the body, hexadecimal."""
        return hash_text(self.body)


def hash_text(text: str) -> str:
    """Hash a text.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        SHA-256 of its UTF-8 bytes, hexadecimal.
    """
    return hashlib.sha256(text.encode()).hexdigest()


def next_entry(content: Content, before: Entry | None = None) -> Entry:
    """Write something down as the entry after another.

    Parameters
    ----------
    content : Opening or Limit or Spend
        What it says.
    before : Entry, optional
        The newest entry; none for the first of a ledger.

    Returns
    -------
    Entry
        With the present time and a fresh nonce.
    """
    return Entry(
        number=before.number + 1 if before else 0,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        nonce=secrets.token_hex(16),
        previous_hash=before.hash if before else GENESIS_HASH,
        content=content,
    )


def check_chain(lines: Iterable[tuple[Any, Any, Any]]) -> tuple[Entry, ...]:
    """Check numbering, kinds, contents and hashes of a whole ledger.

    Parameters
    ----------
    lines : iterable of (number, body, hash)
        As they stand in the database, in order. Anything may stand there.

    Returns
    -------
    tuple of Entry
        The checked entries.

    Raises
    ------
    BudgetError
        If anything was changed, removed or added out of order.
    """
    checked: list[Entry] = []
    previous = GENESIS_HASH
    for position, (number, body, stored) in enumerate(lines):
        if not isinstance(body, str) or number != position or hash_text(body) != stored:
            raise tampered(f"entry {position} does not match its hash")
        entry = _parse(body, position)
        in_order = entry.number == position and (entry.kind == "opening") == (position == 0)
        if not in_order or entry.previous_hash != previous:
            raise tampered(f"entry {position} does not follow the one before")
        checked.append(entry)
        previous = stored
    if not checked:
        raise tampered("no limit is written in it")
    return tuple(checked)


def _parse(body: str, position: int) -> Entry:
    try:
        document = json.loads(body)
        texts = {name: document[name] for name in ("created", "nonce", "previous_hash")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise ValueError("no text")
        entry = Entry(
            number=read_count(document["number"]),
            **texts,
            content=decode(document["kind"], document["content"]),
        )
        is_canonical = entry.body == body
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, BudgetError):
        is_canonical = False
    if not is_canonical:
        raise tampered(f"entry {position} says nothing that a ledger says")
    return entry


def tampered(found: str) -> BudgetError:
    """Make the error for a ledger that cannot be trusted.

    Parameters
    ----------
    found : str
        What is wrong with it.

    Returns
    -------
    BudgetError
        Ready to raise.
    """
    return BudgetError(
        "ledger", "an unbroken chain of entries", found,
        "Do not release anything. Restore the ledger from a backup and find out who wrote to it.",
    )  # fmt: skip
