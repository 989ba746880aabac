"""What stands in a ledger, for people and programs that look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuroveil.ledger.book import Book
from neuroveil.ledger.contents import Content, Limit, Opening, Spend
from neuroveil.ledger.entries import Entry
from neuroveil.ledger.spending import Spending
from neuroveil.types.budget import SITE, AccountingEvent, Amount, Composer, Rule, Scope


@dataclass(frozen=True)
class ScopeState:
    """One limit and what is left of it.

    Parameters
    ----------
    scope : Scope
        What the limit holds for.
    limit, spent : tuple of Fraction
        Epsilon and delta; spent by the patient who has spent the most.
    """

    scope: Scope
    limit: Amount
    spent: Amount

    @property
    def remaining(self) -> Amount:
        """Epsilon and delta that are left."""
        return self.limit[0] - self.spent[0], self.limit[1] - self.spent[1]


@dataclass(frozen=True)
class SpendLine:
    """One spend, as it may be shown to the people of the site.

    Parameters
    ----------
    number : int
        Number of the entry.
    created : str
        Time of writing, UTC, ISO 8601.
    spend : Spend
        What was released.
    """

    number: int
    created: str
    spend: Spend

    @property
    def amount(self) -> Amount:
        """Epsilon and delta, added up."""
        return self.spend.amount


@dataclass(frozen=True)
class LedgerState:
    """What stands in a ledger.

    Parameters
    ----------
    rule : {"basic", "pld"}
        How spends add up.
    site_wide_keys : bool
        Whether the ledger knows which releases were about the same patients.
    scopes : tuple of ScopeState
        All limits, the site's first.
    entries : tuple of SpendLine
        The spends, oldest first.
    head : str
        Hash of the newest entry. Private: it changes with every spend.
    """

    rule: Rule
    site_wide_keys: bool
    scopes: tuple[ScopeState, ...]
    entries: tuple[SpendLine, ...]
    head: str

    @property
    def limit(self) -> Amount:
        """Epsilon and delta that may be spent on any patient, over all releases."""
        return self.scopes[0].limit

    @property
    def spent(self) -> Amount:
        """Epsilon and delta spent on the patient on whom most was spent."""
        return self.scopes[0].spent

    @property
    def remaining(self) -> Amount:
        """Epsilon and delta that are left for that patient."""
        return self.scopes[0].remaining


def state_of(book: Book, composer: Composer | None) -> LedgerState:
    """Summarise a checked ledger.

    Parameters
    ----------
    book : Book
        The ledger.
    composer : callable, optional
        Composes events under the rule ``pld``.

    Returns
    -------
    LedgerState
        Limits, spends and what is left.

    Raises
    ------
    BudgetError
        If the ledger's rule is ``pld`` and there is no composer.
    """
    spending = Spending(book, composer)
    scopes = tuple(
        ScopeState(scope, (limit.epsilon, limit.delta), spending.spent(scope))
        for scope, limit in book.limits.items()
    )
    spends = tuple(
        SpendLine(entry.number, entry.created, entry.content)
        for entry in book.entries
        if isinstance(entry.content, Spend)
    )
    opening = book.opening
    return LedgerState(opening.rule, opening.key_check is not None, scopes, spends, book.head.hash)


def export(book: Book) -> list[dict[str, Any]]:
    """Give all entries as plain data, without anything that identifies patients or the head.

    Hashes, nonces, digests of patients and the check of the key stay behind.

    Parameters
    ----------
    book : Book
        The checked ledger.

    Returns
    -------
    list of dict
        One object an entry.
    """
    return [_plain(entry, book) for entry in book.entries]


def _plain(entry: Entry, book: Book) -> dict[str, Any]:
    content = entry.content
    plain: dict[str, Any] = {
        "number": entry.number,
        "kind": entry.kind,
        "created": entry.created,
        **_plain_amount(content),
    }
    if isinstance(content, Opening):
        upgraded = content.upgraded_from is not None
        site_wide = content.key_check is not None
        return {**plain, "scope": str(SITE), "rule": content.rule, "upgraded": upgraded,
                "site_wide_keys": site_wide}  # fmt: skip
    if isinstance(content, Limit):
        members = None if content.roster is None else len(book.rosters[content.roster])
        return {**plain, "scope": str(content.scope), "n_members": members}
    return {
        **plain,
        "mechanism": content.mechanism,
        "n_patients": content.n_patients,
        "dimension": content.dimension,
        "columns_digest": content.columns_digest,
        "scopes": [str(scope) for scope in content.scopes],
        "patients_known": content.roster is not None,
        "events": [_plain_event(event) for event in content.events],
    }


def _plain_amount(content: Content) -> dict[str, str]:
    if isinstance(content, Spend):
        epsilon, delta = content.amount
    else:
        epsilon, delta = content.epsilon, content.delta
    return {"epsilon": str(epsilon), "delta": str(delta)}


def _plain_event(event: AccountingEvent) -> dict[str, Any]:
    return {
        "mechanism": event.mechanism,
        "epsilon": str(event.epsilon),
        "delta": str(event.delta),
        "noise_multiplier": event.noise_multiplier,
    }
