"""Whether a certificate has the form that ``docs/certificate.md`` fixes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neuroveil.privacy.verify.findings import broken, holds, quote
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.rulebook import RULES, FactRule
from neuroveil.privacy.verify.shapes import Shape, is_digest, one_of, words
from neuroveil.privacy.verify.statement import Statement

_FACT_KEYS = {"value", "status", "source", "formula", "rests_on"}
_CHAIN_LINKS = {rule.link for rule in RULES}
_FREE_IN_CLAIMS = {"unit.rows_per_unit_max", "adjacency.factor"}


def _is_digest_map(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(is_digest, value.values()))


_ENVELOPE: dict[str, Shape] = {
    "schema": one_of("neuroveil-certificate"),
    "schema_version": one_of(1),
    "formal_guarantee": one_of(True, False),
    "verdict": words(),
    "blocking_reasons": Shape(
        "list", "a list of sentences",
        lambda value: isinstance(value, list) and all(words().fits(entry) for entry in value),
    ),
    "chain": Shape("object", "an object", lambda value: isinstance(value, Mapping)),
    "release": Shape("object", "an object of digests by file name", _is_digest_map),
    "previous_hash": Shape(
        "text", "a digest or null", lambda value: value is None or is_digest(value)
    ),
    "signature": Shape("text", "null", lambda value: value is None),
}  # fmt: skip


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


def _claim_faults(statement: Statement) -> Iterator[Check]:
    for rule in RULES:
        value = statement.raw(rule.name)
        if value is None or rule.name in _FREE_IN_CLAIMS:
            continue
        if rule.shape.kind in {"number", "integer"} and not rule.shape.fits(value):
            yield broken(rule.name, f"Out of range: it has to be {rule.shape.expected}.")


def _certificate_faults(statement: Statement) -> Iterator[Check]:
    document = statement.document
    for key, shape in _ENVELOPE.items():
        name = f"{'verdict' if key in _CONCLUSION else 'document'}.{key}"
        if key not in document:
            yield broken(name, "It is missing.", recomputed=shape.expected)
        elif not shape.fits(document[key]):
            yield broken(name, f"It has to be {shape.expected}.", recomputed=shape.expected)
    for key in set(document) - set(_ENVELOPE):
        yield broken("document.form", f"There is no key {quote(key)} in a certificate.")
    chain = document.get("chain")
    yield from _chain_faults(statement, chain if isinstance(chain, Mapping) else {})


_CONCLUSION = ("formal_guarantee", "verdict", "blocking_reasons")


def _chain_faults(statement: Statement, chain: Mapping[str, Any]) -> Iterator[Check]:
    known = {rule.name for rule in RULES}
    for link, facts in chain.items():
        home = link if link in _CHAIN_LINKS else "document"
        if home == "document" or not isinstance(facts, Mapping):
            yield broken(f"{home}.form", f"There is no such link: {quote(link)}.")
            continue
        for key in facts:
            if f"{link}.{key}" not in known:
                yield broken(f"{home}.form", f"There is no such fact: {quote(key)}.")
    for rule in RULES:
        link, _, key = rule.name.partition(".")
        facts = chain.get(link)
        fact = facts.get(key) if isinstance(facts, Mapping) else None
        yield from _fact_faults(statement, rule, fact)


def _fact_faults(statement: Statement, rule: FactRule, fact: Any) -> Iterator[Check]:
    name = rule.name
    if not isinstance(fact, Mapping):
        yield broken(name, "The fact is missing.", recomputed=rule.shape.expected)
        return
    if set(fact) != _FACT_KEYS:
        yield broken(name, "A fact has exactly the keys value, status, source, formula, rests_on.")
        return
    if not rule.shape.fits(fact["value"]):
        yield broken(
            name, f"The value has to be {rule.shape.expected}.", recomputed=rule.shape.expected
        )
    if fact["status"] != rule.status:
        yield broken(
            name, f"Its status is {rule.status}, not {quote(fact['status'])}.",
            stated=quote(fact["status"]), recomputed=rule.status,
        )  # fmt: skip
    if not words().fits(fact["source"]):
        yield broken(name, "It names no source.")
    right = [(d.formula, list(d.rests_on)) for d in rule.derivations if d.applies(statement)]
    if (fact["formula"], fact["rests_on"]) not in right:
        yield broken(
            name, "Its formula and the facts that it rests on are not those that belong to it.",
            stated=quote(fact["formula"]),
            recomputed=" | ".join(formula or "null" for formula, _ in right),
        )  # fmt: skip
