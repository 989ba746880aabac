"""``neuroveil link`` with a real server and a real module gives what a keystore gives."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from neuroveil.cli.app import cli
from neuroveil.keys import sealing
from neuroveil.linkage.encoded_list import read_encoded
from neuroveil.linkage.key_service import LinkageKey, LocalKeyService
from neuroveil.linkage.keystore import create_keystore
from neuroveil.linkage.services import (
    ADMINISTRATOR_VARIABLE,
    PIN_VARIABLE,
    SECRET_ID_VARIABLE,
    described,
)

pytestmark = pytest.mark.slow

PHRASE = "correct horse, battery and staple"
SCHEMA = """\
name = "trial"
[identifier]
column = "number"
scheme = "own"
pattern = "[0-9]{4}"
[[field]]
name = "surname"
kind = "name"
[encoding]
hardening = ["diffusion"]
"""
PATIENTS = "patient,number,surname\nP1,0001,Dahl\nP2,0002,Lund\n"


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch):
    monkeypatch.setattr(sealing, "SCRYPT_COST", 1 << 10)
    monkeypatch.setenv("NEUROVEIL_KEY_PASSPHRASE", PHRASE)


@pytest.fixture
def keystore(tmp_path) -> Path:
    (tmp_path / "linkage.toml").write_text(SCHEMA)
    (tmp_path / "patients.csv").write_text(PATIENTS)
    create_keystore(tmp_path / "linkage.keystore", PHRASE)
    return tmp_path / "linkage.keystore"


def link(*arguments: object) -> dict:
    result = CliRunner().invoke(cli, ["link", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def key_id_of(keystore: Path) -> str:
    return link("show", keystore)["keys"][0]["key_id"]


def encoded_with(key: Path, folder: Path, out: str) -> set[tuple[str, bytes]]:
    link("encode", folder / "patients.csv", "--schema", folder / "linkage.toml", "--key", key,
         "--out", folder / out)  # fmt: skip
    found = read_encoded(folder / out / "encoded.parquet")
    return set(zip(found.global_ids, (row.tobytes() for row in found.bits), strict=True))


def test_a_server_inside_the_hospital(openbao_server, keystore, write_settings, monkeypatch):
    folder = keystore.parent
    settings = {"url": openbao_server.url, "ca_file": openbao_server.ca_file, "name": "by-command"}
    file = write_settings("openbao", key_id_of(keystore), settings)
    said = link("deposit", keystore, file, "--dry-run")
    assert (said["policy"], said["written"]) == (described(file)["policy"], False)
    monkeypatch.setenv(ADMINISTRATOR_VARIABLE, openbao_server.root)
    assert link("deposit", keystore, file)["written"]
    role = openbao_server.role("by-command", said["policy"])
    monkeypatch.setenv(SECRET_ID_VARIABLE, role.secret_id)
    file = write_settings("openbao", key_id_of(keystore), settings | {"role_id": role.role_id})
    assert encoded_with(file, folder, "server") == encoded_with(keystore, folder, "file")


def test_a_hardware_module(softhsm_token, keystore, write_settings, monkeypatch):
    folder = keystore.parent
    settings = {"module": softhsm_token.module, "token": softhsm_token.label, "name": "by-command"}
    file = write_settings("pkcs11", key_id_of(keystore), settings)
    monkeypatch.setenv(PIN_VARIABLE, softhsm_token.pin)
    said = link("deposit", keystore, file)
    assert said["keys"] == [
        "by-command-mac", "by-command-fields", "by-command-hardening", "by-command-noise",
    ]  # fmt: skip
    assert encoded_with(file, folder, "module") == encoded_with(keystore, folder, "file")


def test_a_central_server_hands_the_key_out(openbao_server, keystore, write_settings, monkeypatch):
    folder, key_id = keystore.parent, key_id_of(keystore)
    made = link("hospital-key", folder / "hospital.key")
    link("wrap", keystore, "--for", made["public_key"], "--out", folder / "sent.json")
    document = json.loads((folder / "sent.json").read_text())
    openbao_server.admin().request("POST", "secret/data/linkage/tenth", {"data": document})
    policy = 'path "secret/data/linkage/tenth" { capabilities = ["read"] }'
    role = openbao_server.role("tenth", policy)
    monkeypatch.setenv(SECRET_ID_VARIABLE, role.secret_id)
    settings = {
        "url": openbao_server.url, "ca_file": openbao_server.ca_file, "role_id": role.role_id,
    }  # fmt: skip
    file = write_settings("openbao", key_id, settings)
    link("fetch", file, "secret/data/linkage/tenth", "--out", folder / "wrapped.json")
    link("unwrap", folder / "wrapped.json", folder / "ours.keystore",
         "--hospital-key", folder / "hospital.key", "--key-id", key_id)  # fmt: skip
    assert encoded_with(folder / "ours.keystore", folder, "a") == encoded_with(
        keystore, folder, "b"
    )


def test_a_key_that_was_not_announced_is_not_deposited(
    softhsm_token, keystore, write_settings, monkeypatch
):
    other = LocalKeyService(LinkageKey.generate()).key_id
    settings = {"module": softhsm_token.module, "token": softhsm_token.label, "name": "refused"}
    file = write_settings("pkcs11", other, settings)
    monkeypatch.setenv(PIN_VARIABLE, softhsm_token.pin)
    result = CliRunner().invoke(cli, ["link", "deposit", str(keystore), str(file)])
    assert "another key" in str(result.exception)
