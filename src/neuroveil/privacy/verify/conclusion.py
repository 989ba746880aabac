"""Whether a certificate concludes what its own chain supports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from neuroveil.privacy.verify.findings import broken, finding, holds, quote
from neuroveil.privacy.verify.result import LINKS, Check
from neuroveil.privacy.verify.statement import Statement, as_number

_NUMBER = r"([0-9][0-9.e+-]*)"
_PROMISE = re.compile(
    r"Differentially private for every patient(, given a trusted (?:shuffler|curator))?: "
    rf"epsilon = {_NUMBER}, delta = {_NUMBER}\.(?: Not covered: (.+)\.)?"
)
_REFUSAL = re.compile(
    rf"()Not differentially private at epsilon = {_NUMBER}, delta = {_NUMBER}\. (.+)\."
)

_TRUSTED = {"shuffled": ", given a trusted shuffler", "central": ", given a trusted curator"}


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
    faulty, open_links = (
        [link for link in LINKS if any(c.link == link and c.outcome == outcome for c in chain)]
        for outcome in ("broken", "unchecked")
    )
    yield _check_guarantee(statement, faulty, open_links)
    yield _check_reasons(statement, faulty, open_links)
    yield _check_verdict(statement)


def _check_guarantee(statement: Statement, faulty: list[str], open_links: list[str]) -> Check:
    """A guarantee is stated exactly where no link is broken."""
    name, formal = "verdict.formal_guarantee", statement.document.get("formal_guarantee")
    stated = formal if isinstance(formal, bool) else None
    if not faulty and open_links and stated is not None:
        words = "Whether there is a guarantee rests on links that cannot be checked here."
        return finding("unchecked", name, words, stated=stated)
    right = not faulty
    if stated is right:
        words = "supports an end-to-end guarantee" if right else "supports no guarantee"
        return holds(name, f"The chain {words}, as stated.", stated=stated)
    return broken(
        name,
        "A guarantee is stated, but the chain does not support it."
        if stated is True
        else "No guarantee is stated, although no link of the chain is broken.",
        stated=stated, recomputed=right,
    )  # fmt: skip


def _reasons(statement: Statement) -> list[str]:
    reasons = statement.document.get("blocking_reasons")
    entries = reasons if isinstance(reasons, list) else []
    return [entry for entry in entries if isinstance(entry, str)]


def _check_reasons(statement: Statement, faulty: list[str], open_links: list[str]) -> Check:
    named = [reason.partition(":")[0] for reason in _reasons(statement)]
    # What is open here may be known to be broken where the certificate was made.
    agrees = [link for link in named if link not in open_links or link in faulty] == faulty
    agrees = agrees and named == sorted(set(named), key=_place)
    return finding(
        "holds" if agrees else "broken", "verdict.blocking_reasons",
        "The reasons name exactly the links that do not hold."
        if agrees
        else "The reasons do not name exactly the links that do not hold.",
        stated=[quote(name) for name in named], recomputed=faulty,
    )  # fmt: skip


def _place(link: str) -> int:
    return LINKS.index(link) if link in LINKS else len(LINKS)


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
    trusted = _TRUSTED.get(statement.text("model.trust") or "", "") if formal else ""
    return stated == right and last == rest and (shuffler or "") == trusted


def _read(text: str) -> Fraction | None:
    try:
        return as_number(float(text))
    except ValueError:
        return None
