"""Reserve budget: the one place where a charge is made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from neuroveil.errors import BudgetError
from neuroveil.ledger.anchor import check_commitment, commit
from neuroveil.ledger.book import Book
from neuroveil.ledger.checks import new_limit, newcomer_of, no_room
from neuroveil.ledger.contents import Limit, Opening, spend_of
from neuroveil.ledger.entries import hash_text, next_entry
from neuroveil.ledger.limit import check_limit
from neuroveil.ledger.location import Location, key_file_beside, open_store
from neuroveil.ledger.patients import (
    key_check,
    load_key,
    make_key,
    patient_digests,
    roster_text,
)
from neuroveil.ledger.spending import Spending
from neuroveil.ledger.state import LedgerState, export, state_of
from neuroveil.ledger.tables import append
from neuroveil.types.budget import BudgetStanding, Composer, HeadCommitment, Rule, Scope
from neuroveil.types.charge import _SEAL, Charge, ChargeRequest


@dataclass(frozen=True)
class Terms:
    """How a new ledger counts. Like its limit, this can never be changed.

    Parameters
    ----------
    rule : {"basic", "pld"}
        ``"basic"``: epsilons and deltas add up. ``"pld"``: events are composed.
    site_wide_keys : bool
        A declaration by the site: in every study that is charged here, one roster key is one
        person and one person has one roster key. Only then may releases about different
        patients be counted apart. Without it every release counts for every patient.
    key_file : Path, optional
        Where the secret key of patients goes; default: beside the ledger file.
    """

    rule: Rule = "basic"
    site_wide_keys: bool = False
    key_file: Path | None = None


class Ledger:
    """The privacy budget of a site, over all releases.

    Parameters
    ----------
    location : path or str
        SQLite file of an existing ledger, or ``postgresql+psycopg://…``; make one with
        :meth:`create`.
    read_only : bool
        Open for looking only.
    composer : callable, optional
        Composes events on ledgers with the rule ``pld``:
        :func:`neuroveil.privacy.composition.composed_epsilon`.
    key_file : Path, optional
        The secret key of patients; default: beside the ledger file.

    Raises
    ------
    BudgetError
        If there is no ledger.
    """

    def __init__(
        self,
        location: Location,
        *,
        read_only: bool = False,
        composer: Composer | None = None,
        key_file: Path | None = None,
    ) -> None:
        mode: Literal["ro", "rw"] = "ro" if read_only else "rw"
        self._store = open_store(location, mode)
        self._composer = composer
        self._key_file = key_file or key_file_beside(location)
        if not self._store.exists:
            raise BudgetError(
                "ledger", "an existing ledger", "none",
                "Set a budget with `neuroveil ledger init`, or in [privacy.budget] of the study.",
            )  # fmt: skip

    @classmethod
    def create(
        cls, location: Location, epsilon: Fraction, delta: Fraction, terms: Terms | None = None
    ) -> Ledger:
        """Start a ledger with its limit. The limit can never be changed.

        Parameters
        ----------
        location : path or str
            Where it goes; must not hold a ledger.
        epsilon, delta : Fraction
            What may be spent on any patient over all releases, exact.
        terms : Terms, optional
            How it counts; default: everything adds up, for everybody.

        Returns
        -------
        Ledger
            The new ledger.

        Raises
        ------
        BudgetError
            If a ledger is there already, or the limit makes no sense.
        """
        terms = terms or Terms()
        check_limit(location, epsilon, delta)
        check = None
        if terms.site_wide_keys:
            file = terms.key_file or key_file_beside(location)
            check = key_check(make_key(file) if file else load_key(None))
        opening = Opening(epsilon, delta, terms.rule, check)
        open_store(location).create(next_entry(opening))
        return cls(location, key_file=terms.key_file)

    @staticmethod
    def exists(location: Location) -> bool:
        """Tell whether there is a ledger, without reading it.

        Parameters
        ----------
        location : path or str
            Where it would be.

        Returns
        -------
        bool
            For a file, whether there is one.
        """
        return open_store(location, "ro").exists

    def set_limit(
        self, scope: Scope, epsilon: Fraction, delta: Fraction, patients: Iterable[str] = ()
    ) -> None:
        """Set a further limit. It holds beside the site's and can never be changed.

        Parameters
        ----------
        scope : Scope
            A study, or a set of patients.
        epsilon, delta : Fraction
            What may be spent on any patient in that scope, exact; earlier spends count.
        patients : iterable of str
            Keyed digests of the members, for a set of patients only.

        Raises
        ------
        BudgetError
            If the scope has a limit, the limit makes no sense, or members are missing.
        """
        with self._store.writing() as connection:
            book = self._current(connection)
            limit, roster = new_limit(book, Limit(scope, epsilon, delta), patients)
            append(connection, next_entry(limit, book.head), roster)

    def check_new_limit(
        self, scope: Scope, epsilon: Fraction, delta: Fraction, patients: Iterable[str] = ()
    ) -> None:
        """Refuse what :meth:`set_limit` would refuse, and write nothing.

        Parameters
        ----------
        scope : Scope
            A study, or a set of patients.
        epsilon, delta : Fraction
            The limit, exact.
        patients : iterable of str
            Keyed digests of the members, for a set of patients only.

        Raises
        ------
        BudgetError
            If the limit cannot be set.
        """
        new_limit(self._book(), Limit(scope, epsilon, delta), patients)

    def reserve(self, request: ChargeRequest) -> Charge:
        """Spend budget, durably, before any noise is drawn.

        Parameters
        ----------
        request : ChargeRequest
            What the release will spend.

        Returns
        -------
        Charge
            Pays for exactly this release, once.

        Raises
        ------
        BudgetError
            If there is no room, or the ledger is damaged, locked, full or read-only.
        """
        roster = roster_text(request.patients)
        with self._store.writing() as connection:
            book = self._current(connection)
            standing = self._standing(book, request)
            if not standing.fits:
                raise no_room(request, standing)
            spend = spend_of(request, hash_text(roster) if roster else None)
            entry = next_entry(spend, book.head)
            append(connection, entry, roster or None)
        # Only now, with the commit flushed to disk, does a charge exist.
        return Charge.in_ledger(request, standing, commit(entry), _SEAL)

    def standing(self, request: ChargeRequest) -> BudgetStanding:
        """Tell where a release would stand, without making it.

        Parameters
        ----------
        request : ChargeRequest
            What it would spend.

        Returns
        -------
        BudgetStanding
            In the limit that would leave it the least room; ``fits`` says whether there is any.

        Raises
        ------
        BudgetError
            If the request contradicts itself, or the ledger cannot be trusted.
        """
        return self._standing(self._book(), request)

    def require_room(self, request: ChargeRequest) -> None:
        """Refuse early where there is no room; the charge itself checks again.

        Parameters
        ----------
        request : ChargeRequest
            What would be spent.

        Raises
        ------
        BudgetError
            If it would not fit, or the ledger cannot be trusted.
        """
        standing = self.standing(request)
        if not standing.fits:
            raise no_room(request, standing)

    def state(self) -> LedgerState:
        """Read and check the whole ledger.

        Returns
        -------
        LedgerState
            Limits, spends and what is left.

        Raises
        ------
        BudgetError
            If the ledger was tampered with or cannot be read.
        """
        return state_of(self._book(), self._composer)

    def export(self) -> list[dict[str, Any]]:
        """Give all entries as plain data, without digests of patients, hashes or nonces.

        Returns
        -------
        list of dict
            One object an entry, the opening first.

        Raises
        ------
        BudgetError
            If the ledger was tampered with or cannot be read.
        """
        return export(self._book())

    def patient_digests(self, roster_keys: Iterable[str]) -> tuple[str, ...]:
        """Digest roster keys with the ledger's secret key.

        Parameters
        ----------
        roster_keys : iterable of str
            Patient keys. Private.

        Returns
        -------
        tuple of str
            For :class:`~neuroveil.types.charge.ChargeRequest`, in order. Private.

        Raises
        ------
        BudgetError
            If this ledger does not know patients, or the key file is not this ledger's.
        """
        check = self._book().require_key_check()
        return patient_digests(load_key(self._key_file, check), roster_keys)

    def commitment(self) -> HeadCommitment:
        """Commit to the newest entry.

        Returns
        -------
        HeadCommitment
            To keep outside the ledger, for :meth:`check_commitment`.

        Raises
        ------
        BudgetError
            If the ledger was tampered with or cannot be read.
        """
        return commit(self._book().head)

    def check_commitment(self, commitment: HeadCommitment) -> None:
        """Check that this is still the ledger of an earlier run, or one that goes on with it.

        Parameters
        ----------
        commitment : HeadCommitment
            From that run.

        Raises
        ------
        BudgetError
            If the ledger was replaced or rolled back.
        """
        check_commitment(self._book(), commitment)

    def _book(self) -> Book:
        with self._store.reading() as connection:
            return self._store.read(connection)

    def _current(self, connection: Any) -> Book:
        """Read for writing: an old format is brought up to date first."""
        book = self._store.read(connection)
        self._store.make_current(connection, book)
        return book

    def _standing(self, book: Book, request: ChargeRequest) -> BudgetStanding:
        standings = Spending(book, self._composer).standings(newcomer_of(book, request))
        return min(standings, key=lambda standing: (standing.fits, standing.remaining))
