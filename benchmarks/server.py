"""How much the server bears: many large uploads at once, and being killed again and again.

Two measurements, each with a server of its own on this machine, real TLS and real signatures::

    python benchmarks/server.py                  # both, about half an hour on two cores
    python benchmarks/server.py --quick          # both in small, about a minute
    python benchmarks/server.py --only kills     # one of them
    python benchmarks/server.py --json           # one object on stdout, for machines

*uploads*: fifty hospitals send a release of 10,000 patients x 363 columns each, at once. It is
one release, signed by each hospital with its own key, so that each is a content of its own that
the server receives, stores and verifies by itself. Reported: errors, answer times, peak memory.

*kills*: six hospitals submit one small release after the other, in many small chunks, while the
server is killed (SIGKILL) at fifty random moments, between none and twice the time that a
submission takes. Afterwards everything that was
acknowledged is looked for, and looked for twice: chunks, receipts, entries of the audit log.

Both stop by themselves after ``--seconds`` at most.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from server_world import (
    PAPER,
    SMALL,
    Memory,
    Size,
    Watched,
    World,
    make_release,
    make_world,
    preview_of,
    signed_copy,
    watchdog,
)  # fmt: skip

from neuroveil.deploy.hospital.submit import submit
from neuroveil.deploy.receipt import RECEIPT, holds
from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.overview import overview
from neuroveil.deploy.server.settings import load_settings
from neuroveil.deploy.server.setup import server_key
from neuroveil.errors import MachineError
from neuroveil.types.certificate import digest


def say(text: str) -> None:
    """Tell how far it is, on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def answer_times(connections: list[Watched]) -> dict[str, dict[str, float]]:
    """Seconds of all answers by kind: median, 95th percentile, longest."""
    found: dict[str, list[float]] = {}
    for connection in connections:
        for kind, seconds in connection.seconds:
            found.setdefault(kind, []).append(seconds)
    return {
        kind: {
            "n": len(values), "median": round(float(np.median(values)), 3),
            "p95": round(float(np.quantile(values, 0.95)), 3), "longest": round(max(values), 3),
        }
        for kind, values in sorted(found.items())
    }  # fmt: skip


def what_is_kept(world: World) -> dict[str, Any]:
    """Look at the server's folder: releases, files by digest, the audit log's chain."""
    document = overview(world.database, load_settings(world.folder).study)
    entries = audit_log.export(world.database, server_key(world.folder))["entries"]
    accepted = [entry["content_id"] for entry in entries if entry["event"] == "submission.accepted"]
    files = list((world.folder / "content").glob("*/*"))
    good = sum(digest(file.read_bytes()).endswith(file.name) for file in files)
    return {
        "releases": document["n_releases"], "audit_entries": len(entries),
        "accepted": len(accepted), "accepted_twice": len(accepted) - len(set(accepted)),
        "files": len(files), "damaged_files": len(files) - good,
    }  # fmt: skip


def uploads(place: Path, n_hospitals: int, size: Size, seconds: float) -> dict[str, Any]:
    """Let all hospitals send at one moment."""
    say(f"uploads: making a release of {size.n_patients} x {len(size.columns)}")
    release = make_release(place, size)
    world = make_world(place, size.columns, {"connections": 2 * n_hospitals + 10})
    connections, folders = [], []
    for number in range(n_hospitals):
        key = world.hospital(place / "keys", f"hospital{number}")
        folders.append(signed_copy(release, place / "copies" / str(number), key))
        connections.append(Watched(world, key))
    shown = [preview_of(folder) for folder in folders]
    gate = threading.Barrier(n_hospitals)

    asked_again: list[int] = []

    def send(number: int) -> bool | str:
        gate.wait()
        while True:
            try:
                sent = submit(folders[number], shown[number], connections[number])
                break
            except MachineError:  # the queue was longer than a hospital's patience
                asked_again.append(number)
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        say(f"uploads: hospital {number} has its receipt")
        return holds(sent.receipt, RECEIPT, world.public_key)

    with watchdog(world, seconds):
        world.start()
        assert world.process is not None
        memory = Memory(world.process)
        memory.start()
        start = time.monotonic()
        with ThreadPoolExecutor(n_hospitals) as pool:
            outcomes = list(pool.map(send, range(n_hospitals)))
        took = time.monotonic() - start
        peaks = memory.peaks()
    errors = [str(outcome) for outcome in outcomes if outcome is not True]
    return {
        "hospitals": n_hospitals, "rows": size.n_patients, "columns": len(size.columns),
        "mib_each": round(shown[0].manifest.size / 2**20, 1), "seconds": round(took, 1),
        "asked_again": len(asked_again), "errors": len(errors), "first_errors": errors[:3],
        "answer_seconds": answer_times(connections), "peak_mib": peaks,
        "refusals": world.refusals(), **what_is_kept(world),
    }  # fmt: skip


