"""Write docs/linkage-vectors.json: what another implementation of the protocol must give.

Run ``python tools/generate_linkage_vectors.py`` after changing the rules of encoding (which
raises ``ENCODING_VERSION``); with ``--check`` nothing is written and a difference ends with exit
code 1. The key in the file is published, so it is no secret and must never be used. Patient
numbers are published examples or of people who do not exist; names and dates are made up.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from neuroveil.linkage.bloom import bits_a_gram, canonical_records, encode_records
from neuroveil.linkage.dates import canonical_date
from neuroveil.linkage.global_id import global_ids
from neuroveil.linkage.hardening import harden
from neuroveil.linkage.identifiers import ENCODING_VERSION, IdentifierRules, encode_identifier
from neuroveil.linkage.key_service import LinkageKey, LocalKeyService
from neuroveil.linkage.names import canonical_name
from neuroveil.linkage.schema import LinkageSchema

FILE = Path(__file__).resolve().parent.parent / "docs" / "linkage-vectors.json"
KEY = bytes(range(32))
NOISE = bytes(range(32, 64))

NUMBERS = (
    ("no.fodselsnummer", ("01817030080", "018170 30080")),
    ("se.personnummer", ("19811228-9874", "811228-9874")),
    ("dk.cpr", ("211062-5629", "2110625629")),
    ("fi.hetu", ("131052-308T", "131052\u2212308t")),
    ("nl.bsn", ("111222333", "1112.22.333")),
    ("gb.nhs", ("943 476 5919", "943-476-5919")),
)
OWN = IdentifierRules("trial-number", pattern="[a-z]{2}[0-9]{4}")
NAMES = (
    "Sørensen", "Soerensen", "SØRENSEN ", "Ångström", "Aangstroem", "Müller-Lüdenscheidt",
    "von der Heide", "O’Brien", "Nguyễn Thị Hương", "Łuczak", "Đặng", "Þórsdóttir", "Weiß",
    "Ｋａｉ", "Mac\u00adDonald", "Ярослав",
)  # fmt: skip
FULL_NAMES = ("O’Brien, Seán", "Seán O’Brien", "HANSEN, Kari Anne", "Kari Anne Hansen")
DATES = (
    ("1970-01-31", "dmy"), ("31.01.1970", "dmy"), ("31/1/1970", "dmy"), ("1/31/1970", "mdy"),
    ("19700131", "dmy"), ("31. januar 1970", "dmy"), ("January 31st, 1970", "dmy"),
    ("1970-01-31T00:00:00", "dmy"), ("24 dec 1955", "dmy"),
)  # fmt: skip
FIELDS = [
    {"name": "given_name", "kind": "name", "typical_grams": 7.0},
    {"name": "surname", "kind": "name", "typical_grams": 8.0},
    {"name": "birth_date", "kind": "date", "weight": 1.5, "typical_grams": 9.0},
    {"name": "postcode", "kind": "postcode", "typical_grams": 5.0},
    {"name": "sex", "kind": "category", "weight": 0.3, "typical_grams": 1.0},
]
RECORDS = {
    "given_name": ["Ingrid", "ingrid", "Olav"],
    "surname": ["Sørensen", "Soerenson", "Dahl"],
    "birth_date": ["1970-03-01", "01.03.1970", ""],
    "postcode": ["0455", "0455", "5003"],
    "sex": ["F", "f", "M"],
}
HARDENINGS: tuple[tuple[str, ...], ...] = (
    (), ("xor_fold",), ("rule_90",), ("sliding_xor",), ("diffusion",), ("blip",),
)  # fmt: skip


def main() -> int:
    """Write or check the file; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = json.dumps(vectors(), indent=1) + "\n"
    if not parser.parse_args().check:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"docs/{FILE.name} is out of date: run {Path(__file__).name}", file=sys.stderr)
    return 1


def vectors() -> dict[str, Any]:
    """Compute all vectors.

    Returns
    -------
    dict
        Plain data.
    """
    service = LocalKeyService(LinkageKey(KEY), NOISE)
    separated = LinkageKey(KEY).separated()
    return {
        "about": "Vectors of the linkage protocol. The key is published: never use it.",
        "encoding_version": ENCODING_VERSION,
        "linkage_key": KEY.hex(),
        "hospital_noise_key": NOISE.hex(),
        "separated_keys": {purpose: key.hex() for purpose, key in separated.items()},
        "key_id": service.key_id,
        "identifiers": _identifiers(service),
        "names": [{"input": name, "canonical": canonical_name(name, "name")} for name in NAMES],
        "full_names": [
            {"input": name, "canonical": canonical_name(name, "name", ordered=False)}
            for name in FULL_NAMES
        ],
        "dates": [
            {"input": text, "order": order, "canonical": canonical_date(text, order, "date")}
            for text, order in DATES
        ],
        "encodings": _encodings(service),
    }


def _identifiers(service: LocalKeyService) -> list[dict[str, str]]:
    cases = [
        (IdentifierRules(scheme, test_people=True), text)
        for scheme, texts in NUMBERS
        for text in texts
    ]
    cases += [(OWN, "AB-1234"), (OWN, "ａｂ 1234")]
    found = []
    for rules, text in cases:
        encoded = encode_identifier(text, rules, "identifier")
        (global_id,) = global_ids([encoded], service)
        found.append({
            "scheme": rules.scheme, "pattern": rules.pattern, "input": text,
            "encoded": encoded.decode(), "global_id": global_id,
        })  # fmt: skip
    return found


def _encodings(service: LocalKeyService) -> dict[str, Any]:
    plain = _schema(())
    keys = service.field_keys(plain)
    return {
        "schema": plain.model_dump(mode="json"),
        "schema_digest": plain.digest,
        "field_keys": {name: key.hex() for name, key in keys.keys.items()},
        "positions_a_piece": bits_a_gram(plain),
        "records": RECORDS,
        "canonical": canonical_records(RECORDS, plain),
        "hex": {
            "+".join(steps) or "none": [
                row.tobytes().hex()
                for row in harden(
                    encode_records(RECORDS, plain, keys), _schema(steps), service.hardening_keys()
                )
            ]
            for steps in HARDENINGS
        },
    }


def _schema(steps: tuple[str, ...]) -> LinkageSchema:
    return LinkageSchema.model_validate(
        {"name": "test vectors", "field": FIELDS, "encoding": {"hardening": steps}}
    )


if __name__ == "__main__":
    raise SystemExit(main())
