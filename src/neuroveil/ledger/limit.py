"""What makes a limit acceptable."""

from __future__ import annotations

import math

from neuroveil.errors import BudgetError
from neuroveil.ledger.location import Location, open_store


def check_limit(location: Location, epsilon: float, delta: float) -> None:
    """Refuse a limit that makes no sense, or a ledger that exists already.

    Parameters
    ----------
    location : path or str
        Where the ledger would go.
    epsilon, delta : float
        The limit.

    Raises
    ------
    BudgetError
        If the limit cannot be set.
    """
    check_limit_amount(epsilon, delta)
    if open_store(location, "ro").exists:
        raise BudgetError(
            "ledger", "no ledger yet", "an existing one",
            "A limit that was set stays set. Use the existing ledger.",
        )  # fmt: skip


def check_limit_amount(epsilon: float, delta: float) -> None:
    """Refuse a limit that makes no sense.

    Parameters
    ----------
    epsilon, delta : float or Fraction
        The limit.

    Raises
    ------
    BudgetError
        If epsilon is not a number above 0, or delta not from 0 to below 1.
    """
    if not (math.isfinite(epsilon) and epsilon > 0 and 0 <= delta < 1):
        raise BudgetError(
            "ledger limit", "epsilon above 0 and delta from 0 to below 1", "another limit",
            "Choose the budget with your data-protection officer.",
        )  # fmt: skip
