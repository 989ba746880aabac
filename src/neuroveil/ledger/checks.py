"""What a request or a further limit must be like, and how a refusal puts it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from neuroveil.errors import BudgetError
from neuroveil.ledger.amounts import require_writable
from neuroveil.ledger.book import Book
from neuroveil.ledger.contents import Limit, spend_of
from neuroveil.ledger.entries import hash_text
from neuroveil.ledger.limit import check_limit_amount
from neuroveil.ledger.patients import roster_text
from neuroveil.ledger.spending import Newcomer
from neuroveil.types.budget import BudgetStanding
from neuroveil.types.charge import ChargeRequest


def new_limit(book: Book, limit: Limit, patients: Iterable[str]) -> tuple[Limit, str | None]:
    """Check a further limit.

    Parameters
    ----------
    book : Book
        The checked ledger.
    limit : Limit
        Without members.
    patients : iterable of str
        Keyed digests of the members, for a set of patients only.

    Returns
    -------
    tuple of (Limit, str or None)
        The limit, and the list of its members where it has members.

    Raises
    ------
    BudgetError
        If it makes no sense, its scope has a limit, or members are missing.
    """
    check_limit_amount(limit.epsilon, limit.delta)
    members = roster_text(patients)
    if (limit.scope.kind == "patients") != bool(members):
        raise BudgetError(
            "ledger scope", "members for a set of patients, and for nothing else",
            "something else", "Name the patients of the set.",
        )  # fmt: skip
    if limit.scope in book.limits:
        raise BudgetError(
            "ledger scope", "a scope without a limit", "one that has a limit",
            "A limit that was set stays set.",
        )  # fmt: skip
    if not members:
        return limit, None
    book.require_key_check()
    return replace(limit, roster=hash_text(members)), members


def newcomer_of(book: Book, request: ChargeRequest) -> Newcomer:
    """Check a request against itself and the ledger.

    Parameters
    ----------
    book : Book
        The checked ledger.
    request : ChargeRequest
        What a release would spend.

    Returns
    -------
    Newcomer
        For :meth:`~neuroveil.ledger.spending.Spending.standings`.

    Raises
    ------
    BudgetError
        If the request contradicts itself, holds an amount that no ledger can hold, or names
        patients that the ledger does not know.
    """
    spend = spend_of(request, None)
    require_writable(*(amount for event in spend.events for amount in (event.epsilon, event.delta)))
    if spend.amount != (request.epsilon, request.delta):
        raise BudgetError(
            "charge.events", "events that add up to the charge", "others",
            "State every part of the release once, with what it spends.",
        )  # fmt: skip
    if any(scope.kind != "study" for scope in request.scopes):
        raise BudgetError(
            "charge.scopes", "studies", "another scope",
            "The site and sets of patients are found by the ledger itself.",
        )  # fmt: skip
    if not request.patients:
        return Newcomer(spend.events, spend.scopes, None)
    book.require_key_check()
    if len(request.patients) != request.n_patients:
        raise BudgetError(
            "charge.patients", f"one digest for each of {request.n_patients} patients",
            f"{len(request.patients)}", "Give the whole roster or none of it.",
        )  # fmt: skip
    return Newcomer(spend.events, spend.scopes, frozenset(request.patients))


def no_room(request: ChargeRequest, standing: BudgetStanding) -> BudgetError:
    """Make the refusal for want of room.

    Parameters
    ----------
    request : ChargeRequest
        What a release would spend.
    standing : BudgetStanding
        The limit that it would exceed.

    Returns
    -------
    BudgetError
        Ready to raise.
    """
    epsilon, delta = standing.left_before
    where = {
        "site": "budget",
        "study": "budget of this study",
        "patients": "budget of a set of patients",
    }
    return BudgetError(
        where[standing.scope.kind], f"room for epsilon = {float(request.epsilon):g}, delta = "
        f"{float(request.delta):g}", f"epsilon = {float(epsilon):g}, delta = {float(delta):g} left",
        "Nothing was released. Ask for less, or stop: the limit protects these patients.",
    )  # fmt: skip
