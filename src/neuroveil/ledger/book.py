"""A ledger as it was read: checked entries, limits by scope, and who was in which release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from neuroveil.errors import BudgetError
from neuroveil.ledger.contents import Limit, Opening, Spend
from neuroveil.ledger.entries import Entry, tampered
from neuroveil.types.budget import SITE, Scope


@dataclass(frozen=True)
class Book:
    """A checked ledger.

    Parameters
    ----------
    entries : tuple of Entry
        All entries in order, the opening first.
    rosters : mapping of str to frozenset of str
        Patients (keyed digests) by the hash that entries refer to.
    is_current : bool
        False for a ledger of format 0, which is upgraded before anything is written to it.

    Raises
    ------
    BudgetError
        If entries contradict each other or refer to something that is not there.
    """

    entries: tuple[Entry, ...]
    rosters: Mapping[str, frozenset[str]]
    is_current: bool = True

    def __post_init__(self) -> None:
        contents = [entry.content for entry in self.entries]
        rosters = [part.roster for part in contents if isinstance(part, Limit | Spend)]
        if any(roster is not None and roster not in self.rosters for roster in rosters):
            raise tampered("a list of patients is missing")
        limited = [part.scope for part in contents if isinstance(part, Limit)]
        if SITE in limited or len(set(limited)) < len(limited):
            raise tampered("a limit that was set is set again")

    @cached_property
    def opening(self) -> Opening:
        """What the first entry says."""
        content = self.entries[0].content
        assert isinstance(content, Opening)
        return content

    @cached_property
    def limits(self) -> dict[Scope, Limit]:
        """Limits by scope, the site's first."""
        opening = self.opening
        contents = [entry.content for entry in self.entries]
        first = Limit(SITE, opening.epsilon, opening.delta)
        return {SITE: first} | {part.scope: part for part in contents if isinstance(part, Limit)}

    @cached_property
    def spends(self) -> tuple[Spend, ...]:
        """All spends, oldest first."""
        contents = (entry.content for entry in self.entries)
        return tuple(content for content in contents if isinstance(content, Spend))

    @property
    def head(self) -> Entry:
        """The newest entry."""
        return self.entries[-1]

    def require_key_check(self) -> str:
        """Give the check of the patient key, or refuse.

        Returns
        -------
        str
            For :func:`~neuroveil.ledger.patients.load_key`.

        Raises
        ------
        BudgetError
            If this ledger does not know patients.
        """
        if self.opening.key_check is None:
            raise BudgetError(
                "ledger", "a ledger that was started with site-wide patient keys",
                "one that counts every release for every patient",
                "Leave patients out, or start another ledger with `--site-wide-keys`.",
            )  # fmt: skip
        return self.opening.key_check
