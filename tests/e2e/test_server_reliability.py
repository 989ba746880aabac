"""What a server bears: a full disk, a database that is gone, hostile content, wrong clocks.

Everything is real: processes, TLS, PostgreSQL, limits of the operating system.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neuroveil.deploy import wire
from neuroveil.deploy.hospital.connection import Address, Answer, Connection
from neuroveil.deploy.hospital.preview import Preview
from neuroveil.deploy.hospital.submit import submit
from neuroveil.deploy.manifest import Manifest, ManifestFile, manifest_of
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.setup import create_server
from neuroveil.deploy.tls import create_identity
from neuroveil.errors import CertificateError, MachineError
from neuroveil.keys import SiteKey, create_key, sign
from neuroveil.ledger import Ledger
from neuroveil.pipeline.release_folder import write_release
from neuroveil.privacy import ProtectSettings, charge_request, protect
from neuroveil.privacy.settings import columns_digest
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import columns_for
from neuroveil.types.certificate import canonical_json, certificate_from_json, digest
from neuroveil.types.table import FeatureTable

pytestmark = pytest.mark.slow

COLUMNS = columns_for(("Cz", "Pz"), ("variance", "line_length"))
SCALING = default_reference("harmonised").scaling_for(COLUMNS)
CANARY = "CANARY7731"
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Site:
    """A hospital with its key and a release."""

    key: SiteKey
    release: Path


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Site:
    place, n_patients = tmp_path_factory.mktemp("site"), 12
    key = create_key(place / "site.key")
    settings = ProtectSettings("gaussian", 1.0, 1e-5, 2.0)
    table = FeatureTable(
        patients=tuple(map(str, range(n_patients))), columns=COLUMNS,
        values=np.exp(np.random.default_rng(8).normal(size=(n_patients, len(COLUMNS)))),
        n_windows=np.full(n_patients, 60), seconds=np.full(n_patients, 61.0),
    )  # fmt: skip
    ledger = Ledger.create(place / "ledger.sqlite", Fraction(20), Fraction(1, 100))
    charge = ledger.reserve(charge_request(settings, COLUMNS, n_patients))
    write_release(protect(table, SCALING, settings, charge), place / "release", key)
    return Site(key, place / "release")


@dataclass
class World:
    """A server's folder, its process, and a hospital that it knows."""

    folder: Path
    port: int
    key: SiteKey
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.folder.parent / "log"

    @property
    def pid(self) -> int:
        return self.processes[-1].pid

    def connection(self, key: SiteKey | None = None) -> Connection:
        return Connection(
            Address(f"https://127.0.0.1:{self.port}", self.folder / "ca.pem"), key or self.key
        )

    def ask(self, method: str, target: str, body: bytes = b"") -> Answer:
        """Ask over a connection of its own."""
        connection = self.connection()
        try:
            return connection.ask(method, target, body)
        finally:
            connection.close()

    def start(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with self.log.open("ab") as log:
            self.processes.append(subprocess.Popen(
                [sys.executable, "-m", "neuroveil", "serve", "run", str(self.folder)],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment,
            ))  # fmt: skip
        self.wait_for(lambda: connects(self.port))

    def wait_for(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < end, self.log.read_text()
            assert self.processes[-1].poll() is None, self.log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=PATIENCE_SECONDS)
        self.processes.clear()

    def count(self, name: str, **labels: str) -> int:
        """Read a counter over the wire; 0 where it is not there."""

        secret = (self.folder / "overview.password").read_text().strip()
        basic = base64.b64encode(f"coordinator:{secret}".encode()).decode()
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context)
        connection.request("GET", "/metrics", headers={"Authorization": f"Basic {basic}"})
        text = connection.getresponse().read().decode()
        connection.close()
        stated = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
        found = re.search(rf"^neuroveil_{name}_total{{{re.escape(stated)}}} (\d+)$", text, re.M)
        return int(found.group(1)) if found else 0

    def submit(self, folder: Path) -> dict[str, Any]:
        connection = self.connection()
        try:
            return submit(folder, Preview(manifest_of(folder), {}, "", 0), connection).receipt
        finally:
            connection.close()


