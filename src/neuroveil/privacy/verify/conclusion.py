"""Whether a certificate concludes what its own chain supports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify.basis import is_shuffled
from neuroveil.privacy.verify.findings import broken, finding, holds, quote
from neuroveil.privacy.verify.result import LINKS, Check
from neuroveil.privacy.verify.statement import Statement, as_number

_NUMBER = r"([0-9][0-9.e+-]*)"
_PROMISE = re.compile(
    r"Differentially private for every patient(, given a trusted shuffler)?: "
    rf"epsilon = {_NUMBER}, delta = {_NUMBER}\.(?: Not covered: (.+)\.)?"
)
_REFUSAL = re.compile(
    rf"()Not differentially private at epsilon = {_NUMBER}, delta = {_NUMBER}\. (.+)\."
)


def check_conclusion(statement: Statement, chain: list[Check]) -> Iterator[Check]:
    """Check guarantee, verdict and blocking reasons against the links that are broken.

    Parameters
    ----------
    statement : Statement
        A certificate.
    chain : list of Check
        Every check of its chain.

    Yields
    ------
    Check
        Guarantee, blocking reasons and verdict.
    """
    found = {check.link for check in chain if check.outcome != "holds"}
    broken_links = [link for link in LINKS if link in found]
    formal = statement.document.get("formal_guarantee")
    right = not broken_links
    if formal is right:
        words = "supports an end-to-end guarantee" if right else "supports no guarantee"
        yield holds("verdict.formal_guarantee", f"The chain {words}, as stated.", stated=formal)
    else:
        yield broken(
            "verdict.formal_guarantee",
            "A guarantee is stated, but the chain does not support it."
            if formal is True
            else "No guarantee is stated, although no link of the chain is broken.",
            stated=formal if isinstance(formal, bool) else None, recomputed=right,
        )  # fmt: skip
    yield _check_reasons(statement, broken_links)
    yield _check_verdict(statement)


def _reasons(statement: Statement) -> list[str]:
    reasons = statement.document.get("blocking_reasons")
    entries = reasons if isinstance(reasons, list) else []
    return [entry for entry in entries if isinstance(entry, str)]


def _check_reasons(statement: Statement, broken_links: list[str]) -> Check:
    named = [reason.partition(":")[0] for reason in _reasons(statement)]
    agrees = named == broken_links
    return finding(
        "holds" if agrees else "broken", "verdict.blocking_reasons",
        "The reasons name exactly the links that do not hold."
        if agrees
        else "The reasons do not name exactly the links that do not hold.",
        stated=[quote(name) for name in named], recomputed=broken_links,
    )  # fmt: skip


def _check_verdict(statement: Statement) -> Check:
    """The verdict is one of two sentences, with the numbers and names of the chain."""
    verdict = statement.document.get("verdict")
    text = verdict if isinstance(verdict, str) else ""
    formal = statement.document.get("formal_guarantee") is True
    match = (_PROMISE if formal else _REFUSAL).fullmatch(text)
    agrees = match is not None and _says(statement, match.groups(), formal)
    return finding(
        "holds" if agrees else "broken", "verdict.verdict",
        "The verdict says what the chain says."
        if agrees
        else "The verdict does not say what the chain says, in the words that are fixed for it.",
    )  # fmt: skip


def _says(statement: Statement, groups: tuple[Any, ...], formal: bool) -> bool:
    shuffler, *numbers, last = groups
    stated = [_read(number) for number in numbers]
    right = [statement.number("guarantee.epsilon"), statement.number("guarantee.delta")]
    if formal:
        names = statement.listing("domain.unprotected") or []
        rest = ", ".join(map(str, names)) or None
    else:
        rest = "; ".join(_reasons(statement)) or None
    trusts = bool(shuffler) == (formal and is_shuffled(statement))
    return stated == right and last == rest and trusts


def _read(text: str) -> Fraction | None:
    try:
        return as_number(float(text))
    except ValueError:
        return None
