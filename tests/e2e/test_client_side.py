"""A hospital and a coordinator as processes, over real TLS: from recordings to a receipt."""

from __future__ import annotations

import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.setup import create_server, terms_of
from neuroveil.deploy.tls import create_identity
from neuroveil.deploy.wire import sign_request
from neuroveil.keys import load_key
from neuroveil.study import load_study

pytestmark = pytest.mark.slow

CANARY = "CANARY7731"
PATIENCE_SECONDS = 120.0
GLOBAL_ID = "d1ce" * 16
STUDY = """\
[input]
layout = "bids"
folder = "cohort"
population = "adults"
[privacy]
mechanism = "gaussian"
epsilon = 1.0
delta = 1e-5
[privacy.budget]
epsilon = 4.0
delta = 1e-4
[output]
signing_key = "site.key"
"""
CAPTURING = """
import sys
from pathlib import Path
import uvicorn
from neuroveil.deploy.server.run import application

class Capture:
    def __init__(self, app, file):
        self.app, self.file = app, file

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            seen = [scope["raw_path"], scope["query_string"], *sum(map(list, scope["headers"]), [])]
            self.file.write(b"\\n".join(seen) + b"\\n")
        async def listen():
            message = await receive()
            self.file.write(message.get("body", b""))
            self.file.flush()
            return message
        await self.app(scope, listen, send)

folder, port, file = sys.argv[1:]
uvicorn.run(Capture(application(), open(file, "wb")), host="127.0.0.1", port=int(port),
            ssl_certfile=f"{folder}/tls.pem", ssl_keyfile=f"{folder}/tls.key", lifespan="off",
            log_level="error")
"""


@dataclass(frozen=True)
class World:
    """A hospital with a release, and a server that has registered it."""

    hospital: Path
    server: Path
    port: int

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def way(self) -> tuple[str, ...]:
        """Arguments of ``neuroveil submit``."""
        ca, public = self.server / "ca.pem", self.server / "server.pub"
        key = self.hospital / "site.key"
        return ("--to", self.url, "--key", str(key), "--ca", str(ca), "--server-key", str(public))

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.server / "ca.pem")

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=PATIENCE_SECONDS, context=self.context()
        )

    def get(self, path: str) -> tuple[int, str]:
        """Look at something with the overview's password."""
        password = (self.server / "overview.password").read_text().strip()
        secret = base64.b64encode(f"coordinator:{password}".encode()).decode()
        with closing(self.connect()) as connection:
            connection.request("GET", path, headers={"Authorization": f"Basic {secret}"})
            response = connection.getresponse()
            return response.status, response.read().decode()


def add_canaries(cohort: Path) -> None:
    """Give every patient a key that cannot be overlooked, and a GlobalID."""
    for path in sorted(cohort.rglob("*sub-*"), key=lambda path: -len(path.parts)):
        path.rename(path.with_name(path.name.replace("sub-", f"sub-{CANARY}")))
    for path in cohort.rglob("*"):
        if path.suffix in (".tsv", ".json"):
            path.write_text(path.read_text().replace("sub-", f"sub-{CANARY}"))
    people = pd.read_csv(cohort / "participants.tsv", sep="\t", dtype=str)
    people["global_id"] = [f"{GLOBAL_ID[:-2]}{number:02d}" for number in range(len(people))]
    people.to_csv(cohort / "participants.tsv", sep="\t", index=False)


