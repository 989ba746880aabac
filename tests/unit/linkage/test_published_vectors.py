"""The published vectors: still what we give, and what the written protocol gives.

The second half computes them from the standard library alone, as another site would.
"""

import hashlib
import hmac
import json
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def vectors(project_root) -> dict:
    return json.loads((project_root / "docs" / "linkage-vectors.json").read_text("utf-8"))


def mac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()


def separated(vectors: dict) -> dict[str, bytes]:
    extracted = mac(b"neuroveil-linkage", bytes.fromhex(vectors["linkage_key"]))
    return {
        purpose: mac(extracted, f"neuroveil-linkage:1:{purpose}".encode() + b"\x01")
        for purpose in ("mac", "fields", "hardening")
    }


@pytest.mark.slow
def test_the_file_is_what_the_tool_writes(project_root):
    done = subprocess.run(
        [sys.executable, project_root / "tools" / "generate_linkage_vectors.py", "--check"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_keys_and_key_id_follow_from_the_linkage_key(vectors):
    keys = separated(vectors)
    assert {name: key.hex() for name, key in keys.items()} == vectors["separated_keys"]
    joined = b"".join(mac(key, b"neuroveil-key-id:1") for key in keys.values())
    assert hashlib.sha256(joined).hexdigest()[:32] == vectors["key_id"]


def test_global_ids_follow_from_the_encoded_numbers(vectors):
    key = separated(vectors)["mac"]
    for case in vectors["identifiers"]:
        expected = f"v1:{vectors['key_id']}:{mac(key, case['encoded'].encode()).hex()}"
        assert case["global_id"] == expected


def test_two_forms_of_a_number_have_one_id(vectors):
    ids = [case["global_id"] for case in vectors["identifiers"]]
    assert ids[0::2] == ids[1::2]
    assert len(set(ids)) == len(ids) // 2


def pieces(value: str, kind: str) -> set[str]:
    """Pairs of letters, as the page says."""
    if not value:
        return set()
    if kind == "category":
        return {f"={value}"}
    if kind == "date":
        padded = f"_{value.replace('-', '')}_"
        return {f"{at}:{padded[at : at + 2]}" for at in range(len(padded) - 1)}
    return {
        f"_{word}_"[at : at + 2] for word in value.split() for at in range(len(word) + 1)
    }  # fmt: skip


def test_encodings_follow_from_the_canonical_values(vectors):
    part = vectors["encodings"]
    fields_key, length = separated(vectors)["fields"], part["schema"]["encoding"]["length"]
    for row, expected in enumerate(part["hex"]["none"]):
        bits = [0] * length
        for field in part["schema"]["field"]:
            name = field["name"]
            key = mac(fields_key, f"neuroveil-field:1:{name}".encode() + b"\x01")
            assert key.hex() == part["field_keys"][name]
            count = part["positions_a_piece"][name]
            for piece in pieces(part["canonical"][name][row], field["kind"]):
                stream = b"".join(
                    mac(key, f"\x1f{piece}\x1f".encode() + bytes([block]))
                    for block in range(-(-count // 16))
                )
                for at in range(count):
                    bits[int.from_bytes(stream[2 * at : 2 * at + 2], "big") % length] = 1
        packed = int("".join(map(str, bits)), 2).to_bytes(length // 8, "big")
        assert packed.hex() == expected
