"""The linkage key, what is separated from it, the keystore, and wrapping."""

import copy
import hashlib
import hmac
import json
import pickle
import stat

import pytest

from neuroveil.errors import LinkageError, StudyError
from neuroveil.keys import sealing
from neuroveil.linkage.global_id import global_ids, parse_global_id
from neuroveil.linkage.identifiers import IdentifierRules, encode_identifier
from neuroveil.linkage.key_service import PURPOSES, SEPARATED, LinkageKey, LocalKeyService
from neuroveil.linkage.keystore import create_keystore, load_keystore, update_keystore
from neuroveil.linkage.wrapping import (
    create_hospital_key,
    fingerprint,
    load_hospital_key,
    read_wrapped,
    unwrap,
    wrap,
)

PHRASE = "correct horse, battery and staple"
SECRET = bytes(range(32))
RULES = IdentifierRules("own", pattern="[0-9]+")


@pytest.fixture(autouse=True)
def _quick_scrypt(monkeypatch):
    monkeypatch.setattr(sealing, "SCRYPT_COST", 1 << 10)


def encoded(*numbers: str) -> list[bytes]:
    return [encode_identifier(number, RULES, "identifier") for number in numbers]


def hkdf(secret: bytes, info: bytes) -> bytes:
    """RFC 5869 written out, for one block."""
    extracted = hmac.new(b"neuroveil-linkage", secret, hashlib.sha256).digest()
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def test_a_global_id_is_the_hmac_that_the_protocol_says():
    service = LocalKeyService(LinkageKey(SECRET))
    key = hkdf(SECRET, b"neuroveil-linkage:1:mac")
    mac = hmac.new(key, b"neuroveil-id:1:own:77", hashlib.sha256).hexdigest()
    assert global_ids(encoded("7-7"), service) == [f"v1:{service.key_id}:{mac}"]


def test_the_key_id_covers_all_separated_keys():
    keys = LinkageKey(SECRET).separated()
    assert keys == {
        purpose: hkdf(SECRET, f"neuroveil-linkage:1:{purpose}".encode()) for purpose in SEPARATED
    }
    parts = [hmac.digest(keys[name], b"neuroveil-key-id:1", "sha256") for name in SEPARATED]
    expected = hashlib.sha256(b"".join(parts)).hexdigest()[:32]
    service = LocalKeyService(LinkageKey(SECRET))
    assert service.key_id == expected
    for purpose in SEPARATED:
        changed = LocalKeyService(LinkageKey(SECRET))
        changed._keys = keys | {purpose: bytes(32)}
        assert changed.key_id != expected


def test_separated_keys_differ_by_purpose_and_field(make_schema):
    service = LocalKeyService(LinkageKey(SECRET), bytes(32))
    message = [b"the same"]
    macs = [service.hmac_sha256(purpose, message)[0] for purpose in PURPOSES]
    field_keys = service.field_keys(make_schema()).keys
    assert len({*macs, *field_keys.values()}) == len(PURPOSES) + len(field_keys)
    hardening = service.hardening_keys()
    assert hardening.diffusion != hardening.noise


def test_noise_is_the_hospitals_own():
    one, other = (LocalKeyService(LinkageKey(SECRET), bytes([each]) * 32) for each in (1, 2))
    assert one.key_id == other.key_id
    assert one.hardening_keys().diffusion == other.hardening_keys().diffusion
    assert one.hardening_keys().noise != other.hardening_keys().noise
    with pytest.raises(LinkageError, match="hospital's own key"):
        LocalKeyService(LinkageKey(SECRET)).hardening_keys()


def test_only_encoded_numbers_get_a_mac():
    service = LocalKeyService(LinkageKey(SECRET))
    with pytest.raises(LinkageError, match="encoded ones"):
        service.macs([*encoded("1"), b"neuroveil-key-id:1"])
    assert global_ids([], service) == []


def test_keys_are_neither_shown_nor_copied():
    key = LinkageKey(SECRET)
    assert SECRET.hex() not in repr(key)
    assert str(SECRET) not in repr(key)
    for use in (copy.copy, pickle.dumps):
        with pytest.raises(LinkageError):
            use(key)
    with pytest.raises(LinkageError, match="32 bytes"):
        LinkageKey(b"short")
    assert LinkageKey.generate().secret != LinkageKey.generate().secret


@pytest.mark.parametrize("text", ["", "v1:00:00", "v0:" + "0" * 32 + ":" + "0" * 64, None, 7])
def test_what_is_no_global_id_is_refused(text):
    with pytest.raises(LinkageError, match="GlobalID, line 3"):
        parse_global_id(text, "GlobalID, line 3")


