"""Encoded family names of made-up people, with what is behind them."""

import hashlib
from dataclasses import dataclass

import numpy as np
import pytest

from neuroveil.linkage.bloom import FieldKeys, encode_records
from neuroveil.linkage.grams import canonical_value, cut_into_grams
from neuroveil.linkage.schema import LinkageSchema
from neuroveil.simulate import simulate_patient_list
from neuroveil.study.validation import validated


@dataclass(frozen=True)
class Attacked:
    """Encodings, the names behind them, and a public list of other people."""

    bits: np.ndarray
    names: list[str]
    public: list[str]

    def grams(self, names: list[str]) -> list[frozenset[str]]:
        return [cut_into_grams(name, "name") for name in names]


@pytest.fixture(scope="session")
def surnames() -> Attacked:
    field = {"name": "surname", "kind": "name", "typical_grams": 8}
    schema = validated(LinkageSchema, {"name": "one field", "field": [field]})
    keys = FieldKeys({"surname": hashlib.sha256(b"attacked").digest()})
    ours, public = (
        simulate_patient_list(1000, np.random.default_rng(seed))["surname"] for seed in (1, 2)
    )
    bits = encode_records({"surname": ours}, schema, keys)
    canonical = [[canonical_value(n, "name", "dmy", "name") for n in x] for x in (ours, public)]
    return Attacked(bits, *canonical)
