"""What a federation costs on the wire and in memory, measured on loopback.

A real coordinator (SuperLink, SuperExec, ServerApp as processes, TLS, node keys, a database)
serves hospitals of two kinds: two real nodes with all their processes, whose memory is measured;
and from five to fifty light ones, each with its own key and connection but threads of one
process, so that what the coordinator needs can be followed as they become more. All bytes pass a
relay that counts them::

    python benchmarks/federation_operations.py            # some minutes
    python benchmarks/federation_operations.py --quick    # two hospitals of each kind
    python benchmarks/federation_operations.py --json     # one object on stdout, for machines
    python benchmarks/federation_operations.py --write    # into docs/measured/federation.json

The figures for 1,000 hospitals are extrapolated: a straight line through the light hospitals.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.deploy.federated.hospital import Part, write_hospital
from neuroveil.deploy.federated.operate.bundle import app_digest
from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder, create_coordinator
from neuroveil.deploy.federated.operate.engine import silent_environment
from neuroveil.deploy.federated.operate.hospital import create_hospital
from neuroveil.deploy.federated.operate.node_key import create_node_key
from neuroveil.deploy.federated.operate.runs import train
from neuroveil.deploy.federated.operate.status import status
from neuroveil.deploy.federated.plan import (
    FederationPlan,
    InputSpec,
    ModelSpec,
    PrivacyTerms,
    Seat,
    TrainingSpec,
)

ROOT = Path(__file__).resolve().parent.parent
N_PATIENTS, N_INPUTS = 50, 40
FLOWERS_PAUSE = 3.0  # seconds that a node waits before it asks for messages again
IDLE_SECONDS = 20.0
AIM = 1000
MIB = 2**20


def plan_for(n_hospitals: int, hidden: int | None, rounds: int) -> FederationPlan:
    """A plan of logistic regression, or of a network with one hidden layer."""
    return FederationPlan(
        seats=tuple(Seat(f"H{number}", N_PATIENTS) for number in range(n_hospitals)),
        inputs=InputSpec("sha256:" + "0" * 64, "none", N_INPUTS),
        model=ModelSpec("mlp" if hidden else "logistic", hidden or 1),
        training=TrainingSpec(rounds=rounds, retries=2),
        privacy=PrivacyTerms("dp_sgd", 1.0, 1e-5, 1.0),
        minimum_hospitals=(n_hospitals + 1) // 2, enrol_seconds=120.0, round_seconds=120.0,
    )  # fmt: skip


def write_seat(folder: Path, plan: FederationPlan, name: str) -> Path:
    """Folder of made-up patients."""
    rows = np.random.default_rng(1).uniform(-1, 1, (N_PATIENTS, N_INPUTS))
    return write_hospital(folder, plan, name, {"train": Part(rows, rows[:, 0] > 0)}, {}).folder


def free_port() -> int:
    """A port below those that the system gives to outgoing connections."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port


