"""A federation as it is run: separate processes, TLS, node keys, and things that go wrong."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from neuroveil.deploy.federated.hospital import Part, write_hospital
from neuroveil.deploy.federated.operate.bundle import app_digest, pack
from neuroveil.deploy.federated.operate.control import operator
from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder, create_coordinator
from neuroveil.deploy.federated.operate.decisions import read_decisions
from neuroveil.deploy.federated.operate.hospital import create_hospital
from neuroveil.deploy.federated.operate.run_folder import read_progress, run_folder
from neuroveil.deploy.federated.operate.status import status
from neuroveil.deploy.federated.plan import FederationPlan, plan_from_study
from neuroveil.deploy.federated.verify import verify_training
from neuroveil.study import load_study

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc"),
]

NAMES = ("North", "South", "West")
MARK = "NEUROVEIL_TEST_MARK"
PATIENCE = 400.0  # seconds; a busy machine needs some 100 for the longest step, the training

STUDY = """\
[input]
layout = "bids"
folder = "cohort"
population = "adults"

[montage]
channels = ["Fp1", "Fp2", "C3", "C4", "O1", "O2"]

[privacy]
epsilon = 1.0
delta = 1e-5

[federation]
setting = "dp_sgd"
components = 3
rounds = 2
retries = 3
minimum_hospitals = 2
enrol_seconds = 200.0
round_seconds = 60.0
"""

# Writes down which hosts any process of the federation looks up or connects to.
LISTENER = """\
import os, sys

def _listen(event, args, _folder=os.environ["NEUROVEIL_TEST_HOSTS"]):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        host = args[0]
    elif event in ("socket.connect", "socket.sendto"):
        host = args[1][0] if isinstance(args[1], tuple) else "unix"
    else:
        return
    with open(os.path.join(_folder, str(os.getpid())), "a") as stream:
        stream.write(f"{event} {host!r} {sys.argv[:1]}\\n")

sys.addaudithook(_listen)
"""

ROGUE_SERVER = """\
import os, pathlib
from flwr.app import Message, RecordDict
from flwr.serverapp import ServerApp

app = ServerApp()

@app.main()
def main(grid, context):
    nodes = list(grid.get_node_ids())
    messages = [
        Message(RecordDict(), dst_node_id=node, message_type="train", group_id="1")
        for node in nodes
    ]
    replies = list(grid.send_and_receive(messages, timeout=60.0))
    codes = [str(each.error.code) if each.has_error() else "answer" for each in replies]
    runs = pathlib.Path(os.environ["NEUROVEIL_FEDERATION_RUNS"])
    (runs / "rogue").write_text(" ".join([str(len(nodes)), *codes]))
