"""Certificates on both sides: right, missing, foreign, expired, and bound to a hospital's key."""

from __future__ import annotations

import datetime
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from neuroveil.deploy.hospital.connection import CLIENT_CERTIFICATE, Address, Answer, Connection
from neuroveil.deploy.server.client_certificates import certificate_fingerprint
from neuroveil.deploy.server.setup import create_server
from neuroveil.errors import MachineError, StudyError
from neuroveil.keys import SiteKey, create_key

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 120.0
PATH = f"/v1/submissions/{'0' * 64}"


class Authority:
    """An authority for certificates that exists for one test."""

    def __init__(self, place: Path, name: str) -> None:
        self.place, self.name = place, name
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.file = place / f"{name}.pem"
        own = self._sign(name, self.key.public_key(), 100.0, is_authority=True)
        self.file.write_bytes(own.public_bytes(Encoding.PEM))

    def issue(self, name: str, days: float = 100.0) -> Path:
        """A certificate and its key in one file."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(name, key.public_key(), days, is_authority=False)
        file = self.place / f"{self.name}-{name}.pem"
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(certificate.public_bytes(Encoding.PEM) + secret)
        return file

    def _sign(self, name, public, days, is_authority) -> x509.Certificate:
        def named(text: str) -> x509.Name:
            return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

        now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
        host = x509.DNSName("localhost")
        return (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named(self.name))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 50 * day)
            .not_valid_after(now + days * day)
            .add_extension(x509.SubjectAlternativeName([host]), critical=False)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .sign(self.key, SHA256())
        )


@dataclass(frozen=True)
class World:
    """A server that asks for certificates of one authority, and a hospital that it knows."""

    folder: Path
    port: int
    key: SiteKey
    ours: Authority
    foreign: Authority

    def ask(self) -> Answer:
        address = Address(f"https://localhost:{self.port}", self.folder / "ca.pem")
        connection = Connection(address, self.key)
        try:
            return connection.ask("GET", PATH)
        finally:
            connection.close()


def new_server(place: Path, port: int, **listen: object) -> Path:
    """A server's folder; nobody submits anything here, so any terms will do."""
    zeros = "sha256:" + "0" * 64
    terms = {"name": "test", "columns_digest": zeros, "reference": "none",
             "reference_digest": zeros, "features_digest": zeros}  # fmt: skip
    create_server(place / "server", terms, ("localhost",), {"port": port, **listen})
    return place / "server"


@pytest.fixture(scope="module")
def world(neuroveil, tmp_path_factory, free_port) -> Iterator[World]:
    place = tmp_path_factory.mktemp("tls")
    ours, foreign = Authority(place, "ours"), Authority(place, "foreign")
    port = free_port()
    folder = new_server(place, port, client_ca="clients.pem")
    (folder / "clients.pem").write_bytes(ours.file.read_bytes())
    key = create_key(place / "north.key")
    (place / "north.pub").write_text(key.public_key)
    who = ("--name", "North", "--public-key", place / "north.pub")
    answer = neuroveil(
        "serve", "hospital", "add", folder, *who, "--certificate", ours.issue("north")
    )
    assert answer.code == 0, answer.err
    with serving(folder, port):
        yield World(folder, port, key, ours, foreign)


class serving:  # noqa: N801, it reads as a word
    """A server's process, until the block ends."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port, self.log = folder, port, folder.parent / "log"

    def __enter__(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "neuroveil", "serve", "run", str(self.folder)],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ},
            )  # fmt: skip
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_SECONDS)


def test_the_certificate_that_is_registered_is_let_in(world, monkeypatch):
    monkeypatch.setenv(CLIENT_CERTIFICATE, str(world.ours.place / "ours-north.pem"))
    assert (world.ask().status, world.ask().document["error"]) == (404, "not_found")


def test_another_certificate_of_the_same_authority_is_not_enough(world, monkeypatch):
    monkeypatch.setenv(CLIENT_CERTIFICATE, str(world.ours.issue("south")))
    answer = world.ask()
    assert (answer.status, answer.document["error"]) == (401, "wrong_certificate")


@pytest.mark.parametrize("case", ["none", "foreign", "expired"])
def test_connections_without_a_good_certificate_end_in_tls(world, monkeypatch, case):
    monkeypatch.delenv(CLIENT_CERTIFICATE, raising=False)
    if case == "foreign":
        monkeypatch.setenv(CLIENT_CERTIFICATE, str(world.foreign.issue("north")))
    if case == "expired":
        monkeypatch.setenv(CLIENT_CERTIFICATE, str(world.ours.issue("old", days=-1.0)))
    # Usually the alert is read, with what to do; a connection may also be cut off before.
    with pytest.raises((StudyError, MachineError)) as error:
        world.ask()
    if isinstance(error.value, StudyError):
        assert CLIENT_CERTIFICATE in str(error.value)


@pytest.mark.parametrize("content", ["", "no certificate", None])
def test_a_certificate_file_that_is_none(world, monkeypatch, tmp_path, content):
    file = tmp_path / "own.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv(CLIENT_CERTIFICATE, str(file))
    with pytest.raises(StudyError, match=CLIENT_CERTIFICATE):
        world.ask()
    with pytest.raises(StudyError, match="--certificate"):
        certificate_fingerprint(file)


def test_a_server_whose_certificate_has_ended(world, tmp_path, free_port):
    """The server warns when it starts, and no hospital talks to it."""
    port = free_port()
    folder = new_server(tmp_path, port)
    ended = world.ours.issue("localhost", days=-2.0).read_bytes()
    (folder / "tls.pem").write_bytes(ended)
    (folder / "tls.key").write_bytes(ended)
    address = Address(f"https://localhost:{port}", world.ours.file)
    with serving(folder, port):
        with pytest.raises(StudyError, match="certificate of the stated authority"):
            Connection(address, world.key).ask("GET", "/healthz")
        assert '"certificate.expires", "days": -2.0' in (tmp_path / "log").read_text()


def test_an_authority_of_clients_that_is_not_there(neuroveil, tmp_path, free_port):
    folder = new_server(tmp_path, free_port(), client_ca="missing.pem")
    answer = neuroveil("serve", "run", folder)
    assert answer.code == 2
    assert "listen.client_ca" in answer.err
