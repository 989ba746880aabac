"""Ledger entries and the hash chain over them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Literal

from neuroveil.errors import BudgetError
from neuroveil.types.charge import ChargeRequest

GENESIS_HASH = "0" * 64


@dataclass(frozen=True)
class Entry:
    """One line of the ledger.

    Parameters
    ----------
    number : int
        0 for the limit, then 1, 2, … for the spends.
    kind : {"limit", "spend"}
        The first entry sets the limit; all others spend.
    epsilon, delta : str
        Exact fractions as text, for example ``"1/2"``.
    mechanism : str
        What the spend was for; empty for the limit.
    n_patients, dimension : int
        Size of the release; 0 for the limit.
    columns_digest : str
        Digest of the released column names; empty for the limit.
    created : str
        Time of writing, UTC, ISO 8601.
    nonce : str
        Random text, so that an entry's hash tells nothing about its content.
    previous_hash : str
        Hash of the entry before.
    """

    number: int
    kind: Literal["limit", "spend"]
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

    @property
    def amount(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta as exact fractions."""
        return Fraction(self.epsilon), Fraction(self.delta)


def spend_entry(request: ChargeRequest, number: int, previous_hash: str, stamp: str,
                nonce: str) -> Entry:  # fmt: skip
    """Write a request down as an entry.

    Parameters
    ----------
    request : ChargeRequest
        What is spent.
    number : int
        Number of the new entry.
    previous_hash : str
        Hash of the entry before.
    stamp : str
        Time, UTC, ISO 8601.
    nonce : str
        Fresh random text.

    Returns
    -------
    Entry
        The new entry.
    """
    return Entry(
        number=number, kind="spend", epsilon=str(request.epsilon), delta=str(request.delta),
        mechanism=request.mechanism, n_patients=request.n_patients, dimension=request.dimension,
        columns_digest=request.columns_digest, created=stamp, nonce=nonce,
        previous_hash=previous_hash,
    )  # fmt: skip


def check_chain(entries: Iterable[tuple[Entry, str]]) -> list[Entry]:
    """Check numbering, kinds, amounts and hashes of a whole ledger.

    Parameters
    ----------
    entries : iterable of (Entry, str)
        Entries in order, each with the hash that is stored beside it.

    Returns
    -------
    list of Entry
        The checked entries.

    Raises
    ------
    BudgetError
        If anything was changed, removed or added out of order.
    """
    checked: list[Entry] = []
    previous = GENESIS_HASH
    for position, (entry, stored) in enumerate(entries):
        kind = "limit" if position == 0 else "spend"
        in_order = entry.number == position and entry.kind == kind
        if not in_order or entry.previous_hash != previous or entry.hash != stored:
            raise tampered(f"entry {position} does not match its hash")
        try:
            epsilon, delta = entry.amount
        except (ValueError, ZeroDivisionError):
            raise tampered(f"entry {position} holds no amount") from None
        if epsilon < 0 or delta < 0:
            raise tampered(f"entry {position} gives budget back")
        checked.append(entry)
        previous = stored
    if not checked:
        raise tampered("no limit is written in it")
    return checked


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