"""


@dataclass
class Federation:
    """Processes of one federation, all of which carry a mark in their environment."""

    root: Path
    plan: FederationPlan
    coordinator: CoordinatorFolder
    environment: dict[str, str]
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *command: object) -> subprocess.Popen[bytes]:
        """Start ``neuroveil federate …`` in a session of its own."""
        with (self.root / f"{len(self.started)}-{command[0]}.out").open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "neuroveil", "federate", *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=self.environment, start_new_session=True,
            )  # fmt: skip
        self.started.append(process)
        return process

    def marked(self) -> list[int]:
        """List every process that this federation started, however far below."""
        mark = f"{MARK}={self.environment[MARK]}".encode()
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and mark in _read(entry / "environ").split(b"\0")
        ]

    def kill(self, module: str, folder: Path) -> None:
        """Kill a service and all below it, as a power cut would; its supervisor stays."""
        wanted = {str(folder).encode(), f"neuroveil.deploy.federated.operate.{module}".encode()}
        for pid in self.marked():
            if wanted <= set(_read(Path("/proc") / str(pid) / "cmdline").split(b"\0")):
                os.killpg(pid, signal.SIGKILL)
                return
        pytest.fail("the service to kill is not there")

    def everything_said(self) -> str:
        """Give all logs, for a test that fails."""
        logs = [*self.root.glob("*.out"), *self.root.glob("*/*.log")]
        return "\n".join(
            f"== {log.relative_to(self.root)}\n{log.read_text(errors='replace')[-3000:]}"
            for log in sorted(logs)
        )

    def wait(self, what: str, holds: Callable[[], bool], pause: float = 0.2) -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > end:
                pytest.fail(f"waited in vain for: {what}\n{self.everything_said()}")
            time.sleep(pause)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # ended in the meantime, or another user's
        return b""


def _make(root: Path, port: int, changes: Mapping[str, str] | None = None) -> Federation:
    """Folders of a coordinator, of three hospitals that it knows, and of one that it does not."""
    text = STUDY
    for old, new in (changes or {}).items():
        text = text.replace(old, new)
    hospitals = "".join(
        f'\n[[federation.hospitals]]\nname = "{name}"\npatients = 30\n' for name in NAMES
    )
    (root / "study.toml").write_text(text + hospitals)
    plan = plan_from_study(load_study(root / "study.toml"))
    coordinator = create_coordinator(root / "coordinator", ("127.0.0.1",), {"port": port})
    for name in (*NAMES, "Stranger"):
        seat = root / f"seat-{name}"
        _write_seat(seat, plan, name if name in NAMES else "North")
        key = create_hospital(
            root / name, coordinator.tls.authority,
            {"coordinator": f"127.0.0.1:{port}", "seat": str(seat), "heartbeat_seconds": 12},
            {"allowed_apps": [app_digest()], "minimum_hospitals": 2},
        )  # fmt: skip
        if name in NAMES:
            coordinator.add_hospital(name, key)
    (root / "hosts").mkdir()
    (root / "site").mkdir()
    (root / "site" / "sitecustomize.py").write_text(LISTENER)
    environment = {
        **os.environ, "OMP_NUM_THREADS": "1", MARK: uuid.uuid4().hex,
        "PYTHONPATH": str(root / "site"), "NEUROVEIL_TEST_HOSTS": str(root / "hosts"),
        "FLWR_TELEMETRY_ENABLED": "1",  # what the caller says must not matter
    }  # fmt: skip
    environment.pop("FLWR_DISABLE_UPDATE_CHECK", None)
    return Federation(root, plan, coordinator, environment)


def _write_seat(folder: Path, plan: FederationPlan, name: str) -> None:
    rows = np.random.default_rng(len(str(folder))).uniform(-1, 1, (30, plan.inputs.components))
    write_hospital(folder, plan, name, {"train": Part(rows, rows[:, 0] > 0)}, {"test": True})


@pytest.fixture
def federation(tmp_path, free_port) -> Iterator[Federation]:
    made = _make(tmp_path, free_port())
    try:
        yield made
    finally:
        _end(made)


def test_three_hospitals_train_although_one_is_killed_and_strangers_come(federation):
    """Two rounds; a node killed in the first one; an unregistered node; an app nobody allowed."""
    fed = federation
    services = _services(fed)
    stranger = fed.start("hospital", "start", fed.root / "Stranger")
    fed.wait("three hospitals", lambda: set(_states(fed).values()) == {"online"})
    log = fed.root / "Stranger" / "hospital.log"
    fed.wait("the stranger to be refused", lambda: b"Failed to activate" in _read(log))
    stranger.send_signal(signal.SIGTERM)

    run = fed.start("run", fed.root / "study.toml", "--coordinator", fed.coordinator.root, "--json")
    target = run_folder(fed.coordinator.runs, fed.plan.digest)
    fed.wait("West at work", lambda: _answers_begun(fed, "West") == 2, pause=0.05)
    fed.kill("supernode", fed.root / "West")
    fed.wait("the end of the training", lambda: run.poll() is not None)

    assert run.returncode == 0, fed.everything_said()
    progress = read_progress(target)
    _check_training(progress.rounds, fed)
    _check_stranger(fed)
    _check_rogue_app(fed)
    _check_locked_doors(fed)
    _check_unmet_minimum(fed)

    for each in services:
        each.send_signal(signal.SIGTERM)
    fed.wait("all services to end", lambda: all(each.poll() is not None for each in fed.started))
    assert [each.returncode for each in services] == [0] * 4, fed.everything_said()
    fed.wait("all processes below them to end", lambda: not fed.marked())
    _check_nobody_was_called(fed)


@pytest.mark.long
def test_a_killed_coordinator_goes_on_after_the_last_round(federation):
    """Its supervisor starts it again; the command that follows the run notices and resumes."""
    fed = federation
    _services(fed)
    fed.wait("three hospitals", lambda: set(_states(fed).values()) == {"online"})
    run = fed.start("run", fed.root / "study.toml", "--coordinator", fed.coordinator.root, "--json")
    target = run_folder(fed.coordinator.runs, fed.plan.digest)
    fed.wait("the first round", lambda: len(read_progress(target).rounds) == 1)
    first = read_progress(target).rounds[0]
    fed.kill("superlink", fed.coordinator.root)
    fed.wait("the end of the training", lambda: run.poll() is not None)
    assert run.returncode == 0, fed.everything_said()
    rounds = read_progress(target).rounds
    assert rounds[0] == first
    assert len(rounds) == 2
    assert '"resumed": 1' in (fed.root / f"{len(fed.started) - 1}-run.out").read_text()


@pytest.mark.long
def test_an_app_that_stalls_while_its_node_lives_is_left_out_in_time(federation):
    """Its app waits for a file that somebody else holds, as on a disk that hangs.

    Heartbeats go on, so Flower counts the node as online; the round's deadline ends the wait.
    """
    fed = federation
    services = _services(fed)
    fed.wait("three hospitals", lambda: set(_states(fed).values()) == {"online"})
    target = run_folder(fed.coordinator.runs, fed.plan.digest)
    held = os.open(fed.root / "seat-West", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    run = fed.start("run", fed.root / "study.toml", "--coordinator", fed.coordinator.root, "--json")
    fed.wait("the first round", lambda: len(read_progress(target).rounds) == 1, pause=0.05)
    assert _states(fed)["West"] == "online"
    (first,) = read_progress(target).rounds
    assert first["hospitals_out"]["West"] == "no answer in time", fed.everything_said()
    assert fed.plan.round_seconds <= first["seconds"]
    if first["attempt"] == 1:  # a machine too busy for the deadline repeats the exchange
        assert first["seconds"] < fed.plan.round_seconds + 30
    os.close(held)  # what it answers now comes too late for its round
    fed.wait("the end of the training", lambda: run.poll() is not None)
    assert run.returncode == 0, fed.everything_said()
    rounds = read_progress(target).rounds
    assert rounds[0] == first
    assert len(rounds) == 2
    assert verify_training(target).exit_code == 0
    for each in services:
        each.send_signal(signal.SIGTERM)
    fed.wait("all services to end", lambda: all(each.poll() is not None for each in services))
    fed.wait("all processes to end", lambda: not fed.marked())


@pytest.mark.long
def test_a_masked_training_over_tls(tmp_path_factory, free_port):
    """Noise shares under secure aggregation, all its stages between separate processes."""
    changes = {
        'setting = "dp_sgd"': 'setting = "distributed"\nmax_dropouts = 0',
        "minimum_hospitals = 2": "minimum_hospitals = 3",
        "round_seconds = 60.0": "round_seconds = 120.0",
    }
    fed = _make(tmp_path_factory.mktemp("masked"), free_port(), changes)
    try:
        _services(fed)
        fed.wait("three hospitals", lambda: set(_states(fed).values()) == {"online"})
        run = fed.start("run", fed.root / "study.toml", "--coordinator", fed.coordinator.root)
        fed.wait("the end of the training", lambda: run.poll() is not None)
        assert run.returncode == 0, fed.everything_said()
        rounds = read_progress(run_folder(fed.coordinator.runs, fed.plan.digest)).rounds
        assert [len(each["hospitals_in"]) for each in rounds] == [3, 3]
    finally:
        _end(fed)


def _services(fed: Federation) -> list[subprocess.Popen[bytes]]:
    """Start the coordinator and the three hospitals."""
    services = [fed.start("coordinator", "start", fed.coordinator.root)]
    fed.wait("the coordinator", lambda: status(fed.coordinator.root)["running"])
    return services + [fed.start("hospital", "start", fed.root / name) for name in NAMES]


def _end(fed: Federation) -> None:
    """Kill whatever is left of a federation, each process by its number."""
    for pid in fed.marked():
        os.kill(pid, signal.SIGKILL)
    for process in fed.started:
        process.wait()


def _states(fed: Federation) -> dict[str, str]:
    found: dict[str, str] = status(fed.coordinator.root)["hospitals"]
    return found


def _answers_begun(fed: Federation, name: str) -> int:
    """How many messages a node has started an app for: the first one enrols, the second trains."""
    log = fed.root / name / "hospital.log"
    return log.read_text(errors="replace").count("Start `flwr-clientapp` process")


def _check_training(rounds: list[dict], fed: Federation) -> None:
    """The killed hospital is out of the round that it was killed in, and in again afterwards."""
    assert len(rounds) == 2
    assert all(len(each["hospitals_in"]) >= 2 for each in rounds)
    assert all(each["seconds"] < fed.plan.round_seconds + PATIENCE for each in rounds)
    if rounds[0]["attempt"] == 1:  # a machine too busy for the deadline repeats the exchange
        assert "West" in rounds[0]["hospitals_out"]
    fed.wait("the killed node to be back", lambda: _states(fed)["West"] == "online")
    training = status(fed.coordinator.root)["trainings"][0]
    assert (training["rounds_done"], training["finished"]) == (2, True)
    result = json.loads(
        (run_folder(fed.coordinator.runs, fed.plan.digest) / "result.json").read_text()
    )
    assert result["formal_guarantee"]


def _check_stranger(fed: Federation) -> None:
    """A node whose key nobody registered is not let in, and nothing of a run reaches it."""
    log = (fed.root / "Stranger" / "hospital.log").read_text(errors="replace")
    assert "Receiving" not in log
    assert set(_states(fed)) == set(NAMES)
    assert read_decisions(fed.root / "Stranger") == []


def _check_rogue_app(fed: Federation) -> None:
    """An app that no hospital allows is refused by each, and nothing of its code is run."""
    canary = fed.root / "canary"
    document = """
