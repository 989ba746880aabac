"""Who has spent what: composition over the releases that a patient was in.

A limit is a promise to each patient. So the spend of a patient is composed over every release
whose roster holds that patient, and over every release whose roster is not known. What binds
is the patient who has spent the most. Releases about different patients do not add up, but
only where the ledger's own record says that they are different.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from neuroveil.errors import BudgetError
from neuroveil.ledger.book import Book
from neuroveil.ledger.contents import Limit, Spend, add_up
from neuroveil.types.budget import AccountingEvent, Amount, BudgetStanding, Composer, Scope

Events = tuple[AccountingEvent, ...]

_NOTHING: Amount = (Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Newcomer:
    """A release that is about to be written.

    Parameters
    ----------
    events : tuple of AccountingEvent
        What it releases.
    scopes : tuple of Scope
        Studies that it belongs to.
    patients : frozenset of str, optional
        Keyed digests of its roster; none where it is not known.
    """

    events: Events
    scopes: tuple[Scope, ...]
    patients: frozenset[str] | None


class Spending:
    """Composition over a checked ledger.

    Parameters
    ----------
    book : Book
        The ledger.
    composer : callable, optional
        Composes events under the rule ``pld``; see :data:`neuroveil.types.budget.Composer`.

    Raises
    ------
    BudgetError
        If the ledger's rule is ``pld`` and there is nobody to apply it.
    """

    def __init__(self, book: Book, composer: Composer | None = None) -> None:
        if book.opening.rule == "pld" and composer is None:
            raise BudgetError(
                "ledger.rule", "somebody who composes privacy losses", "nobody",
                "Open this ledger with composer=neuroveil.privacy.composition.composed_epsilon.",
            )  # fmt: skip
        self._book = book
        self._composer = composer

    def spent(self, scope: Scope) -> Amount:
        """Say what the patient has spent who has spent the most.

        Parameters
        ----------
        scope : Scope
            One that has a limit.

        Returns
        -------
        tuple of Fraction
            Epsilon and delta; under ``basic`` the largest of each.
        """
        limit = self._book.limits[scope]
        groups = _groups(self._book, _relevant(self._book, limit), _members(self._book, limit))
        return self._worst(groups, limit)[0]

    def standings(self, newcomer: Newcomer) -> list[BudgetStanding]:
        """Say where a release stands in every limit that it touches.

        Parameters
        ----------
        newcomer : Newcomer
            The release.

        Returns
        -------
        list of BudgetStanding
            One a limit.
        """
        limits = self._book.limits.values()
        return [
            self._standing(newcomer, limit) for limit in limits if self._touches(newcomer, limit)
        ]

    def _touches(self, newcomer: Newcomer, limit: Limit) -> bool:
        if limit.scope.kind == "study":
            return limit.scope in newcomer.scopes
        members = _members(self._book, limit)
        return members is None or newcomer.patients is None or bool(members & newcomer.patients)

    def _standing(self, newcomer: Newcomer, limit: Limit) -> BudgetStanding:
        members, patients = _members(self._book, limit), newcomer.patients
        if members is not None and patients is not None:
            patients = members & patients
        concerned = members if patients is None else patients
        groups = _groups(self._book, _relevant(self._book, limit), concerned)
        prior = [
            spend
            for spend in _relevant(self._book, limit)
            if _concerns(self._book, spend, concerned)
        ]
        with_it = [group + newcomer.events for group in groups]
        after, worst = self._worst(with_it, limit)
        events = worst[: len(worst) - len(newcomer.events)]
        # Under pld all figures are those of one patient, so that they follow from the events.
        alone = self._book.opening.rule == "pld"
        before, _ = self._worst([events] if alone else groups, limit)
        return BudgetStanding(
            scope=limit.scope, rule=self._book.opening.rule, limit=(limit.epsilon, limit.delta),
            spent_before=before, spent_after=after, prior_releases=len(prior), prior_events=events,
        )  # fmt: skip

    def _worst(self, groups: list[Events], limit: Limit) -> tuple[Amount, Events]:
        """Largest spend over groups of patients, and what was released about the worst group."""
        spends = [(self._composed(events, limit), events) for events in groups]
        epsilon, events = max(((amount[0], events) for amount, events in spends), key=_first)
        return (epsilon, max(amount[1] for amount, _ in spends)), events

    def _composed(self, events: Events, limit: Limit) -> Amount:
        if not events:
            return _NOTHING
        if self._composer is None or self._book.opening.rule == "basic":
            return add_up(events)
        epsilon = self._composer(events, limit.delta)
        if epsilon is None:  # nothing can be proven at this delta: no room
            return add_up(events)[0] + limit.epsilon, limit.delta
        return epsilon, limit.delta


def _first(pair: tuple[Fraction, Events]) -> Fraction:
    return pair[0]


def _relevant(book: Book, limit: Limit) -> list[Spend]:
    """Spends that a limit counts: those of its study, or all."""
    if limit.scope.kind == "study":
        return [spend for spend in book.spends if limit.scope in spend.scopes]
    return list(book.spends)


def _members(book: Book, limit: Limit) -> frozenset[str] | None:
    return None if limit.roster is None else book.rosters[limit.roster]


def _concerns(book: Book, spend: Spend, patients: frozenset[str] | None) -> bool:
    """Whether a release may have held any of these patients."""
    if spend.roster is None or patients is None:
        return True
    return bool(book.rosters[spend.roster] & patients)


def _groups(book: Book, spends: list[Spend], patients: frozenset[str] | None) -> list[Events]:
    """What was released about each patient, the same for many; only the largest sets.

    Patients are described by the rosters that they are on. A patient who is on all rosters of
    another one, and on more, has spent at least as much, so the other need not be looked at.
    """
    rosters = sorted({spend.roster for spend in spends if spend.roster is not None})
    seen: defaultdict[str, int] = defaultdict(int)
    for position, roster in enumerate(rosters):
        found = book.rosters[roster]
        for patient in found if patients is None else found & patients:
            seen[patient] |= 1 << position
    bits = {roster: 1 << position for position, roster in enumerate(rosters)}
    return [
        tuple(
            event
            for spend in spends
            if spend.roster is None or signature & bits[spend.roster]
            for event in spend.events
        )
        for signature in _largest({0, *seen.values()})
    ]


def _largest(signatures: Iterable[int]) -> list[int]:
    """Keep sets of rosters that are part of no other."""
    kept: list[int] = []
    for signature in sorted(signatures, key=int.bit_count, reverse=True):
        if not any(signature & other == signature for other in kept):
            kept.append(signature)
    return kept