def test_a_keystore_gives_back_what_was_put_in(tmp_path):
    path = tmp_path / "linkage.keystore"
    made = create_keystore(path, PHRASE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    opened = load_keystore(path, PHRASE)
    assert opened.current.secret == made.current.secret
    assert opened.noise == made.noise
    assert opened.states == {made.service.key_id: "current"}
    text = path.read_text()
    assert json.loads(text)["cipher"]["name"] == "aes-256-gcm"
    assert made.current.secret.hex() not in text


def test_a_keystore_is_encrypted_and_refuses_the_wrong_phrase(tmp_path):
    path = tmp_path / "linkage.keystore"
    for empty in ("", "  "):
        with pytest.raises(StudyError, match="passphrase"):
            create_keystore(path, empty)
    create_keystore(path, PHRASE)
    for wrong in (None, "another"):
        with pytest.raises(StudyError, match="passphrase"):
            load_keystore(path, wrong)
    with pytest.raises(StudyError, match="existing one"):
        create_keystore(path, PHRASE)


@pytest.mark.parametrize("change", [{"keys": []}, {"ciphertext": "00"}, {"cipher": {"name": "x"}}])
def test_a_changed_keystore_is_not_opened(tmp_path, change):
    path = tmp_path / "linkage.keystore"
    create_keystore(path, PHRASE)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(StudyError):
        load_keystore(path, PHRASE)


def test_another_file_is_no_keystore_and_no_hospital_key(tmp_path):
    path = tmp_path / "file"
    path.write_text("{}")
    path.chmod(0o600)
    with pytest.raises(StudyError, match="keystore"):
        load_keystore(path, PHRASE)
    with pytest.raises(StudyError, match="hospital"):
        load_hospital_key(path, PHRASE)


def test_rotation_keeps_two_keys_for_one_window_and_retires_the_old(tmp_path):
    path = tmp_path / "linkage.keystore"
    first = create_keystore(path, PHRASE)
    old = first.service.key_id
    update_keystore(path, first.rotated(LinkageKey.generate()), PHRASE)
    both = load_keystore(path, PHRASE)
    assert both.states == {both.service.key_id: "current", old: "previous"}
    assert both.previous is not None
    assert both.previous.secret == first.current.secret
    with pytest.raises(LinkageError, match="at most two keys"):
        both.rotated(LinkageKey.generate())
    update_keystore(path, both.without_previous(), PHRASE)
    after = load_keystore(path, PHRASE)
    assert after.states == {both.service.key_id: "current", old: "retired"}
    assert after.previous_service is None
    with pytest.raises(LinkageError, match="a new key"):
        after.rotated(first.current)
    with pytest.raises(LinkageError, match="previous key to retire"):
        after.without_previous()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_wrapped_key_opens_at_its_hospital_only(tmp_path):
    ours = create_hospital_key(tmp_path / "ours.key", PHRASE)
    theirs = create_hospital_key(tmp_path / "theirs.key", PHRASE)
    ours = load_hospital_key(tmp_path / "ours.key", PHRASE)
    key = LinkageKey.generate()
    key_id = LocalKeyService(key).key_id
    document = wrap(key, ours.public_key)
    assert key.secret.hex() not in json.dumps(document)
    assert unwrap(document, ours, key_id).secret == key.secret
    with pytest.raises(LinkageError, match="one for another"):
        unwrap(document, theirs, key_id)
    forged = document | {"recipient": fingerprint(theirs.public_key)}
    with pytest.raises(LinkageError, match="a changed one"):
        unwrap(forged, theirs, key_id)


def test_a_key_that_somebody_else_sends_is_refused(tmp_path):
    """Anybody can wrap a key of their own: the announced key id is what tells."""
    ours = create_hospital_key(tmp_path / "ours.key", PHRASE)
    announced = LocalKeyService(LinkageKey.generate()).key_id
    document = wrap(LinkageKey.generate(), ours.public_key)
    for claimed in (document, document | {"key_id": announced}):
        with pytest.raises(LinkageError):
            unwrap(claimed, ours, announced)


@pytest.mark.parametrize("change", [{"wrapped": "00"}, {"wrapped": 3}, {"format": "x"},
                                    {"suite": "another"}, {"key_id": "0" * 32}])  # fmt: skip
def test_a_changed_wrapped_key_is_refused(tmp_path, change):
    ours = create_hospital_key(tmp_path / "ours.key", PHRASE)
    key = LinkageKey.generate()
    document = wrap(key, ours.public_key)
    with pytest.raises(LinkageError, match="wrapped linkage key"):
        unwrap(document | change, ours, LocalKeyService(key).key_id)


@pytest.mark.parametrize("public_key", ["", "xy", "00", "00" * 32, "01" + "00" * 31])
def test_what_is_no_public_key_is_refused(public_key):
    """All zeros and one are points of small order: anybody could open what is sealed for them."""
    with pytest.raises(LinkageError, match="X25519"):
        wrap(LinkageKey.generate(), public_key)


def test_a_wrapped_file_that_cannot_be_read(tmp_path):
    for data in (None, b"", b"[" * 20_000):
        path = tmp_path / "wrapped.json"
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(LinkageError, match="JSON"):
            read_wrapped(path)