@dataclass
class Load:
    """Hospitals that submit for as long as they are let."""

    world: World
    release: Path
    place: Path
    receipts: dict[str, Any] = field(default_factory=dict)
    connections: list[Watched] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)
    n_interrupted: int = 0
    n_changed_receipts: int = 0

    def hospital(self, number: int) -> None:
        """Submit new releases, one after the other; go on after every interruption."""
        turn = 0
        while not self.done.is_set():
            name = f"h{number}-{turn}"
            try:
                self.submit(name)
            except Exception as error:
                self.errors.append(f"{type(error).__name__}: {error}")
                return
            turn += 1

    def submit(self, name: str) -> None:
        """Submit one release until there is a receipt, and then once more."""
        key = self.world.hospital(self.place / "keys", name)
        folder = signed_copy(self.release, self.place / "copies" / name, key)
        shown, connection = preview_of(folder), Watched(self.world, key, chunk_bytes=8192)
        self.connections.append(connection)
        first = self.persistent(folder, shown, connection)
        self.receipts[shown.manifest.content_id] = first
        self.n_changed_receipts += self.persistent(folder, shown, connection) != first

    def persistent(self, folder: Path, shown: Any, connection: Watched) -> dict[str, Any]:
        """Run the same command again, as the hospital is told to."""
        while True:
            try:
                return submit(folder, shown, connection, self.world.public_key).receipt
            except MachineError:
                self.n_interrupted += 1
                time.sleep(0.1)


def kills(place: Path, n_kills: int, n_hospitals: int, seconds: float) -> dict[str, Any]:
    """Kill the server at random moments while hospitals submit."""
    size = Size(40, SMALL)
    release = make_release(place, size)
    world = make_world(place, size.columns, {"examinations_at_once": 2})
    load, moments = Load(world, release, place), random.SystemRandom()
    with watchdog(world, seconds):
        world.start()
        threads = [threading.Thread(target=load.hospital, args=(number,), daemon=True)
                   for number in range(n_hospitals)]  # fmt: skip
        for thread in threads:
            thread.start()
        start = time.monotonic()
        while not load.receipts and not load.errors:
            time.sleep(0.02)
        lap = time.monotonic() - start
        for number in range(n_kills):
            time.sleep(moments.uniform(0.0, 2.0 * lap))
            world.stop(signal.SIGKILL)
            world.start()
            say(f"kills: {number + 1} of {n_kills}, {len(load.receipts)} receipts so far")
        load.done.set()
        for thread in threads:
            thread.join()
        kept = what_is_kept(world)
    entries = audit_log.export(world.database, server_key(world.folder))["entries"]
    written = {entry["number"]: entry for entry in entries}
    missing = [
        content_id for content_id, receipt in load.receipts.items()
        if written.get(receipt["audit_number"], {}).get("content_id") != content_id
    ]  # fmt: skip
    return {
        "kills": n_kills, "hospitals_at_once": n_hospitals, "receipts": len(load.receipts),
        "interrupted": load.n_interrupted, "errors": len(load.errors),
        "first_errors": load.errors[:3],
        "acknowledged_chunks_lost": sum(each.lost for each in load.connections),
        "receipts_not_in_the_audit_log": len(missing),
        "receipts_that_changed": load.n_changed_receipts, "refusals": world.refusals(), **kept,
    }  # fmt: skip


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object on stdout")
    parser.add_argument("--quick", action="store_true", help="a small run, about a minute")
    parser.add_argument("--only", choices=("uploads", "kills"))
    parser.add_argument("--seconds", type=float, default=5400.0, help="longest time for each")
    chosen = parser.parse_args()
    large = Size(60, PAPER) if chosen.quick else Size(10_000, PAPER)
    n_hospitals, n_kills = (5, 4) if chosen.quick else (50, 50)
    figures: dict[str, Any] = {}
    for name in ("uploads", "kills"):
        if chosen.only not in (None, name):
            continue
        place = Path(tempfile.mkdtemp(prefix="neuroveil-benchmark-"))
        try:
            if name == "uploads":
                figures[name] = uploads(place, n_hospitals, large, chosen.seconds)
            else:
                figures[name] = kills(place, n_kills, 3 if chosen.quick else 6, chosen.seconds)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    print(json.dumps(figures) if chosen.json else json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
