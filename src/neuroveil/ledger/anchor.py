"""Commitments to the ledger's newest entry, by which a replaced or old ledger is found.

A hash chain shows that nothing inside it was changed. It does not show that its end was cut
off, or that the whole file was exchanged for an older copy. So a study keeps, outside the
ledger, a commitment to the newest entry it has seen, and the next run checks that this entry
is still there.
"""

from __future__ import annotations

import hmac
import re
import secrets
from typing import Any

from neuroveil.errors import BudgetError
from neuroveil.ledger.book import Book
from neuroveil.ledger.entries import Entry, hash_text
from neuroveil.types.budget import HeadCommitment

_NONCE = re.compile(r"[0-9a-f]{64}\Z")


def commit(entry: Entry) -> HeadCommitment:
    """Commit to an entry with a fresh nonce.

    Parameters
    ----------
    entry : Entry
        The newest entry.

    Returns
    -------
    HeadCommitment
        Two commitments to the same entry have nothing in common.
    """
    nonce = secrets.token_hex(32)
    return HeadCommitment(entry.number, nonce, _digest(nonce, entry.number, entry.hash))


def _digest(nonce: str, number: int, entry_hash: str) -> str:
    return "sha256:" + hash_text(f"neuroveil ledger head\n{nonce}\n{number}\n{entry_hash}")


def check_commitment(book: Book, commitment: HeadCommitment) -> None:
    """Check that a ledger still holds the entry that was committed to.

    Parameters
    ----------
    book : Book
        The checked ledger.
    commitment : HeadCommitment
        From an earlier run.

    Raises
    ------
    BudgetError
        If the entry is missing or another one stands in its place.
    """
    number = commitment.number
    if number >= len(book.entries):
        raise _replaced(f"one that ends at entry {len(book.entries) - 1}, before entry {number}")
    expected = _digest(commitment.nonce, number, book.entries[number].hash)
    if not hmac.compare_digest(expected, commitment.digest):
        raise _replaced(f"one with another entry {number}")


def _replaced(found: str) -> BudgetError:
    return BudgetError(
        "ledger", "the ledger that this study was last charged to", found,
        "Do not release anything. The ledger was replaced, or an old copy was restored: find "
        "the newest one.",
    )  # fmt: skip


def to_json(commitment: HeadCommitment) -> dict[str, Any]:
    """Give a commitment as plain data, for an internal file.

    Parameters
    ----------
    commitment : HeadCommitment
        From :func:`commit`.

    Returns
    -------
    dict
        With the nonce, so internal.
    """
    return {
        "number": commitment.number,
        "nonce": commitment.nonce,
        "commitment": commitment.digest,
    }


def from_json(document: Any) -> HeadCommitment:
    """Read a commitment back.

    Parameters
    ----------
    document : dict
        From :func:`to_json`.

    Returns
    -------
    HeadCommitment
        The commitment.

    Raises
    ------
    BudgetError
        If it is none.
    """
    try:
        number, nonce = document["number"], document["nonce"]
        found = HeadCommitment(number, nonce, document["commitment"])
        is_whole = isinstance(number, int) and number >= 0 and bool(_NONCE.match(nonce))
        is_whole = is_whole and isinstance(found.digest, str)
    except (TypeError, LookupError):
        is_whole = False
    if not is_whole:
        raise BudgetError(
            "ledger anchor", "number, nonce and commitment of an entry", "something else",
            "Restore the anchor file from a backup; without it an exchanged ledger is not noticed.",
        )  # fmt: skip
    return found
