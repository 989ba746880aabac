"""The published JSON Schema of a certificate, made from the rules that verification uses.

Written out in ``docs/certificate.schema.json``; a test compares the two. The schema says what
form a certificate has. Whether it is right takes arithmetic, which no schema can do.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from neuroveil.privacy.verify.rule import FITTED, PROJECTED, Case, Condition, Rule
from neuroveil.privacy.verify.rulebook import FACT_NAMES, RULES, lines_of
from neuroveil.privacy.verify.structure import ENVELOPE

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def certificate_schema() -> Schema:
    """Make the JSON Schema of certificates.

    Returns
    -------
    dict
        Draft 2020-12. Each fact has the form that its case asks for, with status, formula and
        foundations letter by letter; a fact of another case is refused.
    """
    properties: Schema = {key: dict(shape.schema) for key, shape in ENVELOPE.items()}
    properties["chain"] = _chain()
    return {
        "$schema": DRAFT,
        "title": "neuroveil certificate, version 2",
        "description": "Form of a certificate; docs/certificate.md says what it means.",
        "type": "object",
        "properties": properties,
        "required": list(ENVELOPE),
        "additionalProperties": False,
        "allOf": [entry for name in FACT_NAMES for entry in _conditions(name)],
        "$defs": {"fact": _FACT, **{_key(case): _if(case) for case in _cases()}},
    }


_FACT: Schema = {
    "type": "object",
    "properties": {
        "value": True, "status": {"enum": ["proven", "measured", "assumed"]},
        "source": {"type": "string", "pattern": r"\S"},
        "formula": {"type": ["string", "null"]},
        "rests_on": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["value", "status", "source", "formula", "rests_on"],
    "additionalProperties": False,
}  # fmt: skip


def _cases() -> list[Case]:
    """All cases but the one that always counts, in the order of the table."""
    return [case for case in _unique(rule.case for rule in RULES) if case != Case()]


def _unique(cases: Iterable[Case]) -> list[Case]:
    found: list[Case] = []
    for case in cases:
        if case not in found:
            found.append(case)
    return found


def _key(case: Case) -> str:
    """Name of a case: the words that it asks for."""
    conditions = [
        " and ".join(
            f"{name.rpartition('.')[2]} {' or '.join(allowed)}"
            for name, allowed in condition.items()
        )
        for condition in case.conditions
    ]
    return ", or ".join(conditions)


def _reference(case: Case) -> Schema:
    return {"$ref": f"#/$defs/{quote(_key(case))}"}


def _chain() -> Schema:
    links: defaultdict[str, Schema] = defaultdict(dict)
    for name in FACT_NAMES:
        link, _, key = name.partition(".")
        links[link][key] = True
    always = {rule.name for rule in RULES if rule.case == Case()}
    return {
        "type": "object",
        "properties": {
            link: {
                "type": "object",
                "properties": facts,
                "required": [key for key in facts if f"{link}.{key}" in always],
                "additionalProperties": False,
                "minProperties": 1,
            }
            for link, facts in links.items()
        },
        "required": [
            link for link, facts in links.items() if any(f"{link}.{key}" in always for key in facts)
        ],
        "additionalProperties": False,
    }


def _conditions(name: str) -> list[Schema]:
    """What a fact has to be in each of its cases, and that it is absent in all others."""
    found: list[Schema] = []
    cases = _unique(rule.case for rule in lines_of(name))
    for case in cases:
        facts = [_fact(rule) for rule in lines_of(name) if rule.case == case]
        then = _at(name, facts[0] if len(facts) == 1 else {"anyOf": facts})
        found.append(then if case == Case() else {"if": _reference(case), "then": then})
    if Case() not in cases:
        others: Schema = {"not": {"anyOf": [_reference(case) for case in cases]}}
        found.append({"if": others, "then": _absent(name)})
    return found


def _fact(rule: Rule) -> Schema:
    return {
        "$ref": "#/$defs/fact",
        "properties": {
            "value": dict(rule.shape.schema),
            "status": {"const": rule.status},
            "formula": {"const": rule.formula},
            "rests_on": {"const": list(rule.rests_on)},
        },
    }


def _at(name: str, right: Mapping[str, Any], *, required: bool = True) -> Schema:
    link, _, key = name.partition(".")
    facts: Schema = {"properties": {key: right}}
    chain: Schema = {"properties": {link: facts}}
    if required:
        facts["required"], chain["required"] = [key], [link]
    return {"properties": {"chain": chain}}


def _absent(name: str) -> Schema:
    return _at(name, {"not": {}}, required=False)


def _if(case: Case) -> Schema:
    choices = [_condition(condition) for condition in case.conditions]
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _condition(condition: Condition) -> Schema:
    parts = []
    for name, allowed in condition.items():
        if name == PROJECTED:
            null: Schema = {"type": "null"}
            part = _holding(name, null if allowed == ("no",) else {"not": null})
        elif name == FITTED:
            drawn = {"properties": {"fitted_on": {"const": "dp"}}, "required": ["fitted_on"]}
            part = _holding(name, {"type": "object", **drawn})
            part = part if allowed == ("dp",) else {"not": part}
        else:
            part = _holding(name, {"enum": list(allowed)})
        parts.append(part)
    return parts[0] if len(parts) == 1 else {"allOf": parts}


def _holding(name: str, value: Schema) -> Schema:
    """That a fact is there with such a value."""
    fact = {"properties": {"value": value}, "required": ["value"]}
    return {**_at(name, fact), "required": ["chain"]}


def schema_text(schema: Mapping[str, Any]) -> str:
    """Write the schema as it is published: one entry of each list or object a line.

    Parameters
    ----------
    schema : mapping
        From :func:`certificate_schema`.

    Returns
    -------
    str
        JSON, with a line break at the end.
    """
    blocks = []
    for key, value in schema.items():
        if isinstance(value, Mapping):
            lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()]
            blocks.append(f" {json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n }")
        elif isinstance(value, list):
            lines = [f"  {json.dumps(entry)}" for entry in value]
            blocks.append(f" {json.dumps(key)}: [\n" + ",\n".join(lines) + "\n ]")
        else:
            blocks.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"
