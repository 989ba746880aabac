"""What makes a limit acceptable."""

from __future__ import annotations

import math
from fractions import Fraction

from neuroveil.errors import BudgetError
from neuroveil.ledger.amounts import MAX_AMOUNT, require_writable
from neuroveil.ledger.location import Location, open_store


def check_limit(location: Location, epsilon: float | Fraction, delta: float | Fraction) -> None:
    """Refuse a limit that makes no sense, or a ledger that exists already.

    Parameters
    ----------
    location : path or str
        Where the ledger would go.
    epsilon, delta : float or Fraction
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


def check_limit_amount(epsilon: float | Fraction, delta: float | Fraction) -> None:
    """Refuse a limit that makes no sense.

    Parameters
    ----------
    epsilon, delta : float or Fraction
        The limit.

    Raises
    ------
    BudgetError
        If epsilon is not a number above 0 that a ledger can hold, or delta not from 0 to below 1.
    """
    # A Fraction beyond double precision has no float to ask.
    is_number = isinstance(epsilon, Fraction) or math.isfinite(epsilon)
    if not (is_number and 0 < epsilon <= MAX_AMOUNT and 0 <= delta < 1):
        raise BudgetError(
            "ledger limit", "epsilon above 0 and delta from 0 to below 1", "another limit",
            "Choose the budget with your data-protection officer.",
        )  # fmt: skip
    require_writable(*(number for number in (epsilon, delta) if isinstance(number, Fraction)))