def connects(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def make_world(tmp_path, site, free_port) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(database: str = "sqlite", workers: int = 1, limits: str = "") -> World:
        port = free_port()
        terms = {
            "name": "test", "columns_digest": columns_digest(COLUMNS), "reference": SCALING.name,
            "reference_digest": SCALING.digest, "features_digest": digest(canonical_json({})),
        }  # fmt: skip
        folder = tmp_path / "server"
        create_server(folder, terms, ("127.0.0.1",), {"port": port, "workers": workers})
        file = folder / "server.toml"
        file.write_text(f'database = "{database}"\n{file.read_text()}\n[limits]\n{limits}\n')
        place = folder / "server.sqlite" if database == "sqlite" else database
        store = Database(place)
        store.create()
        add_hospital(store, "North", site.key.public_key)
        made.append(World(folder, port, site.key))
        return made[-1]

    yield make
    for world in made:
        world.stop()


def announcement(*files: ManifestFile) -> tuple[str, bytes]:
    """Path of a submission, and the body that begins it."""
    manifest = Manifest(tuple(sorted(files, key=lambda file: file.name)))
    document = {"content_id": manifest.content_id, "manifest": manifest.to_json()}
    return f"/v1/submissions/{manifest.content_id}", json.dumps(document).encode()


def invented(name: str, size: int) -> ManifestFile:
    return ManifestFile(name, size, "sha256:" + "0" * 64)


def test_a_database_that_stops_and_comes_back(make_world, postgresql, new_schema, site):
    """Two workers on a real PostgreSQL server that is stopped and started under them."""
    world = make_world(postgresql.url(new_schema), workers=2)
    world.start()
    world.wait_for(lambda: world.ask("GET", "/readyz").status == 200)
    path, body = announcement(*manifest_of(site.release).files)
    assert world.ask("POST", "/v1/submissions", body).status == 200
    chunk = (site.release / "report.html").read_bytes()[:5000]
    target = f"{path}/files/report.html?offset=0"
    assert world.ask("PUT", target, chunk).document == {"received": 5000}
    postgresql.stop()
    try:
        for _ in range(4):
            answer = world.ask("GET", path)
            assert (answer.status, answer.document["error"]) == (503, "database_unavailable")
        assert world.ask("GET", "/readyz").status == 503
        assert world.ask("GET", "/healthz").status == 200
    finally:
        postgresql.start()
    assert world.ask("GET", path).document["received"]["report.html"] == 5000
    assert world.submit(site.release)["content_id"] == path.rpartition("/")[2]
    # Whichever worker answers, it counts for both.
    before = world.count("requests", route="/healthz", status="200")
    for _ in range(12):
        world.ask("GET", "/healthz")

    def counted() -> tuple[int, int]:
        return (
            world.count("requests", route="/healthz", status="200") - before,
            world.count("refusals", code="database_unavailable"),
        )

    # An answer leaves before it is counted, and the other worker may be asked in between.
    world.wait_for(lambda: counted() >= (12, 5))
    assert counted() == (12, 5)
    assert '"bug"' not in world.log.read_text()


def test_a_full_disk_and_room_again(make_world, site):
    """The kernel refuses every write beyond a size, to this process and while it runs."""
    world = make_world()
    world.start()
    path, body = announcement(invented("certificate.json", 9), invented("table.csv", 900_000))
    assert world.ask("POST", "/v1/submissions", body).status == 200
    target = f"{path}/files/table.csv?offset="
    assert world.ask("PUT", target + "0", bytes(1000)).status == 200
    no_limit = resource.prlimit(world.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(world.pid, resource.RLIMIT_FSIZE, (300_000, no_limit[1]))
    refused = world.ask("PUT", target + "1000", bytes(500_000))
    assert (refused.status, refused.document["error"]) == (507, "no_room")
    assert world.ask("GET", path).document["received"]["table.csv"] == 1000
    # Not even the database and the log can be written to.
    resource.prlimit(world.pid, resource.RLIMIT_FSIZE, (0, no_limit[1]))
    assert world.ask("PUT", target + "1000", bytes(500_000)).status in (503, 507)
    assert world.ask("GET", "/healthz").status == 200
    resource.prlimit(world.pid, resource.RLIMIT_FSIZE, no_limit)
    assert world.ask("GET", path).document["received"]["table.csv"] == 1000
    assert world.ask("PUT", target + "1000", bytes(500_000)).document == {"received": 501_000}
    assert world.submit(site.release)
    assert world.count("refusals", code="no_room") >= 1
    assert '"bug"' not in world.log.read_text()


def test_a_mistake_of_the_server_is_answered_as_one_and_costs_nothing(make_world, site):
    """Its folder of uploads was replaced by a file: no refusal foresees that."""
    world = make_world()
    world.start()
    path, body = announcement(*manifest_of(site.release).files)
    assert world.ask("POST", "/v1/submissions", body).status == 200
    uploads = world.folder / "uploads"
    aside = uploads.rename(world.folder / "aside")
    uploads.write_bytes(b"")
    failed = world.ask("PUT", f"{path}/files/report.html?offset=0", bytes(10))
    assert (failed.status, failed.document["error"]) == (500, "internal_error")
    assert set(failed.document) == {"error", "expected", "found", "remedy"}
    assert world.count("refusals", code="internal_error") == 1
    assert world.count("refusals", code="not_found") == 0
    assert world.log.read_text().count('"bug"') == 1
    assert str(world.folder) not in world.log.read_text()
    uploads.unlink()
    aside.rename(uploads)
    assert world.submit(site.release)


def resigned(site: Site, folder: Path, name: str, content: bytes) -> Path:
    """A hospital that means ill: another file, and a certificate that says it is right."""
    shutil.copytree(site.release, folder)
    (folder / name).write_bytes(content)
    document = json.loads((folder / "certificate.json").read_text())
    document["release"][name] = digest(content)
    signed = sign(certificate_from_json(document), site.key)
    (folder / "certificate.json").write_text(json.dumps(signed.to_json()))
    return folder


def bomb() -> bytes:
    """A Parquet file of some kilobytes that unfolds to hundreds of megabytes."""
    zeros = pa.array(np.zeros(20_000_000))
    sink = pa.BufferOutputStream()
    names = [column.name for column in COLUMNS]
    pq.write_table(pa.table([zeros] * len(names), names), sink, compression="zstd")
    content = sink.getvalue().to_pybytes()
    assert len(content) < 1_000_000
    return content


def test_hostile_files_are_refused_by_an_honest_server(make_world, site, tmp_path):
    world = make_world(limits="examination_mib = 1024\nexamination_seconds = 60")
    world.start()
    hostile = {
        "bomb": ("table.parquet", bomb()),
        "malformed": ("table.parquet", b"PAR1" + CANARY.encode() * 500 + b"PAR1"),
        "sql": ("table.csv", f"{CANARY}'; DROP TABLE deploy_audit; --\n".encode()),
    }
    for name, (file, content) in hostile.items():
        folder = resigned(site, tmp_path / name, file, content)
        with pytest.raises(CertificateError, match=r"broken_certificate|examination_failed"):
            world.submit(folder)
    refusals = [
        world.count("refusals", code=code) for code in ("broken_certificate", "examination_failed")
    ]
    assert sum(refusals) == len(hostile)
    assert world.submit(site.release)
    assert CANARY not in world.log.read_text()
    kept = [path.read_bytes() for path in (world.folder / "content").glob("*/*")]
    assert not [content for content in kept if CANARY.encode() in content]


def test_requests_out_of_time_order_and_place(make_world, site, tmp_path, monkeypatch):
    """Each is refused with a code, counted, and leaves nothing of its content in the log."""
    world = make_world()
    world.start()
    path, body = announcement(invented("certificate.json", 9), invented("table.csv", 900))
    assert world.ask("POST", "/v1/submissions", body).status == 200
    target = f"{path}/files/table.csv?offset="

    def code_at(seconds: float) -> str:
        with monkeypatch.context() as patch:
            clock = SimpleNamespace(time=lambda: time.time() + seconds)
            patch.setattr(wire, "time", clock)
            return str(world.ask("GET", path).document.get("error"))

    assert [code_at(seconds) for seconds in (-3600, -16, 60, 3600)] == ["clock_skew"] * 4
    assert [code_at(seconds) for seconds in (-5, 10)] == ["None"] * 2
    first = world.ask("PUT", target + "0", CANARY.encode() * 10)
    assert first.document == {"received": 100}
    cases = {
        "wrong_offset": ("PUT", target + "300", CANARY.encode()),
        "too_large": ("PUT", target + "100", CANARY.encode() * 90),
        "incomplete": ("POST", f"{path}/complete", b""),
        "bad_request": ("PUT", f"{path}/files/table.csv?offset={CANARY}", b""),
        "content_mismatch": (
            "POST", "/v1/submissions", body.replace(path[-8:].encode(), b"00000000"),
        ),
        "not_found": ("PUT", f"{path}/files/..%2f{CANARY}?offset=0", b""),
    }  # fmt: skip
    for code, request in cases.items():
        assert world.ask(*request).document["error"] == code
    stranger = world.connection(create_key(tmp_path / "stranger.key"))
    assert stranger.ask("GET", path).document["error"] == "unknown_key"
    stranger.close()
    for code in ("clock_skew", "unknown_key", *cases):
        assert world.count("refusals", code=code) >= 1, code
    assert world.count("refusals", code="clock_skew") == 4
    log = world.log.read_text()
    assert CANARY not in log
    assert path.rpartition("/")[2] not in log


def test_what_is_no_http_is_counted(make_world):

    world = make_world()
    world.start()
    context = ssl.create_default_context(cafile=world.folder / "ca.pem")
    with (
        socket.create_connection(("127.0.0.1", world.port), timeout=PATIENCE_SECONDS) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as connection,
    ):
        connection.sendall(CANARY.encode() + b" \x00\xff\r\n\r\n")
        assert b" 400 " in connection.recv(200)
    world.wait_for(lambda: world.count("refusals", code="not_http") == 1)
    assert CANARY not in world.log.read_text()


def test_more_connections_than_are_taken(make_world):
    world = make_world(limits="connections = 3")
    world.start()
    held = [world.connection() for _ in range(3)]
    for connection in held:
        assert connection.ask("GET", "/healthz").status == 200
    answer = world.ask("GET", "/healthz")
    assert (answer.status, answer.document["error"]) == (503, "too_many_connections")
    for connection in held:
        connection.close()
    world.wait_for(lambda: world.ask("GET", "/healthz").status == 200)
    assert world.count("refusals", code="too_many_connections") >= 1


def test_bodies_of_all_requests_together_have_a_limit(make_world):
    """Strangers who send large bodies and never end them cannot fill the memory."""
    world = make_world(limits="bodies_mib = 2\nchunk_mib = 1\nbody_seconds = 600.0")
    world.start()
    context = ssl.create_default_context(cafile=world.folder / "ca.pem")
    head = b"POST /v1/submissions HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n"
    held = []
    for _ in range(3):  # the limit has room for two; one of the three is refused
        raw = socket.create_connection(("127.0.0.1", world.port), timeout=PATIENCE_SECONDS)
        held.append(context.wrap_socket(raw, server_hostname="127.0.0.1"))
        with contextlib.suppress(OSError):  # refused while it sends
            held[-1].sendall(head + bytes(1048576 - 1000))
    world.wait_for(lambda: world.count("refusals", code="busy") == 1)
    assert world.ask("GET", "/healthz").status == 200
    for connection in held:
        connection.close()
    # Their memory is free again.
    world.wait_for(lambda: answered(world, bytes(1_000_000)) == 422)


def answered(world: World, body: bytes) -> int:
    """Status of the answer; 0 where the connection ended while the body was sent."""
    try:
        return world.ask("POST", "/v1/submissions", body).status
    except MachineError:
        return 0


def test_an_answer_that_is_cut_off_is_a_lost_connection(tmp_path, site):
    """A server that is killed while it answers has not said no."""

    files = create_identity(tmp_path, ("127.0.0.1",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    door = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            raw, _ = door.accept()
            with context.wrap_socket(raw, server_side=True) as connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{")

    threading.Thread(target=answer, daemon=True).start()
    address = Address(f"https://127.0.0.1:{door.getsockname()[1]}", files.authority)
    with pytest.raises(MachineError, match="goes on where it stopped"):
        Connection(address, site.key).ask("GET", "/healthz")
