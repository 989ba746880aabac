"""Make checks: one short call for each outcome, and numbers that people can read."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify.arithmetic import precise, to_decimal
from neuroveil.privacy.verify.result import Check, Outcome

Number = Fraction | Decimal | int | float

_LONGEST_QUOTE = 80


def finding(outcome: Outcome, name: str, sentence: str, **details: Any) -> Check:
    """Make a check whose link is the first part of its name.

    Parameters
    ----------
    outcome : {"holds", "broken", "unchecked"}
        What came out.
    name : str
        Dotted name of the check.
    sentence : str
        The finding in plain English.
    **details
        ``stated``, ``recomputed`` and ``source``; numbers of any kind are made plain.

    Returns
    -------
    Check
        The check.
    """
    for key in ("stated", "recomputed"):
        if isinstance(details.get(key), Fraction | Decimal):
            details[key] = plain(details[key])
    return Check(name, name.partition(".")[0], outcome, sentence, **details)


def holds(name: str, sentence: str, **details: Any) -> Check:
    """Make a check that holds.

    Parameters
    ----------
    name, sentence : str
        As in :func:`finding`.
    **details
        As in :func:`finding`.

    Returns
    -------
    Check
        The check.
    """
    return finding("holds", name, sentence, **details)


def broken(name: str, sentence: str, **details: Any) -> Check:
    """Make a check that does not hold.

    Parameters
    ----------
    name, sentence : str
        As in :func:`finding`.
    **details
        As in :func:`finding`.

    Returns
    -------
    Check
        The check.
    """
    return finding("broken", name, sentence, **details)


def missing(name: str, *needed: str) -> Check:
    """Make a check that cannot be made because something is not stated.

    Parameters
    ----------
    name : str
        Dotted name of the check.
    *needed : str
        Dotted names of the facts that are needed; the check's own name where left out.

    Returns
    -------
    Check
        The check, unchecked.
    """
    facts = ", ".join(needed or (name,))
    return finding("unchecked", name, f"Cannot be checked: {facts} is not stated.")


def plain(value: Number | None) -> float | None:
    """Turn a number into a JSON number.

    Parameters
    ----------
    value : Fraction, Decimal, int, float or None
        Any number.

    Returns
    -------
    float or None
        The nearest double; ``None`` for infinity, which JSON does not have.
    """
    if value is None:
        return None
    number = float(to_decimal(value)) if isinstance(value, Fraction) else float(value)
    return number if math.isfinite(number) else None


def show(value: Number, digits: int = 6) -> str:
    """Write a number for people.

    Parameters
    ----------
    value : Fraction, Decimal, int or float
        Any number.
    digits : int
        Significant digits.

    Returns
    -------
    str
        For example ``"14.9225"`` or ``"1e-05"``.
    """
    number = plain(value)
    return "more than can be written" if number is None else f"{number:.{digits}g}"


def quote(value: object) -> str:
    """Quote a stated word so that it cannot disturb a message or a terminal.

    Parameters
    ----------
    value : object
        What a document states.

    Returns
    -------
    str
        ASCII, escaped and cut.
    """
    return ascii(str(value)[:_LONGEST_QUOTE])


def is_close(stated: Number, exact: Number, relative: float = 1e-12) -> bool:
    """Whether two numbers agree up to the rounding of doubles.

    Parameters
    ----------
    stated, exact : Fraction, Decimal, int or float
        The numbers.
    relative : float
        Allowed difference in parts of the second one.

    Returns
    -------
    bool
        True where they agree.
    """
    left, right = _decimal(stated), _decimal(exact)
    with precise():
        return abs(left - right) <= abs(right) * Decimal(relative)


def _decimal(value: Number) -> Decimal:
    return value if isinstance(value, Decimal) else to_decimal(Fraction(value))
