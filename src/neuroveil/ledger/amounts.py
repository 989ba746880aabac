"""Exact amounts as a ledger writes them, and what is too large or too long to stand in one.

A number in a file that somebody else wrote may be ``1e9999999999``: seven bytes that take
Python hours to unfold. So text is looked at before it becomes a number.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from neuroveil.errors import BudgetError

_TEXT = re.compile(r"[0-9]{1,1300}(/[0-9]{1,1300})?", re.ASCII)

MAX_AMOUNT = 10**300
"""Largest epsilon; about what a number of double precision can hold."""

_MAX_BITS = 4096
"""Numerator and denominator; any sum of four numbers of double precision fits."""


def read_amount(text: Any) -> Fraction:
    """Read an amount as it is written in a ledger.

    Parameters
    ----------
    text : object
        ``"2"`` or ``"1/100000"``; anything else may stand there.

    Returns
    -------
    Fraction
        The amount, from 0 to :data:`MAX_AMOUNT`.

    Raises
    ------
    ValueError
        If it is no amount, or one that no ledger holds.
    ZeroDivisionError
        If it is divided by zero.
    """
    if not isinstance(text, str) or not _TEXT.fullmatch(text):
        raise ValueError("no amount")
    amount = Fraction(text)
    if not _fits(amount):
        raise ValueError("no amount of a ledger")
    return amount


def require_writable(*amounts: Fraction) -> None:
    """Refuse amounts that could not be read again.

    Parameters
    ----------
    *amounts : Fraction
        What would be written.

    Raises
    ------
    BudgetError
        If one is too large, or its numerator or denominator too long.
    """
    if not all(_fits(amount) for amount in amounts):
        raise BudgetError(
            "ledger amount", "an amount that fits into double precision", "one that does not",
            "State epsilon and delta as usual decimal numbers.",
        )  # fmt: skip


def read_count(number: Any) -> int:
    """Read a whole number as it is written in a ledger.

    Parameters
    ----------
    number : object
        Anything may stand there.

    Returns
    -------
    int
        From 0 to a million million.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= 10**12:
        raise ValueError("no count")
    return number


def _fits(amount: Fraction) -> bool:
    lengths = amount.numerator.bit_length(), amount.denominator.bit_length()
    return max(lengths) <= _MAX_BITS and 0 <= amount <= MAX_AMOUNT
