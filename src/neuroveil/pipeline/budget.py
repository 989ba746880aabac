"""The study's ledger: find it, start it, and never change its limit in silence."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from neuroveil.errors import BudgetError
from neuroveil.ledger import Ledger, LedgerState
from neuroveil.study import Study


def exact(number: float) -> Fraction:
    """Read a setting as the decimal that the person wrote.

    Parameters
    ----------
    number : float
        For example ``0.1``.

    Returns
    -------
    Fraction
        For example 1/10, not the binary number nearest to it.
    """
    return Fraction(repr(float(number)))


def ledger_path(study: Study) -> Path:
    """Say where the study's ledger is.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Path
        SQLite file.
    """
    return study.path(study.privacy.ledger)


def open_ledger(study: Study) -> Ledger:
    """Open the study's ledger; start it where the study states a budget.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Ledger
        Ready to reserve from.

    Raises
    ------
    BudgetError
        If there is neither a ledger nor a budget, or the two do not agree.
    """
    path, budget = ledger_path(study), study.privacy.budget
    if not path.exists() and budget is not None:
        return Ledger.create(path, exact(budget.epsilon), exact(budget.delta))
    ledger = Ledger(path)
    if budget is not None:
        limit = ledger.state().limit
        if limit != (exact(budget.epsilon), exact(budget.delta)):
            raise BudgetError(
                "privacy.budget", f"the ledger's limit, epsilon = {float(limit[0]):g}, "
                f"delta = {float(limit[1]):g}",
                f"epsilon = {budget.epsilon:g}, delta = {budget.delta:g}",
                "A limit that was set stays set: correct the study.",
            )  # fmt: skip
    return ledger


def budget_state(study: Study) -> LedgerState | None:
    """Look at the study's ledger without starting or changing it.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    LedgerState or None
        None where no ledger exists yet.

    Raises
    ------
    BudgetError
        If a ledger exists and cannot be trusted.
    """
    path = ledger_path(study)
    return Ledger(path, read_only=True).state() if path.exists() else None
