"""``neuroveil keys``: makes, shows and never betrays a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from neuroveil.cli.app import cli
from neuroveil.keys import load_key, sealing

PHRASE = "correct horse, battery and staple"


@pytest.fixture(autouse=True)
def _quick_scrypt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "SCRYPT_COST", 1 << 10)


def run(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(cli, list(arguments), **options)


def document(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.mark.parametrize("phrase", [None, PHRASE])
def test_create_show_and_public_tell_one_key(tmp_path: Path, phrase: str | None) -> None:
    key = str(tmp_path / "site.key")
    env = {"NEUROVEIL_KEY_PASSPHRASE": phrase or ""}
    created = document(run("keys", "create", key, "--json", env=env))
    assert created["written"]
    assert created["encrypted"] == bool(phrase)
    shown = document(run("keys", "show", key, "--json", env=env))
    assert {shown[k] for k in ("public_key",)} == {created["public_key"]}
    printed = run("keys", "public", key, env=env).stdout.strip()
    assert printed == created["public_key"] == load_key(Path(key), phrase).public_key


@pytest.mark.parametrize("command", ["create", "show", "public"])
def test_the_private_key_is_never_printed(tmp_path: Path, command: str) -> None:
    key = tmp_path / "site.key"
    assert run("keys", "create", str(key)).exit_code == 0
    secret = load_key(key).private.private_bytes_raw().hex()
    if command == "create":
        key.unlink()
    result = run("keys", command, str(key))
    secret = secret if command != "create" else load_key(key).private.private_bytes_raw().hex()
    assert result.exit_code == 0
    assert secret not in result.output
    assert "PRIVATE" not in result.output


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    result = run("keys", "create", str(tmp_path / "site.key"), "--dry-run")
    assert result.exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_no_passphrase_wins_over_the_environment(tmp_path: Path) -> None:
    key = str(tmp_path / "site.key")
    env = {"NEUROVEIL_KEY_PASSPHRASE": PHRASE}
    created = document(run("keys", "create", key, "--no-passphrase", "--json", env=env))
    assert not created["encrypted"]


@pytest.mark.parametrize("command", ["show", "public"])
def test_missing_key_and_missing_passphrase(tmp_path: Path, command: str) -> None:
    key = str(tmp_path / "site.key")
    assert run("keys", command, key).exception is not None
    run("keys", "create", key, env={"NEUROVEIL_KEY_PASSPHRASE": PHRASE})
    result = run("keys", command, key)
    assert "passphrase" in str(result.exception)


def test_help_shows_the_three_commands() -> None:
    text = run("keys", "--help").output
    for name in ("create", "show", "public"):
        assert name in text