class Relay:
    """Passes connections on to the coordinator and counts their bytes, TLS and all."""

    def __init__(self, target: int) -> None:
        self.bytes = 0
        self._target = target
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self._serve, args=(started,), daemon=True).start()
        started.wait()

    def _serve(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        self._loop.run_forever()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(self._pass(reader, there[1]), self._pass(there[0], writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                self.bytes += len(data)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass  # the other side hung up
        finally:
            writer.close()


@contextmanager
def processes(place: CoordinatorFolder) -> Iterator[Callable[[str, Path], None]]:
    """Start services, and end them and all below them afterwards."""
    started: list[subprocess.Popen[bytes]] = []

    def start(module: str, folder: Path) -> None:
        environment = {
            **silent_environment(folder / "flower"), "OMP_NUM_THREADS": "1",
            "NEUROVEIL_FEDERATION_RUNS": str(place.runs),
        }  # fmt: skip
        with (folder / f"{module}.log").open("ab") as log:
            started.append(subprocess.Popen(
                [sys.executable, "-m", f"neuroveil.deploy.federated.operate.{module}", str(folder)],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            ))  # fmt: skip

    try:
        yield start
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


class Peaks:
    """Largest memory and processor time of the processes below a folder, by program."""

    def __init__(self, root: Path) -> None:
        self.peak: dict[str, float] = {}
        self.seconds: dict[int, tuple[str, float]] = {}
        self._mark = f"FLWR_HOME={root}".encode()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    try:
                        self._look(entry)
                    except OSError:
                        continue  # ended meanwhile

    def _look(self, entry: Path) -> None:
        if self._mark not in (entry / "environ").read_bytes():
            return
        words = (entry / "cmdline").read_bytes().decode().split("\0")
        program = next(
            (Path(word).name.rsplit(".", 1)[-1] for word in words
             if "operate." in word or Path(word).name.startswith(("flwr-", "flower-"))), None,
        )  # fmt: skip
        if program is None:
            return
        for line in (entry / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                memory = int(line.split()[1]) / 1024
                self.peak[program] = max(self.peak.get(program, 0.0), memory)
        ticks = (entry / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
        spent = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        self.seconds[int(entry.name)] = (program, spent)

    def processor_seconds(self, program: str) -> float:
        """Processor time of all processes of a program so far."""
        return sum(spent for name, spent in self.seconds.values() if name == program)

    def stop(self) -> dict[str, int]:
        """Peak memory in MiB by program."""
        self._stop.set()
        self._thread.join()
        return {name: round(value) for name, value in sorted(self.peak.items())}


def light_hospital(
    address: str, authority: Path, key_file: Path, seat: Path, stop: threading.Event
) -> None:
    """A hospital as a thread: Flower's connection, our app, and Flower's pause between them."""
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key
    from flwr.app import Context, Message, RecordDict
    from flwr.supercore.inflatable.inflatable_object import (
        get_all_nested_objects,
        get_object_tree,
        no_object_id_recompute,
    )
    from flwr.supercore.inflatable.inflatable_utils import pull_and_inflate_object_from_tree
    from flwr.supernode.fleet_http_connection import http_request_response
    from httpx import HTTPError

    from neuroveil.deploy.federated.apps import HOSPITAL_FOLDER, client_app

    key: Any = load_ssh_private_key(key_file.read_bytes(), None)
    keys = (key, key.public_key())
    seen: set[int] = set()
    with http_request_response(address, False, str(authority), keys) as connection:
        node, receive, send, get_run, get_fab, pull, push, confirm = connection
        while not stop.is_set():
            received = receive()
            if received is None:
                stop.wait(FLOWERS_PAUSE)
                continue
            run_id = received[0].metadata.run_id
            if run_id not in seen:
                get_fab(get_run(run_id).fab_hash, run_id)
                seen.add(run_id)
            message: Message = pull_and_inflate_object_from_tree(
                received[1], lambda name, run=run_id: pull(run, name),
                lambda name, run=run_id: confirm(run, name), return_type=Message,
            )  # fmt: skip
            message.metadata.__dict__["_message_id"] = received[1].object_id
            context = Context(run_id, node, {HOSPITAL_FOLDER: str(seat)}, RecordDict(), {})
            reply = client_app(message, context)
            reply.metadata.__dict__["_message_id"] = reply.object_id
            with no_object_id_recompute(), suppress(HTTPError):  # lost, as Flower's node loses it
                objects = get_all_nested_objects(reply)
                wanted, session = send(reply, get_object_tree(reply), 0.0)
                for name in wanted:
                    push(run_id, session, name, objects[name].deflate())


def wait_for(holds: Callable[[], bool], seconds: float = 300.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError("a part of the federation did not come up")
        time.sleep(0.5)


def with_light_hospitals(
    n_hospitals: int, hidden: int | None, database: str, rounds: int
) -> dict[str, Any]:
    """What the coordinator needs for hospitals that cost little themselves."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        plan = plan_for(n_hospitals, hidden, rounds)
        listen = {"port": free_port(), "database": database}
        place = create_coordinator(root / "c", ("127.0.0.1",), listen)
        relay, stop = Relay(place.settings().port), threading.Event()
        for seat in plan.seats:
            write_seat(root / seat.name, plan, seat.name)
            key = create_node_key(root / f"{seat.name}.key", root / f"{seat.name}.pub")
            place.add_hospital(seat.name, key)
        with processes(place) as start:
            start("superlink", place.root)
            wait_for(lambda: status(place.root)["running"])
            register(place)
            peaks = Peaks(place.flower_home)
            threads = [
                threading.Thread(target=light_hospital, args=(
                    f"127.0.0.1:{relay.port}", place.tls.authority, root / f"{seat.name}.key",
                    root / seat.name, stop,
                ))
                for seat in plan.seats
            ]  # fmt: skip
            for thread in threads:
                thread.start()
            wait_for(lambda: set(status(place.root)["hospitals"].values()) == {"online"})
            idle = counted(peaks, relay, lambda: time.sleep(IDLE_SECONDS))
            done: list[Any] = []
            busy = counted(
                peaks, relay, lambda: done.append(train(place.root, plan, lambda *words: None))
            )
            stop.set()
            for thread in threads:
                thread.join()
            memory = peaks.stop()
    exchanges = rounds + 1  # the first one enrols
    seconds = [each["seconds"] for each in done[0].rounds]
    return {
        "hospitals": n_hospitals, "parameters": plan.n_parameters, "database": database,
        "rounds": rounds,
        "updates_lost": sum(len(each["hospitals_out"]) for each in done[0].rounds),
        "seconds_a_round": round(float(np.median(seconds)), 1),
        "bytes_a_hospital_and_exchange": round(busy["bytes"] / n_hospitals / exchanges),
        "idle_bytes_a_hospital_and_minute": round(idle["bytes"] / n_hospitals / idle["wall"] * 60),
        "superlink_processor_seconds_a_hospital_and_exchange":
            round(busy["processor"] / n_hospitals / exchanges, 4),
        "superlink_idle_processor_share_a_hospital":
            round(idle["processor"] / idle["wall"] / n_hospitals, 5),
        "memory_mib": memory,
    }  # fmt: skip


def counted(peaks: Peaks, relay: Relay, work: Callable[[], None]) -> dict[str, float]:
    """Do something; give the bytes on the wire and the SuperLink's processor time meanwhile."""
    before = relay.bytes, peaks.processor_seconds("superlink"), time.monotonic()
    work()
    return {
        "bytes": relay.bytes - before[0],
        "processor": peaks.processor_seconds("superlink") - before[1],
        "wall": time.monotonic() - before[2],
    }


def register(place: CoordinatorFolder) -> None:
    """Hand the hospitals' keys to the SuperLink."""
    from neuroveil.deploy.federated.operate.control import operator

    with operator(place.root) as calls:
        calls.take_up(place.hospitals())


def with_real_hospitals(n_hospitals: int, rounds: int) -> dict[str, Any]:
    """Memory and time of all processes of real nodes, one process a message."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        plan = plan_for(n_hospitals, None, rounds)
        place = create_coordinator(root / "c", ("127.0.0.1",), {"port": free_port()})
        policy = {"allowed_apps": [app_digest()], "minimum_hospitals": 1}
        for seat in plan.seats:
            folder = write_seat(root / f"seat-{seat.name}", plan, seat.name)
            settings = {"coordinator": place.settings().own_address, "seat": str(folder)}
            key = create_hospital(root / seat.name, place.tls.authority, settings, policy)
            place.add_hospital(seat.name, key)
        with processes(place) as start:
            start("superlink", place.root)
            wait_for(lambda: status(place.root)["running"])
            register(place)
            for seat in plan.seats:
                start("supernode", root / seat.name)
            wait_for(lambda: set(status(place.root)["hospitals"].values()) == {"online"})
            peaks = Peaks(root / plan.seats[0].name / "flower")
            done = train(place.root, plan, lambda *words: None)
            seconds = peaks.processor_seconds("flwr-clientapp")
            memory = peaks.stop()
    return {
        "hospitals": n_hospitals, "rounds": rounds,
        "seconds_a_round": round(float(np.median([each["seconds"] for each in done.rounds])), 1),
        "app_processor_seconds_an_exchange": round(seconds / (rounds + 1), 1),
        "memory_mib": memory,
    }  # fmt: skip


def extrapolated(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """A straight line through those with the small model and the state in memory, at 1,000."""
    small = [each for each in measured
             if each["parameters"] == N_INPUTS + 1 and each["database"] == "memory"]  # fmt: skip
    n = np.array([each["hospitals"] for each in small], dtype=float)

    def at_aim(value: Callable[[dict[str, Any]], float]) -> float:
        slope, start = np.polyfit(n, np.array([value(each) for each in small]), 1)
        return float(slope * AIM + start)

    def total(name: str) -> float:
        return at_aim(lambda each: each[name] * each["hospitals"])

    def memory(program: str) -> int:
        return round(at_aim(lambda each: each["memory_mib"][program]))

    seconds = total("superlink_processor_seconds_a_hospital_and_exchange")
    return {
        "extrapolated_not_measured": True,
        "hospitals": AIM,
        "mib_an_exchange": round(total("bytes_a_hospital_and_exchange") / MIB, 1),
        "idle_mib_an_hour": round(total("idle_bytes_a_hospital_and_minute") * 60 / MIB),
        "superlink_processor_seconds_an_exchange": round(seconds),
        "superlink_idle_processors": round(total("superlink_idle_processor_share_a_hospital"), 1),
        "superlink_memory_mib": memory("superlink"),
        "serverapp_memory_mib": memory("flwr-serverapp"),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    full = [
        (5, None, "memory"), (20, None, "memory"), (50, None, "memory"), (5, 500, "memory"),
        (5, None, "file"), (20, None, "file"),
    ]  # fmt: skip
    sizes = [(2, None, "memory"), (3, None, "memory")] if options.quick else full
    rounds = 1 if options.quick else 2
    light = []
    for size in sizes:
        light.append(with_light_hospitals(*size, rounds))
        print(json.dumps(light[-1]), file=sys.stderr)
    real = with_real_hospitals(2, rounds)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True,
        check=False,
    ).stdout.strip()  # fmt: skip
    result = {
        "command": "python benchmarks/federation_operations.py --write", "commit": commit,
        "cores": os.cpu_count(), "light_hospitals": light, "real_hospitals": real,
        "at_1000": extrapolated(light),
    }  # fmt: skip
    if options.write:
        file = ROOT / "docs" / "measured" / "federation.json"
        file.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=None if options.json else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
