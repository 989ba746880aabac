"""Folders of coordinators and hospitals: what is in them, who can read it, what is refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from neuroveil.deploy.federated.operate import service
from neuroveil.deploy.federated.operate.control import operator
from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder, create_coordinator
from neuroveil.deploy.federated.operate.decisions import read_decisions
from neuroveil.deploy.federated.operate.hospital import create_hospital
from neuroveil.deploy.federated.operate.node_key import create_node_key, node_fingerprint
from neuroveil.errors import FederationError, StudyError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def new_key(folder: Path, name: str) -> str:
    return create_node_key(folder / f"{name}.key", folder / f"{name}.pub")


def test_only_the_owner_reads_secrets(coordinator, hospital):
    secrets = [
        coordinator.root / "operator.token", coordinator.executor_secret, coordinator.tls.key,
        coordinator.root / "hospitals.json", hospital.private_key, hospital.executor_secret,
        hospital.root / "policy.toml", hospital.root / "hospital.toml",
    ]  # fmt: skip
    assert {mode(path) for path in secrets} == {0o600}
    assert {mode(each.root) for each in (coordinator, hospital)} == {0o700}


def test_a_secret_that_others_can_read_is_refused_as_ssh_does(coordinator, hospital, monkeypatch):
    """By the file's mode, so that root is told as well; the services do not start."""
    monkeypatch.setattr(service, "supervise", lambda *_, **__: pytest.fail("it was started"))
    of_coordinator = ("operator.token", "executor.secret", "tls.key")
    for start, folder, files in (
        (service.start_coordinator, coordinator.root, of_coordinator),
        (service.start_hospital, hospital.root, ("node.key", "executor.secret")),
    ):
        for name in files:
            (folder / name).chmod(0o644)
            with pytest.raises(StudyError, match=rf"{name}.*only its owner.*mode 644.*chmod 600"):
                start(folder, print)
            (folder / name).chmod(0o600)
    coordinator.tls.certificate.chmod(0o644)
    hospital.authority.chmod(0o644)
    assert coordinator.token()


def test_a_folder_in_use_is_refused_and_left_as_it_was(coordinator, hospital, seat):
    token = coordinator.token()
    with pytest.raises(StudyError, match="coordinator folder"):
        create_coordinator(coordinator.root, ("127.0.0.1",), {})
    assert coordinator.token() == token
    key = hospital.private_key.read_bytes()
    settings = {"coordinator": "127.0.0.1:8444", "seat": str(seat)}
    with pytest.raises(StudyError, match="hospital folder"):
        create_hospital(hospital.root, coordinator.tls.authority, settings, {"allowed_apps": []})
    assert hospital.private_key.read_bytes() == key


def test_two_coordinators_share_no_secret(tmp_path, coordinator):
    other = create_coordinator(tmp_path / "other", ("127.0.0.1",), {})
    assert other.token() != coordinator.token()
    assert other.executor_secret.read_bytes() != coordinator.executor_secret.read_bytes()


def test_a_coordinator_opens_to_others_only_by_decision(tmp_path):
    with pytest.raises(StudyError, match="host"):
        create_coordinator(tmp_path / "open", ("0.0.0.0", "127.0.0.1"), {"host": "0.0.0.0"})
    assert not (tmp_path / "open").exists()
    made = create_coordinator(
        tmp_path / "open", ("fed.example", "127.0.0.1"),
        {"host": "0.0.0.0", "beyond_this_machine": True},
    )  # fmt: skip
    assert made.settings().own_address == "127.0.0.1:8444"


def test_the_certificate_must_hold_for_the_coordinators_own_processes(tmp_path):
    with pytest.raises(StudyError, match="--host"):
        create_coordinator(tmp_path / "new", ("fed.example",), {})


def test_hospitals_are_registered_once_and_removed(tmp_path, coordinator):
    first, second = new_key(tmp_path, "a"), new_key(tmp_path, "b")
    assert coordinator.add_hospital("North", first + " a comment") == first
    with pytest.raises(FederationError):
        coordinator.add_hospital("North", second)
    with pytest.raises(FederationError):
        coordinator.add_hospital("South", first)
    assert coordinator.hospitals() == {"North": first}
    coordinator.remove_hospital("North")
    assert coordinator.hospitals() == {}
    with pytest.raises(FederationError):
        coordinator.remove_hospital("North")


@pytest.mark.parametrize("text", ["", "ssh-ed25519 AAAA", "hello", "ecdsa-sha2-nistp384 AAAA"])
def test_what_is_no_node_key_is_refused(coordinator, text):
    with pytest.raises(StudyError, match="public key of a hospital"):
        coordinator.add_hospital("North", text)
    assert coordinator.hospitals() == {}


def test_fingerprints_tell_keys_apart(tmp_path):
    first, second = new_key(tmp_path, "a"), new_key(tmp_path, "b")
    assert node_fingerprint(first) != node_fingerprint(second)
    assert node_fingerprint(first).startswith("SHA256:")
    assert len(node_fingerprint(first)) == len("SHA256:") + 43


def test_a_policy_is_checked_when_it_is_made(tmp_path, coordinator, seat):
    settings = {"coordinator": "127.0.0.1:8444", "seat": str(seat)}
    wrong = {"allowed_apps": ["short"], "maximum_epsilon": 0.0, "privacy": ["nothing"]}
    with pytest.raises(StudyError) as refused:
        create_hospital(tmp_path / "new", coordinator.tls.authority, settings, wrong)
    assert len(refused.value.mistakes) == 3
    assert not (tmp_path / "new").exists()


def test_a_certificate_of_the_coordinator_is_needed(tmp_path, seat):
    settings = {"coordinator": "127.0.0.1:8444", "seat": str(seat)}
    with pytest.raises(StudyError, match="--ca"):
        create_hospital(tmp_path / "new", tmp_path / "none", settings, {"allowed_apps": []})


def test_flowers_state_lies_in_a_file_or_in_memory_and_nowhere_else(tmp_path):
    made = create_coordinator(tmp_path / "quick", ("127.0.0.1",), {"database": "memory"})
    assert made.settings().database == "memory"
    with pytest.raises(StudyError, match="database"):
        create_coordinator(tmp_path / "wrong", ("127.0.0.1",), {"database": "postgresql://x"})


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"[]", b"null", b"x", b'{"North": 3}', b"[" * 10**5]
)
def test_a_list_of_hospitals_that_was_damaged_is_refused(tmp_path, content):
    folder = CoordinatorFolder(tmp_path)
    (tmp_path / "hospitals.json").write_bytes(content)
    with pytest.raises(FederationError, match="list of hospitals"):
        folder.hospitals()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[]", b"null", b"x", b"[" * 10**5])
def test_decisions_that_were_damaged_are_refused(tmp_path, content):
    (tmp_path / "decisions.jsonl").write_bytes(content)
    with pytest.raises(FederationError, match="decision"):
        read_decisions(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"no certificate"])
def test_an_authority_that_was_damaged_is_named(coordinator, content):
    coordinator.tls.authority.write_bytes(content)
    with pytest.raises(FederationError, match="certificate ca"), operator(coordinator.root):
        pass
