"""Whether a certificate has the form that ``docs/certificate.md`` fixes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neuroveil.privacy.verify import shapes
from neuroveil.privacy.verify.findings import broken, finding, holds, quote
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.rule import Rule
from neuroveil.privacy.verify.rulebook import FACT_NAMES, RULES, lines_of
from neuroveil.privacy.verify.shapes import Shape, is_digest, one_of, words
from neuroveil.privacy.verify.statement import Statement

SCHEMA_VERSION = 2

_FACT_KEYS = {"value", "status", "source", "formula", "rests_on"}
_CHAIN_LINKS = {rule.link for rule in RULES}
_FREE_IN_CLAIMS = {"unit.rows_per_unit_max", "adjacency.factor"}


def _is_digest_map(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(is_digest, value.values()))


def signature() -> Shape:
    """The signature of a certificate.

    Returns
    -------
    Shape
        The requirement.
    """
    return shapes.record(
        {
            "algorithm": one_of("ed25519"), "public_key": shapes.hexadecimal(64),
            "value": shapes.hexadecimal(128),
        }
    )  # fmt: skip


ENVELOPE: dict[str, Shape] = {
    "schema": one_of("neuroveil-certificate"),
    "schema_version": one_of(SCHEMA_VERSION),
    "formal_guarantee": one_of(True, False),
    "verdict": Shape(
        "text", "text that is not empty",
        lambda value: isinstance(value, str) and bool(value.strip()),
        {"type": "string", "pattern": r"\S"},
    ),
    "blocking_reasons": Shape(
        "list", "a list of sentences",
        lambda value: isinstance(value, list) and all(words().fits(entry) for entry in value),
        {"type": "array", "items": words().schema},
    ),
    "chain": Shape("object", "an object", lambda v: isinstance(v, Mapping), {"type": "object"}),
    "release": Shape(
        "object", "an object of digests by file name", _is_digest_map,
        {"type": "object", "additionalProperties": shapes.digest().schema},
    ),
    "previous_hash": shapes.nullable(shapes.digest()),
    "signature": shapes.nullable(signature()),
}  # fmt: skip
"""What stands beside the chain."""

_CONCLUSION = ("formal_guarantee", "verdict", "blocking_reasons")


def check_structure(statement: Statement) -> Iterator[Check]:
    """Check the form of a certificate, or the ranges of a claim's numbers.

    Parameters
    ----------
    statement : Statement
        The stated facts.

    Yields
    ------
    Check
        One for every fault; a single one that holds where there is none.
    """
    found = list(_claim_faults(statement) if statement.is_claim else _certificate_faults(statement))
    if found:
        yield from found
    else:
        yield holds("document.form", "The document has the form that it has to have.")


def is_of_another_version(statement: Statement) -> bool:
    """Whether a certificate was written for an earlier version of the contract.

    Parameters
    ----------
    statement : Statement
        A certificate.

    Returns
    -------
    bool
        True for version 1, whose rules are not kept.
    """
    version = statement.document.get("schema_version")
    return version == 1 and not isinstance(version, bool)


def check_version(statement: Statement) -> Iterator[Check]:
    """Say that a certificate of an earlier version cannot be checked.

    Parameters
    ----------
    statement : Statement
        A certificate of version 1.

    Yields
    ------
    Check
        Unchecked.
    """
    version = statement.document.get("schema_version")
    yield finding(
        "unchecked", "document.schema_version",
        f"This is a certificate of version {version}; here certificates of version "
        f"{SCHEMA_VERSION} are verified. Use the neuroveil that wrote it.",
        stated=version, recomputed=SCHEMA_VERSION,
    )  # fmt: skip


def _claim_faults(statement: Statement) -> Iterator[Check]:
    for name in FACT_NAMES:
        value = statement.raw(name)
        if value is None or name in _FREE_IN_CLAIMS:
            continue
        found = [rule.shape for rule in lines_of(name)]
        ranged = [shape for shape in found if shape.kind in {"number", "integer"}]
        if ranged and not any(shape.fits(value) for shape in ranged):
            yield broken(name, f"Out of range: it has to be {ranged[0].expected}.")


def _certificate_faults(statement: Statement) -> Iterator[Check]:
    document = statement.document
    for key, shape in ENVELOPE.items():
        name = f"{'verdict' if key in _CONCLUSION else 'document'}.{key}"
        if key not in document:
            yield broken(name, "It is missing.", recomputed=shape.expected)
        elif not shape.fits(document[key]):
            yield broken(name, f"It has to be {shape.expected}.", recomputed=shape.expected)
    for key in set(document) - set(ENVELOPE):
        yield broken("document.form", f"There is no key {quote(key)} in a certificate.")
    chain = document.get("chain")
    yield from _chain_faults(statement, chain if isinstance(chain, Mapping) else {})


def _chain_faults(statement: Statement, chain: Mapping[str, Any]) -> Iterator[Check]:
    for link, facts in chain.items():
        home = link if link in _CHAIN_LINKS else "document"
        if home == "document" or not isinstance(facts, Mapping) or not facts:
            yield broken(f"{home}.form", f"There is no such link: {quote(link)}.")
            continue
        for key in facts:
            if not lines_of(f"{link}.{key}"):
                yield broken(f"{home}.form", f"There is no such fact: {quote(key)}.")
    for name in FACT_NAMES:
        link, _, key = name.partition(".")
        facts = chain.get(link)
        facts = facts if isinstance(facts, Mapping) else {}
        lines = [rule for rule in lines_of(name) if rule.case.applies(statement)]
        if lines:
            yield from _fact_faults(name, lines, facts.get(key))
        elif key in facts:
            yield broken(name, "A certificate has no such fact in this case.")


def _fact_faults(name: str, lines: list[Rule], fact: Any) -> Iterator[Check]:
    expected = " | ".join(dict.fromkeys(rule.shape.expected for rule in lines))
    if not isinstance(fact, Mapping):
        yield broken(name, "The fact is missing.", recomputed=expected)
        return
    if set(fact) != _FACT_KEYS:
        yield broken(name, "A fact has exactly the keys value, status, source, formula, rests_on.")
        return
    if not any(rule.shape.fits(fact["value"]) for rule in lines):
        yield broken(name, f"The value has to be {expected}.", recomputed=expected)
    if fact["status"] != lines[0].status:
        yield broken(
            name, f"Its status is {lines[0].status}, not {quote(fact['status'])}.",
            stated=quote(fact["status"]), recomputed=lines[0].status,
        )  # fmt: skip
    if not words().fits(fact["source"]):
        yield broken(name, "It names no source.")
    right = [(rule.formula, list(rule.rests_on)) for rule in lines]
    if (fact["formula"], fact["rests_on"]) not in right:
        yield broken(
            name, "Its formula and the facts that it rests on are not those that belong to it.",
            stated=quote(fact["formula"]),
            recomputed=" | ".join(formula or "null" for formula, _ in right),
        )  # fmt: skip
