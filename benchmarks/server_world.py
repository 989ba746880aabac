"""What the benchmark of the server runs on: releases, hospitals, and a server as a process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.deploy.hospital.connection import Address, Answer, Connection
from neuroveil.deploy.hospital.preview import Preview
from neuroveil.deploy.manifest import manifest_of
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.hospitals import add_hospital
from neuroveil.deploy.server.setup import create_server
from neuroveil.deploy.tls import tls_files
from neuroveil.keys import SiteKey, create_key, sign
from neuroveil.ledger import Ledger
from neuroveil.pipeline.release_folder import write_release
from neuroveil.privacy import ProtectSettings, charge_request, protect
from neuroveil.privacy.settings import Postprocessing, columns_digest
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS, Column, columns_for
from neuroveil.types.certificate import canonical_json, certificate_from_json, digest
from neuroveil.types.table import FeatureTable

HOST = "127.0.0.1"
# 33 electrodes: the 19 of the 10-20 system and 14 others, as in the paper.
PAPER = columns_for(STANDARD_CHANNELS + tuple(f"E{n}" for n in range(1, 15)), FEATURE_NAMES)
SMALL = columns_for(("Cz", "Pz"), ("variance", "line_length"))


@dataclass(frozen=True)
class Size:
    """How large a release is."""

    n_patients: int
    columns: tuple[Column, ...]


def make_release(folder: Path, size: Size) -> Path:
    """Protect made-up patients; nobody has signed the release yet."""
    delta = min(1e-5, 0.1 / size.n_patients**2)
    settings = ProtectSettings(
        "gaussian", 1.0, delta, 2.0, postprocessing=Postprocessing("none", inverse_scaling=False)
    )
    shape = (size.n_patients, len(size.columns))
    table = FeatureTable(
        patients=tuple(map(str, range(size.n_patients))), columns=size.columns,
        values=np.exp(np.random.default_rng(8).normal(size=shape)),
        n_windows=np.full(size.n_patients, 60), seconds=np.full(size.n_patients, 61.0),
    )  # fmt: skip
    ledger = Ledger.create(folder / "ledger.sqlite", Fraction(2), Fraction(1, 100))
    charge = ledger.reserve(charge_request(settings, size.columns, size.n_patients))
    scaling = default_reference("harmonised").scaling_for(size.columns)
    write_release(protect(table, scaling, settings, charge), folder / "release")
    return folder / "release"


def signed_copy(release: Path, folder: Path, key: SiteKey) -> Path:
    """The same release with the signature of another hospital: a content of its own.

    All files but the certificate are links, so that fifty copies need the room of one.
    """
    folder.mkdir(parents=True)
    for file in release.iterdir():
        if file.name != "certificate.json":
            os.link(file, folder / file.name)
    document = json.loads((release / "certificate.json").read_bytes())
    certificate = sign(certificate_from_json(document), key)
    (folder / "certificate.json").write_text(json.dumps(certificate.to_json()))
    return folder


def preview_of(folder: Path) -> Preview:
    """What would be sent, without the hospital's own look at it: the server's is measured."""
    return Preview(manifest_of(folder), {}, "", 0)


@dataclass
class World:
    """A server's folder and its process."""

    folder: Path
    port: int
    public_key: str
    process: subprocess.Popen[bytes] | None = None

    @property
    def database(self) -> Database:
        """The server's database, opened beside it."""
        return Database(self.folder / "server.sqlite")

    def hospital(self, place: Path, name: str) -> SiteKey:
        """Make a key and register it."""
        place.mkdir(parents=True, exist_ok=True)
        key = create_key(place / f"{name}.key")
        add_hospital(self.database, name, key.public_key)
        return key

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command = [sys.executable, "-m", "neuroveil", "serve", "run", str(self.folder)]
        with (self.folder.parent / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        waited_until = time.monotonic() + 120
        while time.monotonic() < waited_until:
            if self.process.poll() is not None:
                raise RuntimeError("the server has ended; see server.log")
            with socket.socket() as probe:
                if probe.connect_ex((HOST, self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("the server did not start")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop this server, and no other process."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def refusals(self) -> dict[str, int]:
        """Refused requests by code, and mistakes of the server, from its log."""
        counts: dict[str, int] = {}
        for line in (self.folder.parent / "server.log").read_text().splitlines():
            entry = json.loads(line) if line.startswith("{") else {}
            if entry.get("event") == "bug" or entry.get("code"):
                code = entry.get("code") or f"bug {entry['error']}"
                counts[code] = counts.get(code, 0) + 1
        return counts


def make_world(place: Path, columns: tuple[Column, ...], limits: dict[str, Any]) -> World:
    """Make a server for a study of these columns."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = int(probe.getsockname()[1])
    scaling = default_reference("harmonised").scaling_for(columns)
    terms = {
        "name": "benchmark", "columns_digest": columns_digest(columns), "reference": scaling.name,
        "reference_digest": scaling.digest, "features_digest": digest(canonical_json({})),
    }  # fmt: skip
    made = create_server(place / "server", terms, (HOST,), {"port": port})
    with (place / "server" / "server.toml").open("a") as stream:
        stream.write("\n[limits]\n" + "".join(f"{key} = {n}\n" for key, n in limits.items()))
    return World(place / "server", port, made.public_key)


@dataclass
class Watched(Connection):
    """A hospital's connection that times what is asked, and remembers what was acknowledged."""

    world: World
    key: SiteKey
    chunk_bytes: int | None = None
    seconds: list[tuple[str, float]] = field(default_factory=list)
    acknowledged: dict[str, int] = field(default_factory=dict)
    lost: int = 0

    def __post_init__(self) -> None:
        url = f"https://{HOST}:{self.world.port}"
        super().__init__(Address(url, tls_files(self.world.folder).authority), self.key)

    def ask(self, method: str, target: str, body: bytes = b"", slow: bool = False) -> Answer:
        """Ask as hospitals do; look at every answer."""
        start = time.perf_counter()
        answer = super().ask(method, target, body, slow)
        kind = "chunk" if method == "PUT" else "complete" if slow else "other"
        self.seconds.append((kind, time.perf_counter() - start))
        if method == "PUT" and answer.status == 200:
            name = target.rsplit("/", maxsplit=1)[-1].partition("?")[0]
            self.acknowledged[name] = int(answer.document["received"])
        here = answer.document.get("received")
        if isinstance(here, dict):
            self.lost += sum(here[name] < n for name, n in self.acknowledged.items())
        if self.chunk_bytes and "chunk_bytes" in answer.document:
            answer.document["chunk_bytes"] = self.chunk_bytes
        return answer


class Memory(threading.Thread):
    """Samples the resident memory of a process and of those that it started, in MiB."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self._process, self._done = process, threading.Event()
        self.server = self.examination = self.together = 0.0

    def run(self) -> None:
        """Sample until told to stop."""
        while not self._done.wait(0.2):
            own = _resident(self._process.pid)
            children = [_resident(number) for number in _children(self._process.pid)]
            self.server = max(self.server, own)
            self.examination = max(self.examination, *children, 0.0)
            self.together = max(self.together, own + sum(children))

    def peaks(self) -> dict[str, float]:
        """Stop, and give the peaks."""
        self._done.set()
        self.join()
        names = ("server", "examination", "together")
        return {name: round(getattr(self, name), 1) for name in names}


def _resident(number: int) -> float:
    try:
        pages = Path(f"/proc/{number}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0.0
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _children(number: int) -> list[int]:
    try:
        text = Path(f"/proc/{number}/task/{number}/children").read_text()
        tasks = Path(f"/proc/{number}/task").iterdir()
        text = " ".join((task / "children").read_text() for task in tasks)
    except OSError:
        return []
    return [int(child) for child in text.split()]


@contextmanager
def watchdog(world: World, seconds: float) -> Iterator[None]:
    """End everything after a time, however it goes."""

    def end() -> None:
        world.stop(signal.SIGKILL)
        sys.stderr.write(f"not done within {seconds:g} s\n")
        os._exit(3)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        world.stop()
