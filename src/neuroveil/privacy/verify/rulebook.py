"""What every fact of a certificate has to be: the table of ``docs/certificate.md`` as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuroveil.privacy.verify.rule import Rule
from neuroveil.privacy.verify.rules_central import MOMENTS
from neuroveil.privacy.verify.rules_mechanism import CODEBOOK, NOISE
from neuroveil.privacy.verify.rules_promise import BOOKS, PROMISE
from neuroveil.privacy.verify.rules_rows import BOUNDS, PEOPLE
from neuroveil.privacy.verify.shapes import is_kind

RULES: tuple[Rule, ...] = (*PEOPLE, *BOUNDS, *NOISE, *CODEBOOK, *PROMISE, *BOOKS, *MOMENTS)
"""The lines of the table, in its order."""

FACT_NAMES: tuple[str, ...] = tuple(dict.fromkeys(rule.name for rule in RULES))
"""Dotted names of all facts, in the order of the derivation."""

_LINES = {name: tuple(rule for rule in RULES if rule.name == name) for name in FACT_NAMES}


def lines_of(name: str) -> tuple[Rule, ...]:
    """Give the lines of one fact.

    Parameters
    ----------
    name : str
        Dotted name.

    Returns
    -------
    tuple of Rule
        One for each case; empty for an unknown name.
    """
    return _LINES.get(name, ())


def claim_mistake(name: str, value: Any) -> str | None:
    """What is wrong with the kind of a claim's value.

    Parameters
    ----------
    name : str
        Dotted name of a fact.
    value : value
        What the claim states.

    Returns
    -------
    str or None
        What was expected, or ``None`` where the kind is right.
    """
    found = [shape for shape in (rule.shape for rule in lines_of(name)) if shape.kind != "null"]
    fitting = [shape for shape in found if is_kind(value, shape.kind)]
    if not fitting:
        return f"a value of the kind {found[0].kind}"
    keys = fitting[0].keys
    if keys:
        for entry in value if isinstance(value, list) else [value]:
            if not isinstance(entry, Mapping) or not all(
                key in keys and is_kind(inner, keys[key]) for key, inner in entry.items()
            ):
                return fitting[0].expected
    return None
