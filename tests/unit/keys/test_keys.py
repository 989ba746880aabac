"""Keys: made once, kept from others, opened again, and what they sign."""

from __future__ import annotations

import copy
import json
import os
import pickle
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from neuroveil.errors import CertificateError, StudyError
from neuroveil.keys import (
    PASSPHRASE_FILE,
    PASSPHRASE_VARIABLE,
    SiteKey,
    create_key,
    find_passphrase,
    is_encrypted,
    load_key,
    sealing,
    sign,
)
from neuroveil.privacy.verify import fingerprint
from neuroveil.privacy.verify.signature import _fits
from neuroveil.types.certificate import Certificate, Fact, certificate_from_json

PHRASE = "correct horse, battery and staple"
CERTIFICATE = Certificate(
    True, "A verdict.", (), {"unit": {"entity": Fact("patient", "assumed", "the study")}}
)


@pytest.fixture(autouse=True)
def _quick_scrypt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real cost takes half a second a call; one test below measures it."""
    monkeypatch.setattr(sealing, "SCRYPT_COST", 1 << 10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "signing.key"


@pytest.mark.parametrize("phrase", [None, PHRASE, "ключ 鍵 🔑"])
def test_key_is_the_same_when_it_is_opened_again(path: Path, phrase: str | None) -> None:
    made = create_key(path, phrase)
    opened = load_key(path, phrase)
    assert opened.public_key == made.public_key
    assert len(made.public_key) == 64
    assert made.fingerprint == fingerprint(made.public_key)
    assert is_encrypted(path) == (phrase is not None)


@pytest.mark.parametrize("phrase", [None, PHRASE])
def test_only_the_owner_can_read_the_file(path: Path, phrase: str | None) -> None:
    before = os.umask(0)
    try:
        create_key(path, phrase)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_file_that_others_can_read_is_refused(path: Path, mode: int) -> None:
    create_key(path)
    path.chmod(mode)
    for use in (load_key, is_encrypted):
        with pytest.raises(StudyError, match="only its owner"):
            use(path)


def test_existing_file_is_never_overwritten(path: Path) -> None:
    first = create_key(path)
    with pytest.raises(StudyError, match="existing one"):
        create_key(path, PHRASE)
    assert load_key(path).public_key == first.public_key


def test_link_in_place_of_the_new_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StudyError):
        create_key(path)
    assert not (tmp_path / "elsewhere").exists()


def test_two_keys_differ(tmp_path: Path) -> None:
    made = {create_key(tmp_path / f"{n}.key").public_key for n in range(3)}
    assert len(made) == 3


@pytest.mark.parametrize("phrase", [None, "", "another"])
def test_wrong_or_missing_passphrase(path: Path, phrase: str | None) -> None:
    create_key(path, PHRASE)
    with pytest.raises(StudyError, match="passphrase") as caught:
        load_key(path, phrase)
    assert PHRASE not in str(caught.value)
    assert str(path.parent) not in str(caught.value)


@pytest.mark.parametrize("phrase", ["", "  ", "\n"])
def test_empty_passphrase_is_refused(path: Path, phrase: str) -> None:
    with pytest.raises(StudyError, match="an empty one"):
        create_key(path, phrase)
    assert not path.exists()


def test_encrypted_file_holds_the_key_in_no_form(path: Path) -> None:
    made = create_key(path, PHRASE)
    secret, data = made.private.private_bytes_raw(), path.read_bytes()
    assert secret not in data
    assert secret.hex() not in data.decode()


@pytest.mark.parametrize(
    "change",
    [{"public_key": "00" * 32}, {"ciphertext": "00" * 48}, {"ciphertext": "xy"},
     {"kdf": {"name": "scrypt", "n": 1000, "r": 8, "p": 1, "salt": "00"}},
     {"kdf": {"name": "scrypt", "n": 1 << 30, "r": 8, "p": 1, "salt": "00"}},
     {"kdf": None}, {"cipher": {"nonce": "00"}}, {"cipher": {}}],
)  # fmt: skip
def test_changed_file_is_not_opened(path: Path, change: dict[str, Any]) -> None:
    """Also what stands in the open is bound, and a cost beyond memory is not tried."""
    create_key(path, PHRASE)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | change))
    with pytest.raises(StudyError):
        load_key(path, PHRASE)


@pytest.mark.parametrize("phrase", [None, b"from another program"])
def test_key_of_another_program_is_read(path: Path, phrase: bytes | None) -> None:
    private = Ed25519PrivateKey.generate()
    lock = BestAvailableEncryption(phrase) if phrase else NoEncryption()
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
    path.chmod(0o600)
    assert is_encrypted(path) == bool(phrase)
    opened = load_key(path, phrase.decode() if phrase else None)
    assert opened.public_key == private.public_key().public_bytes_raw().hex()
    if phrase:
        for wrong in (None, "another"):
            with pytest.raises(StudyError, match="passphrase"):
                load_key(path, wrong)


def test_key_of_another_kind_is_refused(path: Path) -> None:
    private = generate_private_key(SECP256R1())
    path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)
    with pytest.raises(StudyError, match="Ed25519"):
        load_key(path)


@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 5000, b"\xff\xfe", b"x" * 20_000])
def test_file_that_is_no_key_is_refused(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(StudyError):
        load_key(path, PHRASE)


def test_nothing_there_and_nowhere_to_write(path: Path, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="can be read"):
        load_key(path)
    with pytest.raises(StudyError, match="small file"):
        load_key(tmp_path)
    with pytest.raises(StudyError, match="written to"):
        create_key(tmp_path / "absent" / "signing.key")


def test_key_is_not_shown_copied_or_stored(path: Path) -> None:
    key = create_key(path)
    secret = key.private.private_bytes_raw().hex()
    assert secret not in repr(key)
    assert "private" not in repr(key).lower()
    for use in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(CertificateError, match="copy or store"):
            use(key)


def test_signature_covers_the_certificate_and_fits_its_key(path: Path) -> None:
    key = create_key(path)
    signed = sign(CERTIFICATE.bound_to({"table.csv": "sha256:" + "0" * 64}), key)
    assert signed.signature is not None
    assert signed.signature["public_key"] == key.public_key
    value = signed.signature["value"]
    assert _fits(key.public_key, value, signed.signed_bytes)
    assert not _fits(key.public_key, value, signed.bound_to({"a": "b"}).signed_bytes)
    assert certificate_from_json(signed.to_json()) == signed
    assert signed.bound_to({"table.csv": "x"}).signature is None


def test_signing_again_replaces_the_signature(tmp_path: Path) -> None:
    bound = CERTIFICATE.bound_to({"table.csv": "sha256:" + "0" * 64})
    one, two = (create_key(tmp_path / f"{n}.key") for n in range(2))
    twice = sign(sign(bound, one), two)
    assert twice == sign(bound, two)


def test_certificate_without_files_is_not_signed(path: Path) -> None:
    with pytest.raises(CertificateError, match="bound to the files"):
        sign(CERTIFICATE, create_key(path))


# Where the passphrase comes from.


def test_passphrase_from_the_environment_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "phrase"
    file.write_text("from a file\nsecond line\n", encoding="utf-8")
    assert find_passphrase() is None
    assert find_passphrase(lambda: "from a person") == "from a person"
    monkeypatch.setenv(PASSPHRASE_FILE, str(file))
    assert find_passphrase(lambda: "from a person") == "from a file"
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "from a variable")
    assert find_passphrase(lambda: "from a person") == "from a variable"


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff"])
def test_passphrase_file_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    file = tmp_path / "phrase"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv(PASSPHRASE_FILE, str(file))
    with pytest.raises(StudyError, match="first line") as caught:
        find_passphrase()
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.slow
def test_the_real_cost_takes_memory_that_guessing_cannot_spare(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 7914: 128 N r bytes; the parameters stand in the file."""
    monkeypatch.undo()
    create_key(path, PHRASE)
    kdf = json.loads(path.read_text())["kdf"]
    assert 128 * kdf["n"] * kdf["r"] >= 128 << 20
    assert isinstance(load_key(path, PHRASE), SiteKey)
