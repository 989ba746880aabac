"""Signatures: right, altered, by another key, absent where one is asked for."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify import fingerprint, read_public_key, verify

# RFC 8032, section 7.1, test 1.
SECRET = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
PUBLIC = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))


@pytest.fixture
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(SECRET))


def sign(workshop: Any, document: Any, key: Ed25519PrivateKey) -> Any:
    """By the contract: the canonical JSON of everything but the signature."""
    del document["signature"]
    value = key.sign(workshop.canonical(document)).hex()
    public = key.public_key().public_bytes_raw().hex()
    document["signature"] = {"algorithm": "ed25519", "public_key": public, "value": value}
    return document


def found(result: Any) -> list[tuple[str, str]]:
    return [(check.id, check.outcome) for check in result.checks if check.link == "signature"]


def test_signed_certificate_holds_with_and_without_asking(workshop: Any, key: Any) -> None:
    document = sign(workshop, workshop.certificate(), key)
    for asked in (None, PUBLIC):
        result = workshop.verify(document, public_key=asked)
        assert result.exit_code == 0
        assert found(result) == [("signature.value", "holds")]
        sentence = next(c.sentence for c in result.checks if c.link == "signature")
        assert fingerprint(PUBLIC) in sentence
        assert ("asked for" in sentence) == (asked is not None)
        assert any("known from elsewhere" in note for note in result.notes) == (asked is None)


def test_fingerprint_is_half_of_a_digest() -> None:
    digest = hashlib.sha256(bytes.fromhex(PUBLIC)).hexdigest()
    assert fingerprint(PUBLIC).replace(" ", "") == digest[:32]


def test_unsigned_certificate_is_a_note_unless_a_key_is_asked_for(workshop: Any) -> None:
    document = workshop.certificate()
    result = workshop.verify(document)
    assert result.exit_code == 0
    assert any("not signed" in note for note in result.notes)
    assert workshop.verify(document, public_key=PUBLIC).broken_links == ("signature",)


def test_another_key_than_the_one_that_was_asked_for(workshop: Any) -> None:
    """The signature fits its own key, but that is not the site's."""
    document = sign(workshop, workshop.certificate(), OTHER)
    assert workshop.verify(document).exit_code == 0
    result = workshop.verify(document, public_key=PUBLIC)
    assert found(result) == [("signature.public_key", "broken"), ("signature.value", "holds")]
    assert result.exit_code == 4


def test_name_of_the_site_over_the_signature_of_another(workshop: Any) -> None:
    document = sign(workshop, workshop.certificate(), OTHER)
    document["signature"]["public_key"] = PUBLIC
    assert workshop.verify(document, public_key=PUBLIC).broken_links == ("signature",)


@pytest.mark.parametrize("bit", [0, 255, 511])
def test_altered_signature(workshop: Any, key: Any, bit: int) -> None:
    document = sign(workshop, workshop.certificate(), key)
    value = int(document["signature"]["value"], 16) ^ (1 << bit)
    document["signature"]["value"] = f"{value:0128x}"
    assert workshop.verify(document).broken_links == ("signature",)


@pytest.mark.parametrize("where", ["release", "previous_hash", "source", "blocking_reasons"])
def test_signature_covers_everything_else(workshop: Any, key: Any, where: str) -> None:
    document = sign(workshop, workshop.certificate(), key)
    if where == "release":
        document["release"] = {"table.csv": "sha256:" + "0" * 64}
    elif where == "previous_hash":
        document["previous_hash"] = "sha256:" + "1" * 64
    elif where == "source":
        document["chain"]["unit"]["entity"]["source"] = "another source"
    else:
        document["blocking_reasons"] = ["mechanism: none"]
    assert "signature" in workshop.verify(document).broken_links


@pytest.mark.parametrize(
    "change",
    [{"algorithm": "none"}, {"public_key": PUBLIC.upper()}, {"public_key": PUBLIC[:-2]},
     {"value": ""}, {"value": "0" * 127 + "G"}, {"value": None}, {"more": 1}],
)  # fmt: skip
def test_signature_of_another_form(workshop: Any, key: Any, change: dict[str, Any]) -> None:
    document = sign(workshop, workshop.certificate(), key)
    document["signature"].update(change)
    assert "signature" in workshop.verify(document).broken_links


def test_key_that_is_no_point_of_the_curve(workshop: Any, key: Any) -> None:
    document = sign(workshop, workshop.certificate(), key)
    document["signature"]["public_key"] = "f" * 64
    assert workshop.verify(document).broken_links == ("signature",)


def test_signature_belongs_to_one_certificate(workshop: Any, key: Any) -> None:
    signed = sign(workshop, workshop.certificate(), key)
    other = workshop.certificate(epsilon_rows=2.0)
    other["signature"] = signed["signature"]
    assert workshop.verify(other, public_key=PUBLIC).broken_links == ("signature",)


@pytest.mark.parametrize("text", [PUBLIC, f"{PUBLIC.upper()}\n", "pem"])
def test_public_key_from_a_file(tmp_path: Path, key: Any, text: str) -> None:
    path = tmp_path / "site.pub"
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    path.write_text(pem if text == "pem" else text, encoding="ascii")
    assert read_public_key(path) == PUBLIC


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff" * 32, PUBLIC.encode()[:-1], b"-----BEGIN PUBLIC KEY-----\nAAAA\n",
     b"x" * 20_000, b"-----BEGIN PRIVATE KEY-----\n"],
)  # fmt: skip
def test_file_without_a_public_key(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "site.pub"
    path.write_bytes(data)
    with pytest.raises(CertificateError, match="public key") as caught:
        read_public_key(path)
    assert str(tmp_path) not in str(caught.value)


def test_public_key_as_an_argument_is_checked(workshop: Any) -> None:
    with pytest.raises(CertificateError, match="64 hexadecimal digits"):
        workshop.verify(workshop.certificate(), public_key="abc")


def test_certificate_follows_the_one_before(workshop: Any, key: Any, tmp_path: Path) -> None:
    first = sign(workshop, workshop.certificate(), key)
    before = tmp_path / "first.json"
    before.write_text(json.dumps(first), encoding="utf-8")
    second = workshop.certificate(epsilon_rows=2.0)
    second["previous_hash"] = workshop.digest(workshop.canonical(first))
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(second), encoding="utf-8")
    assert verify(path, previous=before).exit_code == 0
    before.write_text(json.dumps(workshop.certificate()), encoding="utf-8")
    result = verify(path, previous=before)
    assert result.broken_links == ("document",)
    second["previous_hash"] = None
    path.write_text(json.dumps(second), encoding="utf-8")
    assert verify(path, previous=before).broken_links == ("document",)


def test_only_a_signature_needs_the_library(workshop: Any) -> None:
    """Importing verification, and checking unsigned certificates, takes the standard library."""
    import subprocess
    import sys

    path = workshop.folder / "certificate.json"
    path.write_text(json.dumps(workshop.certificate(mechanism="privunit")), encoding="utf-8")
    program = (
        "import sys; from neuroveil.privacy.verify import verify; "
        f"assert verify({str(path)!r}).exit_code == 0; "
        "assert not {'numpy', 'scipy', 'cryptography'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
