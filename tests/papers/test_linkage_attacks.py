"""How much attacks get out of our encodings, by hardening: the table of docs/linkage.md.

Measured on made-up people with Nordic names. ``surname`` is an encoding of one field, which nobody
should publish and which attacks were made for; ``record`` is one of whole records.
"""

import pytest

from neuroveil.linkage.schema import LinkageSchema
from neuroveil.pipeline.linkage_attacks import STEPS, attack_schema, with_hardening
from neuroveil.study.validation import validated

FIELDS = [
    {"name": "given_name", "kind": "name", "typical_grams": 7.0},
    {"name": "surname", "kind": "name", "typical_grams": 8.0},
    {"name": "birth_date", "kind": "date", "weight": 1.5, "typical_grams": 9.0},
    {"name": "postcode", "kind": "postcode", "typical_grams": 5.0},
    {"name": "sex", "kind": "category", "weight": 0.3, "typical_grams": 1.0},
]
FLIP = 0.05


def schema_of(fields: list[dict[str, object]]) -> LinkageSchema:
    document = {"name": "attacked", "field": fields, "encoding": {"blip_flip": FLIP}}
    return validated(LinkageSchema, document)


def outcomes(schema: LinkageSchema, steps: tuple, n_people: int, n_graph: int) -> dict[str, float]:
    attacked = attack_schema(with_hardening(schema, steps), n_people, n_graph)
    return {outcome.attack: outcome.success for outcome in attacked.outcomes}


@pytest.mark.slow
def test_hardened_records_withstand_what_unhardened_ones_do_not():
    schema = schema_of(FIELDS)
    plain, hardened = (outcomes(schema, steps, 600, 150) for steps in ((), ("diffusion",)))
    assert plain["graph matching"] > 0.8
    assert hardened["graph matching"] < 0.2
    for found in (plain, hardened):
        assert found["frequency alignment"] < 0.02
        assert found["encoding a list, with the keys"] > 0.95


@pytest.mark.slow
def test_one_field_alone_gives_its_names_away_under_most_hardenings():
    schema = schema_of(FIELDS[1:2])
    assert outcomes(schema, ("xor_fold",), 1500, 100)["frequency alignment"] > 0.15
    assert outcomes(schema, ("blip",), 1500, 100)["frequency alignment"] < 0.05


@pytest.mark.long
def test_the_table_of_attacks(write_down):
    table = {}
    for name, fields in (("surname", FIELDS[1:2]), ("record", FIELDS)):
        for steps in STEPS:
            attacked = attack_schema(with_hardening(schema_of(fields), steps), 5000, 300)
            key = f"{name}, {' + '.join(steps) or 'no hardening'}"
            table[key] = [outcome.as_dict() for outcome in attacked.outcomes]
    settings = {
        "people": 5000, "people of graph matching": 300, "names": "nordic", "blip_flip": FLIP,
        "length": 1024, "fill": 0.3,
    }  # fmt: skip
    write_down("linkage-attacks", {"settings": settings, "attacks": table})
    records = [rows for key, rows in table.items() if key.startswith("record")]
    assert all(rows[-1]["success"] > 0.95 for rows in records)