[project]
name = "neuroveil"
version = "0.1.0"
[tool.flwr.app]
publisher = "neuroveil"
[tool.flwr.app.components]
serverapp = "rogue_server:app"
clientapp = "rogue_client:app"
[tool.flwr.app.config]
plan = ""
"""
    files = {
        "pyproject.toml": document, "rogue_server.py": ROGUE_SERVER,
        "rogue_client.py": f"open({str(canary)!r}, 'w').write('run')\n",
    }  # fmt: skip
    bundle = pack({name: text.encode() for name, text in files.items()})
    with operator(fed.coordinator.root) as calls:
        run_id = calls.start(bundle, {"plan": fed.plan.digest})
        fed.wait("the rogue run", lambda: calls.run(run_id).status == "finished", pause=1.0)
    n_asked, *codes = (fed.coordinator.runs / "rogue").read_text().split()
    assert len(codes) == int(n_asked) >= 2
    assert set(codes) == {"7"}  # the bundle could not be verified
    assert not canary.exists()
    decisions = [each for name in NAMES for each in read_decisions(fed.root / name)]
    refused = [each for each in decisions if each.run_id == run_id]
    assert len(refused) == int(n_asked)
    assert all(not each.accepted and "allowed_apps" in each.reasons[0] for each in refused)
    assert any(each.accepted for each in decisions)


def _check_locked_doors(fed: Federation) -> None:
    """Who reaches the port has neither the operator's interface nor the workers' tasks."""
    import httpx
    from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest
    from flwr.proto.runtime_pb2 import AcquireTaskRequest
    from flwr.supercore.control import ControlHttpClient
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
    from flwr.supercore.runtime import RuntimeHttpClient

    address = fed.coordinator.settings().own_address
    authority = fed.coordinator.tls.authority.read_bytes()
    version = [RuntimeVersionHttpInterceptor(component_name="flwr CLI")]
    control = ControlHttpClient.from_server_address(address, False, authority, version)
    runtime = RuntimeHttpClient.from_server_address(
        address, False, authority, [RuntimeVersionHttpInterceptor(component_name="SuperExec")]
    )
    calls = [
        lambda: control.ListNodes(ListNodesRequest()),
        lambda: control.RegisterNode(RegisterNodeRequest(public_key=b"key", name="Evil")),
        lambda: runtime.AcquireTask(AcquireTaskRequest(supported_task_types=["flwr-serverapp"])),
    ]
    for call in calls:
        with pytest.raises(httpx.HTTPStatusError) as refused:
            call()
        assert refused.value.response.status_code in (401, 403)
    control.close()
    runtime.close()
    assert set(_states(fed)) == set(NAMES)


def _check_unmet_minimum(fed: Federation) -> None:
    """A plan that no hospital agreed to is refused by all, and ends in words instead of waiting."""
    text = (fed.root / "study.toml").read_text()
    other = text.replace("rounds = 2", "rounds = 3").replace("_seconds = 200.0", "_seconds = 2.0")
    (fed.root / "other.toml").write_text(other)
    where = ("--coordinator", fed.coordinator.root, "--json")
    run = fed.start("run", fed.root / "other.toml", *where)
    fed.wait("the end of a run without hospitals", lambda: run.poll() is not None)
    said = (fed.root / f"{len(fed.started) - 1}-run.out").read_text()
    assert run.returncode == 3, fed.everything_said()
    assert "at least 2 of 3 hospitals within 2 s" in said
    assert "Start the missing hospitals" in said
    reasons = read_decisions(fed.root / "South")[-1].reasons
    assert reasons == ["the run follows another plan than the one that this hospital agreed to"]


def _check_nobody_was_called(fed: Federation) -> None:
    """No process looked a name up or connected to anybody but this machine."""
    lines = [
        line for file in (fed.root / "hosts").iterdir() for line in file.read_text().splitlines()
    ]
    assert len(lines) > 100  # the listener listens
    here = ("'127.0.0.1'", "b'127.0.0.1'", "'localhost'", "'unix'", "None", "'::1'")
    elsewhere = [line for line in lines if line.split(" ")[1] not in here]
    assert not elsewhere
