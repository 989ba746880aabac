"""A schema with every kind of field, and keys that are no secret."""

import hashlib

import pytest

from neuroveil.linkage.bloom import FieldKeys
from neuroveil.linkage.schema import LinkageSchema
from neuroveil.study.validation import validated

FIELDS = [
    {"name": "given_name", "kind": "name", "weight": 1.0, "typical_grams": 7},
    {"name": "surname", "kind": "name", "weight": 1.0, "typical_grams": 8},
    {"name": "birth_date", "kind": "date", "weight": 1.5, "typical_grams": 9},
    {"name": "postcode", "kind": "postcode", "weight": 1.0, "typical_grams": 5},
    {"name": "sex", "kind": "category", "weight": 0.3, "typical_grams": 1},
]


@pytest.fixture
def make_schema():
    def make(**changes: object) -> LinkageSchema:
        return validated(LinkageSchema, {"name": "test", "field": FIELDS, **changes})

    return make


@pytest.fixture
def make_keys():
    def make(schema: LinkageSchema, secret: str = "not a secret") -> FieldKeys:
        return FieldKeys(
            {
                field.name: hashlib.sha256(f"{secret}/{field.name}".encode()).digest()
                for field in schema.field
            }
        )

    return make


@pytest.fixture
def people() -> dict[str, list[str]]:
    """Two people, and the first of them again with a misspelt name."""
    return {
        "given_name": ["Ingrid", "Olav", "Ingrid"],
        "surname": ["Sørensen", "Dahl", "Soerenson"],
        "birth_date": ["1970-03-01", "1955-12-24", "01.03.1970"],
        "postcode": ["0455", "5003", "0455"],
        "sex": ["F", "M", "f"],
    }