@pytest.fixture(scope="module")
def hospital(neuroveil, small_cohort, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("hospital")
    shutil.copytree(small_cohort, place / "cohort")
    add_canaries(place / "cohort")
    (place / "study.toml").write_text(STUDY)
    key = place / "site.key"
    assert neuroveil("keys", "create", key, "--no-passphrase").code == 0
    (place / "site.pub").write_text(neuroveil("keys", "public", key).out)
    answer = neuroveil("release", place / "study.toml", "--out", place / "release")
    assert answer.code == 0, answer.err
    return place


LIMITS = """
[limits]
chunk_mib = 1
connections = 20
"""
IMPATIENT = """
[limits]
header_seconds = 1.0
body_seconds = 1.0
"""


@pytest.fixture(scope="module")
def make_world(hospital, tmp_path_factory, free_port) -> Callable[..., World]:
    """A new server that has registered the hospital."""

    def make() -> World:
        server, port = tmp_path_factory.mktemp("world") / "server", free_port()
        terms = terms_of(load_study(hospital / "study.toml"), "six cities")
        made = create_server(
            server, {**terms, "smallest_n_patients": 5}, ("127.0.0.1",), {"port": port}
        )
        (server / "server.pub").write_text(made.public_key)
        database = Database(made.settings.database_location)
        add_hospital(database, "North", (hospital / "site.pub").read_text().strip())
        return World(hospital, server, port)

    return make


def start(world: World, log: Path, command: list[str] | None = None) -> subprocess.Popen[bytes]:
    """Start a server, and wait until it answers."""
    usual = [sys.executable, "-m", "neuroveil", "serve", "run", str(world.server)]
    environment = {**os.environ, "NEUROVEIL_SERVER_FOLDER": str(world.server)}
    with log.open("ab") as stream:
        process = subprocess.Popen(command or usual, stderr=stream, stdout=stream, env=environment)
    wait_until_up(world, process, log, "/healthz")
    return process


def wait_until_up(world: World, process: subprocess.Popen[bytes], log: Path, path: str) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            with closing(world.connect()) as connection:
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return
        except OSError:  # also where its certificate is not written yet
            pass
        time.sleep(0.1)
    process.kill()
    raise AssertionError(f"the server did not start:\n{log.read_text()}")


def stop(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    process.send_signal(how)
    process.wait(timeout=PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def world(neuroveil, hospital, tmp_path_factory, free_port) -> Iterator[World]:
    """A server made with the command line, with limits that a test can reach, that runs."""
    server, port = tmp_path_factory.mktemp("world") / "server", free_port()
    study, public = hospital / "study.toml", hospital / "site.pub"
    names = ("--name", "six cities", "--port", port, "--json")
    answer = neuroveil("serve", "init", server, "--study", study, *names)
    assert answer.code == 0, answer.err
    (server / "server.pub").write_text(answer.json["public_key"])
    file = server / "server.toml"
    text = file.read_text().replace("[study]\n", "[study]\nsmallest_n_patients = 5\n")
    file.write_text(text + LIMITS)
    answer = neuroveil(
        "serve", "hospital", "add", server, "--name", "North", "--public-key", public
    )
    assert answer.code == 0, answer.err
    made = World(hospital, server, port)
    process = start(made, server.parent / "log")
    yield made
    stop(process)


@pytest.fixture(scope="module")
def impatient(make_world) -> Iterator[World]:
    """A server that waits for a second only, which no other test should have to keep to."""
    made = make_world()
    file = made.server / "server.toml"
    file.write_text(file.read_text() + IMPATIENT)
    process = start(made, made.server.parent / "log")
    yield made
    stop(process)


def lines_of(world: World) -> list[dict[str, object]]:
    return [json.loads(line) for line in (world.server.parent / "log").read_text().splitlines()
            if line.startswith("{")]  # fmt: skip


def ask(world: World, method: str, target: str, body: bytes = b"", **more: str) -> tuple[int, dict]:
    """Send a request that is signed by the hospital; ``more`` replaces headers."""
    key = load_key(world.hospital / "site.key")
    host = f"127.0.0.1:{world.port}"
    headers = {**sign_request(key, method, host, target, body), **more}
    with closing(world.connect()) as connection:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def announce(world: World, target: str, n_bytes: int) -> tuple[int, dict]:
    """Say how long a body will be, and hear the answer before any of it is sent."""
    host = f"127.0.0.1:{world.port}"
    headers = sign_request(load_key(world.hospital / "site.key"), "POST", host, target, b"")
    with closing(world.connect()) as connection:
        connection.putrequest("POST", target)
        for name, value in {**headers, "content-length": str(n_bytes)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def test_dry_run_shows_all_and_sends_nothing(neuroveil, hospital):
    answer = neuroveil("submit", hospital / "release", "--dry-run", "--json")
    assert answer.code == 0, answer.err
    folder, shown = hospital / "release", answer.json
    assert {file["name"]: file["bytes"] for file in shown["files"]} == {
        path.name: path.stat().st_size for path in folder.iterdir()
    }
    table = next(file for file in shown["files"] if file["name"] == "table.csv")
    assert table["fields"] == list(pd.read_csv(folder / "table.csv").columns)
    assert not shown["sent"]


def test_from_recordings_to_a_receipt(neuroveil, world, hospital, tmp_path):
    receipt = tmp_path / "receipt.json"
    sent = ("submit", hospital / "release", *world.way, "--receipt", receipt, "--json")
    first = neuroveil(*sent)
    assert first.code == 0, first.err
    again = neuroveil(*sent)
    assert again.json["receipt"] == first.json["receipt"] == json.loads(receipt.read_text())
    assert (first.json["bytes"] > 0, again.json["bytes"]) == (True, 0)
    status, text = world.get("/v1/overview")
    assert status == 200
    assert (json.loads(text)["n_releases"], json.loads(text)["n_patients"]) == (1, 5)
    status, page = world.get("/")
    assert "six cities" in page
    status, metrics = world.get("/metrics")
    assert 'neuroveil_submissions{state="accepted"} 1' in metrics
    assert world.get("/readyz")[0] == 200
    export = tmp_path / "audit.json"
    answer = neuroveil("serve", "audit-log", world.server, "--out", export, "--json")
    assert answer.json["head"] == json.loads(export.read_text())["head"]


def test_overview_and_metrics_want_the_password(world):
    for path in ("/", "/metrics", "/v1/overview"):
        with closing(world.connect()) as connection:
            connection.request("GET", path, headers={"Authorization": "Basic Y29vcmRpbmF0b3I6eA=="})
            assert connection.getresponse().status == 401


def test_another_authority_is_not_trusted(neuroveil, world, hospital, tmp_path):
    way = [*world.way]
    way[way.index("--ca") + 1] = str(create_identity(tmp_path, ("127.0.0.1",)).authority)
    answer = neuroveil("submit", hospital / "release", *way)
    assert answer.code == 2
    assert "authority" in answer.err


def test_no_identifier_no_global_id_and_no_raw_feature_leaves(neuroveil, make_world, tmp_path):
    """Everything that reached the server, byte for byte, searched for what must not be in it."""
    world, captured, log = make_world(), tmp_path / "captured", tmp_path / "log"
    command = [
        sys.executable, "-c", CAPTURING, str(world.server), str(world.port), str(captured),
    ]  # fmt: skip
    process = start(world, log, command)
    try:
        answer = neuroveil("submit", world.hospital / "release", *world.way)
        assert answer.code == 0, answer.err
    finally:
        stop(process)
    traffic = captured.read_bytes()
    for file in (world.hospital / "release").iterdir():
        assert file.read_bytes() in traffic, "the capture is not complete"
    table = pd.read_parquet(next(world.hospital.rglob("features.parquet")))
    people = pd.read_csv(world.hospital / "cohort" / "participants.tsv", sep="\t", dtype=str)
    assert all(CANARY in key for key in people.iloc[:, 0])
    words = [CANARY, GLOBAL_ID[:16], str(world.hospital), "site.key"]
    assert not [word for word in words if word.encode() in traffic]
    values = table.select_dtypes("float").to_numpy(dtype=float)
    assert values.size > 1000
    for number in (*values.ravel(), *np.log10(values[values > 0])):
        assert np.float64(number).tobytes() not in traffic
        assert len(repr(float(number))) < 10 or repr(float(number)).encode() not in traffic


def test_a_receipt_that_cannot_be_written_is_not_lost(neuroveil, world, hospital, tmp_path):
    sent = ("submit", hospital / "release", *world.way, "--receipt", tmp_path / "no" / "receipt")
    answer = neuroveil(*sent)
    assert answer.code == 2
    assert "was accepted" in answer.err


def test_two_servers_cannot_have_one_port(neuroveil, world):
    answer = neuroveil("serve", "run", world.server)
    assert answer.code == 2
    assert "listen.port" in answer.err


class Proxy(threading.Thread):
    """A proxy that lets one connection at a time through, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.door = socket.create_server(("127.0.0.1", 0))
        self.heads: list[bytes] = []

    def run(self) -> None:
        while True:
            client, _ = self.door.accept()
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            self.heads.append(head)
            host, _, port = head.split()[1].decode().rpartition(":")
            server = socket.create_connection((host, int(port)))
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            ways = [threading.Thread(target=self.carry, args=ends, daemon=True)
                    for ends in ((client, server), (server, client))]  # fmt: skip
            for way in ways:
                way.start()
            for way in ways:
                way.join()

    @staticmethod
    def carry(source: socket.socket, target: socket.socket) -> None:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_the_way_leads_through_a_proxy(neuroveil, world, hospital):
    proxy = Proxy()
    proxy.start()
    port = proxy.door.getsockname()[1]
    environment = {"https_proxy": f"http://me:secret@127.0.0.1:{port}", "no_proxy": ""}
    answer = neuroveil("submit", hospital / "release", *world.way, environment=environment)
    assert answer.code == 0, answer.err
    (head,) = proxy.heads
    assert head.startswith(f"CONNECT 127.0.0.1:{world.port} HTTP/1.".encode())
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in head


def test_a_forged_certificate_is_refused_by_hospital_and_server(
    neuroveil, world, hospital, tmp_path
):
    folder = Path(shutil.copytree(hospital / "release", tmp_path / "forged"))
    document = json.loads((folder / "certificate.json").read_text())
    document["chain"]["guarantee"]["epsilon"]["value"] = 0.1
    (folder / "certificate.json").write_text(json.dumps(document))
    answer = neuroveil("submit", folder, *world.way)
    assert answer.code == 4
    assert "guarantee" in answer.err
    # A hospital whose software is changed, too: the server looks for itself.
    send = (
        "from pathlib import Path; import sys\n"
        "from neuroveil.deploy.hospital.preview import Preview\n"
        "from neuroveil.deploy.hospital.submit import connect, submit\n"
        "from neuroveil.deploy.manifest import manifest_of\n"
        "from neuroveil.keys import load_key\n"
        "folder, url, key, ca = sys.argv[1:]\n"
        "shown = Preview(manifest_of(Path(folder)), {}, '', 0)\n"
        "submit(Path(folder), shown, connect(url, Path(ca), load_key(Path(key))))\n"
    )
    arguments = [str(folder), world.url, world.way[3], world.way[5]]
    done = subprocess.run(
        [sys.executable, "-c", send, *arguments], capture_output=True, text=True, check=False
    )
    assert "broken_certificate" in done.stderr
    assert "guarantee" in done.stderr
    refused = [line for line in lines_of(world) if line.get("code") == "broken_certificate"]
    assert len(refused) == 1


def test_the_server_is_killed_and_nothing_is_lost(neuroveil, make_world, tmp_path):
    """SIGKILL between the chunks, and after the receipt; the next run goes on."""
    world, log = make_world(), tmp_path / "log"
    folder = world.hospital / "release"
    process = start(world, log)
    body = json.loads(neuroveil("submit", folder, "--dry-run", "--json").out)
    manifest = {"files": {file["name"]: {"size": file["bytes"], "digest": file["digest"]}
                          for file in body["files"]}}  # fmt: skip
    announcement = {"content_id": body["content_id"], "manifest": manifest}
    path = f"/v1/submissions/{body['content_id']}"
    assert ask(world, "POST", "/v1/submissions", json.dumps(announcement).encode())[0] == 200
    chunk = (folder / "report.html").read_bytes()[:5000]
    assert ask(world, "PUT", f"{path}/files/report.html?offset=0", chunk) == (
        200, {"received": 5000}
    )  # fmt: skip
    stop(process, signal.SIGKILL)
    offline = neuroveil("submit", folder, *world.way)
    assert offline.code == 5
    assert "goes on where it stopped" in offline.err

    process = start(world, log)
    assert ask(world, "GET", path)[1]["received"]["report.html"] == 5000
    first = neuroveil("submit", folder, *world.way, "--json")
    assert first.code == 0, first.err
    assert first.json["bytes"] == body["bytes"] - 5000
    stop(process, signal.SIGKILL)

    process = start(world, log)
    again = neuroveil("submit", folder, *world.way, "--json")
    assert again.json["receipt"] == first.json["receipt"]
    overview = json.loads(world.get("/v1/overview")[1])
    assert overview["n_releases"] == 1
    stop(process)


def test_requests_that_are_refused_are_counted_and_logged_without_content(world):
    path = "/v1/submissions"
    with closing(world.connect()) as connection:
        connection.request("POST", path, b"{}")
        assert connection.getresponse().status == 401
    cases = [
        (401, ask(world, "POST", path, b"{}", **{"neuroveil-signature": "0" * 128})),
        (415, ask(world, "POST", path, b"x", **{"content-encoding": "gzip"})),
        (413, announce(world, path, (1 << 20) + 1)),
        (422, ask(world, "POST", path, b"PAR1" + CANARY.encode())),
        (422, ask(world, "POST", path, b"[" * 100_000)),
        (404, ask(world, "GET", f"{path}/..%2f..%2fserver.key")),
        (404, ask(world, "GET", f"{path}/' OR 1=1 --".replace(" ", "%20"))),
        (404, ask(world, "GET", "/server.key")),
        (405, ask(world, "DELETE", path)),
    ]
    assert [status for _, (status, _) in cases] == [status for status, _ in cases]
    metrics = world.get("/metrics")[1]
    codes = ("no_signature", "bad_signature", "encoded_body", "too_large", "bad_request",
             "not_found", "method_not_allowed")  # fmt: skip
    assert not [
        code for code in codes if f'neuroveil_refusals_total{{code="{code}"}}' not in metrics
    ]
    log = (world.server.parent / "log").read_text()
    for word in (CANARY, "OR 1", "127.0.0.1", str(world.server), "North", "server.key"):
        assert word not in log.replace(f"Listening on 127.0.0.1, port {world.port}.", "")


def test_a_request_sent_twice_is_refused(world):
    key, host = load_key(world.hospital / "site.key"), f"127.0.0.1:{world.port}"
    headers = sign_request(key, "GET", host, f"/v1/submissions/{'0' * 64}", b"")
    answers = [ask(world, "GET", f"/v1/submissions/{'0' * 64}", b"", **headers) for _ in range(2)]
    assert [status for status, _ in answers] == [404, 401]
    assert answers[1][1]["error"] == "replayed_request"


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        (b"", b""), (b"POST /v1/subm", b""),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ", b""),
        (b"POST /v1/submissions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf", b" 408 "),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal", b" 408 "),
    ],
)  # fmt: skip
def test_slow_clients_are_let_go(impatient, sent, outcome):
    """That they are let go, and not at once; when exactly depends on the machine, too."""
    start_time = time.monotonic()
    raw = socket.create_connection(("127.0.0.1", impatient.port), timeout=PATIENCE_SECONDS)
    with impatient.context().wrap_socket(raw, server_hostname="127.0.0.1") as connection:
        connection.sendall(sent)
        answer = b""
        while part := receive(connection):
            answer += part
    assert outcome in answer[:20]
    assert time.monotonic() - start_time > 0.5


def receive(connection: ssl.SSLSocket) -> bytes:
    try:
        return connection.recv(65536)
    except (ConnectionResetError, ssl.SSLError):
        return b""


def test_a_body_without_a_stated_length_is_cut_off(world):
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield bytes(1 << 16)

    with closing(world.connect()) as connection:
        try:
            connection.request("POST", "/v1/submissions", endless(), encode_chunked=True,
                               headers={"Transfer-Encoding": "chunked"})  # fmt: skip
            assert connection.getresponse().status == 413
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass  # it was cut off before it was all sent
    assert 'code="too_large"' in world.get("/metrics")[1]


def test_demo_server_starts_with_one_command(neuroveil, tmp_path, free_port):
    port = free_port()
    command = [
        sys.executable, "-m", "neuroveil", "serve", "--demo", "--folder", str(tmp_path / "demo"),
        "--port", str(port), "--json",
    ]  # fmt: skip
    world = World(tmp_path / "demo", tmp_path / "demo" / "server", port)
    log = tmp_path / "log"
    with (tmp_path / "out").open("wb") as out, log.open("wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
    try:
        wait_until_up(world, process, log, "/healthz")
        assert world.get("/readyz")[0] == 200
        told = json.loads((tmp_path / "out").read_text())
        assert told["url"] == world.url
        assert "demonstration hospital" in world.get("/")[1]
    finally:
        stop(process)
