"""Against a real PKCS #11 module, SoftHSM: it computes what we compute, and keeps the key."""

from dataclasses import replace
from pathlib import Path

import pytest

from neuroveil.errors import LinkageError, StudyError
from neuroveil.linkage.key_service import PURPOSES, LinkageKey, LocalKeyService
from neuroveil.linkage.pkcs11 import Pkcs11KeyService, deposit_in_token
from neuroveil.linkage.services import PIN_VARIABLE, deposit, described, opened_service

pytestmark = pytest.mark.slow
SECRET = bytes(range(32))
LOCAL = LocalKeyService(LinkageKey(SECRET), bytes(32))
NUMBERS = [f"neuroveil-id:1:own:{number}".encode() for number in range(300)]


@pytest.fixture
def service(softhsm_token):
    opened = Pkcs11KeyService(softhsm_token)
    yield opened
    opened.close()


def objects(token, label):
    import pkcs11

    session = (
        pkcs11.lib(str(token.module))
        .get_token(token_label=token.label)
        .open(rw=True, user_pin=token.pin)
    )
    return session, list(session.get_objects({pkcs11.Attribute.LABEL: label}))


def test_the_module_computes_the_same_ids_and_field_keys(service, make_schema):
    assert service.key_id == LOCAL.key_id
    assert service.macs(NUMBERS) == LOCAL.macs(NUMBERS)
    schema = make_schema()
    assert service.field_keys(schema).keys == LOCAL.field_keys(schema).keys
    assert service.hardening_keys().diffusion == LOCAL.hardening_keys().diffusion
    assert service.hardening_keys().noise == service.hardening_keys().noise


@pytest.mark.parametrize("purpose", PURPOSES)
def test_the_key_cannot_be_read_out_nor_made_readable(softhsm_token, purpose):
    import pkcs11

    session, (key,) = objects(softhsm_token, softhsm_token.key_label(purpose))
    try:
        with pytest.raises(pkcs11.exceptions.AttributeSensitive):
            key[pkcs11.Attribute.VALUE]
        with pytest.raises(pkcs11.exceptions.PKCS11Error):
            key[pkcs11.Attribute.EXTRACTABLE] = True
        wrapper = session.generate_key(pkcs11.KeyType.AES, 256)
        with pytest.raises(pkcs11.exceptions.PKCS11Error):
            wrapper.wrap_key(key, mechanism=pkcs11.Mechanism.AES_KEY_WRAP)
    finally:
        session.close()


def test_a_key_that_could_be_read_out_is_refused(softhsm_token):
    import pkcs11

    token = replace(softhsm_token, name="open")
    session, _ = objects(token, "none")
    try:
        made = session.create_object({
            pkcs11.Attribute.CLASS: pkcs11.ObjectClass.SECRET_KEY,
            pkcs11.Attribute.KEY_TYPE: pkcs11.KeyType.GENERIC_SECRET,
            pkcs11.Attribute.VALUE: SECRET, pkcs11.Attribute.LABEL: "open-mac",
            pkcs11.Attribute.TOKEN: True, pkcs11.Attribute.EXTRACTABLE: True,
            pkcs11.Attribute.SENSITIVE: False, pkcs11.Attribute.SIGN: True,
        })  # fmt: skip
        with pytest.raises(LinkageError, match="cannot be read out"):
            Pkcs11KeyService(token).macs(NUMBERS)
        made.destroy()
    finally:
        session.close()


def test_without_the_pin_nothing_is_computed(softhsm_token):
    with pytest.raises(LinkageError, match="PIN"):
        Pkcs11KeyService(replace(softhsm_token, pin="9999"))
    assert "1234" not in repr(softhsm_token)


def test_a_hospital_whose_key_was_taken_away_cannot_compute_ids(softhsm_token):
    token = replace(softhsm_token, name="revoked")
    deposit_in_token(token, LinkageKey.generate())
    opened = Pkcs11KeyService(token)
    assert opened.macs(NUMBERS[:1])
    opened.close()
    session, (key,) = objects(token, "revoked-mac")
    key.destroy()
    session.close()
    with pytest.raises(LinkageError, match="one key for mac"):
        Pkcs11KeyService(token).macs(NUMBERS[:1])


def test_a_key_is_never_replaced(softhsm_token):
    with pytest.raises(LinkageError, match="no key of this name"):
        deposit_in_token(softhsm_token, LinkageKey.generate())


def test_what_is_no_module_or_token_is_refused(softhsm_token):
    with pytest.raises(LinkageError, match="can be opened"):
        Pkcs11KeyService(replace(softhsm_token, label="another"))
    with pytest.raises(LinkageError, match="can be opened"):
        Pkcs11KeyService(replace(softhsm_token, module=Path("/nowhere.so")))


def test_settings_deposit_and_open_the_service(softhsm_token, write_settings, monkeypatch):
    new = LinkageKey.generate()
    new_id = LocalKeyService(new).key_id
    settings = {"module": softhsm_token.module, "token": softhsm_token.label, "name": "newer"}
    file = write_settings("pkcs11", new_id, settings)
    with pytest.raises(StudyError, match=PIN_VARIABLE):
        deposit(file, new)
    monkeypatch.setenv(PIN_VARIABLE, softhsm_token.pin)
    deposit(file, new)
    assert described(file)["keys"] == [f"newer-{purpose}" for purpose in PURPOSES]
    file = write_settings("pkcs11", new_id, settings | {"previous_name": "neuroveil"})
    with opened_service(file) as service:
        assert service.current.key_id == new_id
        assert service.previous is not None
        assert service.previous.key_id == LOCAL.key_id
