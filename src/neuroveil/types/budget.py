"""What a budget is made of: amounts, what was released, scopes, and where a release stands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from neuroveil.errors import BudgetError

Amount = tuple[Fraction, Fraction]
"""Epsilon and delta, exact."""

Rule = Literal["basic", "pld"]
"""How spends add up: ``basic`` adds epsilons and deltas, ``pld`` composes events."""

ScopeKind = Literal["site", "study", "patients"]


@dataclass(frozen=True)
class AccountingEvent:
    """One thing that was released, as an accountant sees it.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism, for example ``"gaussian"`` or ``"randomised_response"``.
    epsilon, delta : Fraction
        What the mechanism guarantees on its own, exact; ``delta = 0`` for a pure guarantee.
    noise_multiplier : float, optional
        For integer Gaussian noise only: noise standard deviation divided by L2 sensitivity
        (no unit), never rounded up.
    integer_scale : float, optional
        For integer Gaussian noise only: its scale in units of the grid, never rounded up.
    dimension : int
        For integer Gaussian noise only: number of noisy values a patient can touch.

    Raises
    ------
    BudgetError
        If an amount makes no sense.
    """

    mechanism: str
    epsilon: Fraction
    delta: Fraction
    noise_multiplier: float | None = None
    integer_scale: float | None = None
    dimension: int = 0

    def __post_init__(self) -> None:
        check_amount(self.epsilon, self.delta)
        noise = (self.noise_multiplier, self.integer_scale)
        stated = [value for value in noise if value is not None]
        fits = all(math.isfinite(value) and value > 0 for value in stated)
        if len(stated) == 1 or not fits or (self.dimension > 0) != bool(stated):
            raise BudgetError(
                "charge.events", "noise multiplier, integer scale and dimension, all positive, or "
                "none of them", "something else",
                "State all three for integer Gaussian noise, and none for other mechanisms.",
            )  # fmt: skip

    @property
    def is_gaussian(self) -> bool:
        """Whether it is integer Gaussian noise of a stated size."""
        return self.noise_multiplier is not None


Composer = Callable[[tuple[AccountingEvent, ...], Fraction], Fraction | None]
"""Takes events and a delta; gives an epsilon that holds for all of them together at that
delta, or nothing where it can prove none. It must never give less for more events."""


@dataclass(frozen=True, order=True)
class Scope:
    """What a limit holds for.

    Parameters
    ----------
    kind : {"site", "study", "patients"}
        Everything on the ledger, the releases of one study, or everything about a named
        set of patients.
    name : str
        Name of the study or of the set; empty for the site. Internal: it is never published.

    Raises
    ------
    BudgetError
        If the name does not fit the kind.
    """

    kind: ScopeKind
    name: str = ""

    def __post_init__(self) -> None:
        is_named = bool(self.name.strip()) and self.name.isprintable()
        if self.kind not in ("site", "study", "patients") or is_named != (self.kind != "site"):
            raise _bad_scope()

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind

    @classmethod
    def parse(cls, text: str) -> Scope:
        """Read a scope as it is written on the command line.

        Parameters
        ----------
        text : str
            ``"site"``, ``"study:NAME"`` or ``"patients:NAME"``.

        Returns
        -------
        Scope
            The scope.

        Raises
        ------
        BudgetError
            If it is none of these.
        """
        kind, _, name = text.partition(":")
        if kind == "site" and not name:
            return SITE
        if kind == "study":
            return cls("study", name)
        if kind == "patients":
            return cls("patients", name)
        raise _bad_scope()


SITE = Scope("site")


def _bad_scope() -> BudgetError:
    return BudgetError(
        "ledger scope", "site, study:NAME or patients:NAME", "something else",
        "Write the kind, a colon and a name.",
    )  # fmt: skip


@dataclass(frozen=True)
class HeadCommitment:
    """A promise about the ledger's newest entry that gives nothing away.

    Parameters
    ----------
    number : int
        Number of that entry.
    nonce : str
        Fresh random text, 64 hexadecimal digits. Internal: whoever holds it can check the
        ledger against the digest.
    digest : str
        ``sha256:<hex>`` of nonce, number and the entry's hash. Without the nonce it is
        noise, so it may be published.
    """

    number: int
    nonce: str = field(repr=False)
    digest: str


@dataclass(frozen=True)
class BudgetStanding:
    """Where a release stands in the limit that leaves it the least room.

    Parameters
    ----------
    scope : Scope
        Whose limit that is. Internal.
    rule : {"basic", "pld"}
        How spends add up on this ledger.
    limit : tuple of Fraction
        Epsilon and delta of the limit.
    spent_before, spent_after : tuple of Fraction
        Spend of the patient of this roster who has spent the most, without and with this
        release. Under ``pld`` delta is the limit's as soon as anything is spent.
    prior_releases : int
        Earlier spends that touch any patient of this roster in that scope.
    prior_events : tuple of AccountingEvent
        What was released about the patient who has spent the most.
    """

    scope: Scope
    rule: Rule
    limit: Amount
    spent_before: Amount
    spent_after: Amount
    prior_releases: int
    prior_events: tuple[AccountingEvent, ...] = ()

    @property
    def left_before(self) -> Amount:
        """Epsilon and delta that there were for the release."""
        return self.limit[0] - self.spent_before[0], self.limit[1] - self.spent_before[1]

    @property
    def remaining(self) -> Amount:
        """Epsilon and delta that the release leaves."""
        return self.limit[0] - self.spent_after[0], self.limit[1] - self.spent_after[1]

    @property
    def fits(self) -> bool:
        """Whether the release stays within the limit."""
        return min(self.remaining) >= 0


def check_amount(epsilon: Fraction, delta: Fraction) -> None:
    """Refuse a spend that makes no sense.

    Parameters
    ----------
    epsilon, delta : Fraction
        What would be spent.

    Raises
    ------
    BudgetError
        If epsilon is not above 0, or delta not from 0 to below 1.
    """
    if epsilon <= 0 or not 0 <= delta < 1:
        raise BudgetError(
            "charge", "epsilon above 0 and delta from 0 to below 1", "another amount",
            "Ask for a positive spend.",
        )  # fmt: skip
