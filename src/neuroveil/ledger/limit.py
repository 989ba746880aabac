"""What makes a limit acceptable."""

from __future__ import annotations

import math
from pathlib import Path

from neuroveil.errors import BudgetError


def check_limit(path: Path, epsilon: float, delta: float) -> None:
    """Refuse a limit that makes no sense, or a ledger that exists already.

    Parameters
    ----------
    path : Path
        Where the ledger would go.
    epsilon, delta : float
        The limit.

    Raises
    ------
    BudgetError
        If the limit cannot be set.
    """
    if not (math.isfinite(epsilon) and epsilon > 0 and 0 <= delta < 1):
        raise BudgetError(
            "ledger limit", "epsilon above 0 and delta from 0 to below 1", "another limit",
            "Choose the budget with your data-protection officer.",
        )  # fmt: skip
    if path.exists():
        raise BudgetError(
            "ledger", "no file yet", "an existing one",
            "A limit that was set stays set. Use the existing ledger.",
        )  # fmt: skip
