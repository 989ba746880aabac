import hashlib
import hmac

import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import FieldKeys, bits_a_gram, encode_records


def dice(one: np.ndarray, other: np.ndarray) -> float:
    shared = np.bitwise_count(one & other).sum()
    return 2.0 * float(shared) / float(np.bitwise_count(one).sum() + np.bitwise_count(other).sum())


def test_a_piece_sets_the_positions_that_hmac_gives(make_schema, make_keys):
    schema = make_schema(field=[{"name": "sex", "kind": "category", "typical_grams": 1}])
    keys = make_keys(schema)
    count = bits_a_gram(schema)["sex"]
    stream = b"".join(
        hmac.new(keys.keys["sex"], b"\x1f=f\x1f" + bytes([block]), hashlib.sha256).digest()
        for block in range(count // 16 + 1)
    )
    positions = {
        int.from_bytes(stream[2 * index : 2 * index + 2], "big") % 1024 for index in range(count)
    }
    bits = np.unpackbits(encode_records({"sex": ["F"]}, schema, keys), axis=1)
    assert set(np.flatnonzero(bits[0])) == positions


def test_the_same_person_misspelt_looks_alike_and_another_does_not(make_schema, make_keys, people):
    schema = make_schema()
    bits = encode_records(people, schema, make_keys(schema))
    assert dice(bits[0], bits[2]) > 0.85
    assert dice(bits[0], bits[1]) < 0.5


def test_without_the_key_nothing_looks_alike(make_schema, make_keys, people):
    schema = make_schema()
    ours = encode_records(people, schema, make_keys(schema))
    theirs = encode_records(people, schema, make_keys(schema, "another"))
    assert dice(ours[0], theirs[0]) < 0.5


def test_a_typical_record_sets_the_wanted_share_of_bits(make_schema, make_keys):
    generator = np.random.default_rng(1)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    n_people = 400
    lists = {
        "given_name": ["".join(generator.choice(letters, 6)) for _ in range(n_people)],
        "surname": ["".join(generator.choice(letters, 7)) for _ in range(n_people)],
        "birth_date": [
            f"{generator.integers(1930, 2010)}-{generator.integers(1, 13):02d}-"
            f"{generator.integers(1, 29):02d}" for _ in range(n_people)
        ],
        "postcode": [f"{generator.integers(0, 10000):04d}" for _ in range(n_people)],
        "sex": list(generator.choice(["f", "m"], n_people)),
    }  # fmt: skip
    for fill in (0.25, 0.35):
        schema = make_schema(encoding={"fill": fill})
        bits = encode_records(lists, schema, make_keys(schema))
        measured = np.bitwise_count(bits).sum() / (n_people * 1024)
        assert measured == pytest.approx(fill, abs=0.02)


def test_the_salt_makes_records_that_differ_in_it_unlike(make_schema, make_keys, people):
    schema = make_schema(encoding={"salt_field": "birth_date"})
    keys = make_keys(schema)
    other = {**people, "birth_date": ["1970-03-02", *people["birth_date"][1:]]}
    ours, theirs = encode_records(people, schema, keys), encode_records(other, schema, keys)
    assert dice(ours[0], theirs[0]) < 0.5
    assert dice(ours[0], ours[2]) > 0.85


def test_blocks_make_no_difference(make_schema, make_keys, people, monkeypatch):
    schema = make_schema()
    whole = encode_records(people, schema, make_keys(schema))
    monkeypatch.setattr("neuroveil.linkage.bloom._BLOCK", 2)
    np.testing.assert_array_equal(encode_records(people, schema, make_keys(schema)), whole)


def test_missing_values_set_no_bits(make_schema, make_keys, people):
    schema = make_schema()
    empty = {name: [""] for name in people}
    assert not encode_records(empty, schema, make_keys(schema)).any()
    nobody = {name: [] for name in people}
    assert encode_records(nobody, schema, make_keys(schema)).shape == (0, 128)


def test_a_wrong_value_is_named_by_field_and_line_and_never_repeated(
    make_schema, make_keys, people
):
    schema = make_schema()
    people["birth_date"][1] = "Christmas"
    with pytest.raises(LinkageError, match="birth_date, line 3") as caught:
        encode_records(people, schema, make_keys(schema))
    assert "Christmas" not in str(caught.value)


def test_keys_are_never_shown_and_must_be_whole(make_schema, make_keys, people):
    schema = make_schema()
    keys = make_keys(schema)
    assert repr(keys) == "FieldKeys(5 fields)"
    with pytest.raises(LinkageError, match="32 bytes"):
        FieldKeys({"sex": b"short"})
    with pytest.raises(LinkageError, match="a key for the field"):
        encode_records(people, schema, FieldKeys({}))


def test_lists_cut_short_are_refused(make_schema, make_keys, people):
    schema = make_schema()
    people["sex"].pop()
    with pytest.raises(LinkageError, match="as many values"):
        encode_records(people, schema, make_keys(schema))
