"""The published JSON Schema: made from the rules, true of certificates, false of mutants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from neuroveil.privacy.verify.json_schema import DRAFT, certificate_schema, schema_text
from neuroveil.privacy.verify.rulebook import FACT_NAMES

ROOT = Path(__file__).resolve().parents[4]
PUBLISHED = ROOT / "docs" / "certificate.schema.json"
RECIPES: dict[str, dict[str, Any]] = {
    "gaussian": {},
    "laplace in l1": {"mechanism": "laplace", "bound": "l1"},
    "codewords": {"mechanism": "privunit", "per_message": True},
    "shuffled": {"mechanism": "privunit", "trust": "shuffled", "epsilon_local": 1.31},
    "projected": {
        "components": 8,
        "steps": [("projection_back", {"components": 8}),
                  ("inverse_scaling", {"log10_columns": 3})],
    },
    "pld": {"rule": "pld", "remaining": 9.0},
    "labels": {"labels": [{"name": "d", "policy": "randomised_response", "n_categories": 2,
                           "epsilon": 0.5}], "unprotected": ["sex"]},
}  # fmt: skip
ANOTHER = {"text": 7, "number": "7", "boolean": "true", "object": [], "array": {}, "null": 7.5}


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8")))


def test_published_schema_is_the_one_that_the_rules_make() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(certificate_schema())


def test_schema_is_one_of_draft_2020_12(validator: Draft202012Validator) -> None:
    assert validator.schema["$schema"] == DRAFT
    Draft202012Validator.check_schema(validator.schema)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_certificates_validate(workshop: Any, validator: Any, recipe: Any) -> None:
    document = workshop.certificate(**recipe)
    assert [error.message for error in validator.iter_errors(document)] == []


def kind(value: Any) -> str:
    for name, types in (("boolean", bool), ("number", (int, float)), ("text", str),
                        ("object", dict), ("array", list)):  # fmt: skip
        if isinstance(value, types):
            return name
    return "null"


def test_value_of_another_type_does_not_validate(workshop: Any, validator: Any) -> None:
    honest = json.dumps(workshop.certificate())
    for name in FACT_NAMES:
        link, _, key = name.partition(".")
        document = json.loads(honest)
        fact = document["chain"].get(link, {}).get(key)
        if fact is not None:
            fact["value"] = ANOTHER[kind(fact["value"])]
            assert not validator.is_valid(document), name


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_mutants_do_not_validate(workshop: Any, validator: Any, recipe: Any) -> None:
    """Every fact of every case: another type, a key left out, a key more, another status."""
    honest = json.dumps(workshop.certificate(**recipe))
    for name in FACT_NAMES:
        link, _, key = name.partition(".")
        fact = json.loads(honest)["chain"].get(link, {}).get(key)
        if fact is None:
            continue
        mutants = [
            {**fact, "value": ANOTHER[kind(fact["value"])]},
            {**fact, "status": "measured" if fact["status"] != "measured" else "proven"},
            {**fact, "formula": f"{fact['formula']} "},
            {**fact, "rests_on": [*fact["rests_on"], "unit.entity"]},
            {**fact, "source": " "},
            {**fact, "note": 1},
            {k: v for k, v in fact.items() if k != "source"},
        ]
        for mutant in mutants:
            document = json.loads(honest)
            document["chain"][link][key] = mutant
            assert not validator.is_valid(document), (name, mutant)
        document = json.loads(honest)
        del document["chain"][link][key]
        assert not validator.is_valid(document), name


def test_fact_of_another_case_does_not_validate(workshop: Any, validator: Any) -> None:
    codewords = workshop.certificate(mechanism="privunit")["chain"]["mechanism"]
    document = workshop.certificate()
    document["chain"]["mechanism"]["codebook_top"] = codewords["codebook_top"]
    assert not validator.is_valid(document)


@pytest.mark.parametrize(
    ("key", "value"),
    [("schema", "another"), ("schema_version", 1), ("schema_version", "2"), ("verdict", ""),
     ("formal_guarantee", "yes"), ("blocking_reasons", "none"), ("release", []),
     ("release", {"table.csv": "abc"}), ("previous_hash", "abc"), ("signature", "abc"),
     ("signature", {"algorithm": "rsa", "public_key": "0" * 64, "value": "0" * 128}),
     ("signature", {"algorithm": "ed25519", "public_key": "0" * 63, "value": "0" * 128}),
     ("another", 1)],
)  # fmt: skip
def test_envelope_of_another_form(workshop: Any, validator: Any, key: str, value: Any) -> None:
    document = workshop.certificate()
    document[key] = value
    assert not validator.is_valid(document)


def test_signed_certificate_validates(workshop: Any, validator: Any) -> None:
    document = workshop.certificate()
    document["signature"] = {
        "algorithm": "ed25519", "public_key": "0a" * 32, "value": "0b" * 64,
    }  # fmt: skip
    document["previous_hash"] = "sha256:" + "0" * 64
    assert validator.is_valid(document)
