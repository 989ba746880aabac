"""What all tests share: real EEG, PostgreSQL, hypothesis settings, no way to the network."""

from __future__ import annotations

import ipaddress
import json
import os
import platform
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
EEG_IS_REQUIRED = bool(os.environ.get("CI") or os.environ.get("NEUROVEIL_REQUIRE_EEG"))
POSTGRESQL_IS_REQUIRED = bool(os.environ.get("CI"))

# MNE would write a settings file into the home folder of whoever runs the tests.
os.environ.setdefault("MNE_DONTWRITE_HOME", "true")

# Examples of a property differ from run to run on a desk, which finds more, and are the same
# in continuous integration, where a red run should be about the change. No deadlines: the
# machine is shared, and time is measured by tests that are marked for it.
_COMMON: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
    "print_blob": True,
}
settings.register_profile("desk", max_examples=50, **_COMMON)
settings.register_profile("ci", max_examples=100, derandomize=True, **_COMMON)
settings.register_profile("long", max_examples=2000, **_COMMON)
settings.load_profile(
    os.environ.get("NEUROVEIL_HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "desk")
)


@pytest.fixture(scope="session")
def project_root() -> Path:
    """Folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def eegmat() -> Path:
    """Folder of the real EEG; without it the test is skipped, or fails where it is required."""
    folder = Path(os.environ.get("NEUROVEIL_EEGMAT") or ROOT.parent / "shared" / "data" / "eegmat")
    if (folder / "Subject00_1.edf").is_file():
        return folder
    reason = (
        "the real EEG (PhysioNet eegmat 1.0.0) is neither at ../shared/data/eegmat nor where "
        "NEUROVEIL_EEGMAT points; see 'Real EEG' in CONTRIBUTING.md"
    )
    if EEG_IS_REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server on this machine; whoever uses it gets a schema of their own."""

    port: int
    password: str
    folder: Path
    control: Callable[..., None]

    def url(self, schema: str, user: str = "owner", password: str | None = None) -> str:
        options = f"options=-csearch_path%3D{schema}"
        secret = password or self.password
        return f"postgresql+psycopg://{user}:{secret}@127.0.0.1:{self.port}/postgres?{options}"

    def run(self, schema: str, *statements: str) -> None:
        """Do something as the owner, outside of neuroveil."""
        import psycopg

        with psycopg.connect(
            f"host=127.0.0.1 port={self.port} dbname=postgres user=owner "
            f"password={self.password} options=-csearch_path={schema}",
            autocommit=True,
        ) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self.control("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Stop it without waiting for anybody; what was committed is there when it starts."""
        self.control("pg_ctl", "-w", "-m", "immediate", "stop")


def _absent(reason: str) -> NoReturn:
    if POSTGRESQL_IS_REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _programs() -> Path | None:
    """Folder of initdb and pg_ctl: on the search path, or where Debian keeps it."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None


@pytest.fixture(scope="session")
def free_port() -> Iterator[Callable[[], int]]:
    """Ports that stay free for whoever got them, also while a server is down for a moment.

    They lie below those that the system hands out to connections and to programs that take any
    port, and a UDP socket of the same number tells other test processes that one is taken.
    """
    marks: list[socket.socket] = []

    def take() -> int:
        while True:
            port = random.SystemRandom().randrange(20000, 32000)
            mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                mark.bind(("127.0.0.1", port))
                socket.create_server(("127.0.0.1", port)).close()
            except OSError:
                mark.close()
                continue
            marks.append(mark)
            return port

    yield take
    for mark in marks:
        mark.close()


def _started(make: Callable[[], Server]) -> Server:
    """Start a server on a free port; somebody else may take the port just before it does."""
    for _ in range(4):
        server = make()
        try:
            server.start()
        except AssertionError:
            continue
        return server
    server = make()
    server.start()
    return server


@pytest.fixture(scope="session")
def postgresql(free_port: Callable[[], int]) -> Iterator[Server]:
    """A fresh server in a temporary folder, on loopback only, stopped at the end."""
    programs = _programs()
    if programs is None:
        _absent("PostgreSQL's initdb and pg_ctl are not installed (Debian package: postgresql)")
    pytest.importorskip(
        "psycopg", reason="psycopg is not installed (pip install neuroveil[server])"
    )
    # The server refuses to run as root, as which CI runs.
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="neuroveil-postgresql-"))
    if as_user:
        shutil.chown(folder, "postgres")

    def call(program: str, *arguments: str) -> None:
        command = [*as_user, str(programs / program), "-D", str(folder / "data"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr

    password = os.urandom(12).hex()
    secret = folder / "password"
    secret.write_text(password)
    secret.chmod(0o644)
    call("initdb", "-U", "owner", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8",
         "--locale=C")  # fmt: skip
    server = _started(lambda: Server(free_port(), password, folder, call))
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_schema(postgresql: Server) -> str:
    """Name of an empty schema on the server."""
    name = "test_" + os.urandom(6).hex()
    postgresql.run("public", f"CREATE SCHEMA {name}")
    return name


@pytest.fixture
def write_down(request: pytest.FixtureRequest) -> Callable[[str, Mapping[str, Any]], Path]:
    """Write the figures of a long test to ``docs/measured/NAME.json``, with how they were made."""
    start = time.monotonic()

    def write(name: str, figures: Mapping[str, Any]) -> Path:
        commit = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True,
            check=False,
        ).stdout.strip()  # fmt: skip
        record = {
            "command": f"python -m pytest -m long {request.node.nodeid}",
            "commit": commit,
            "python": platform.python_version(),
            "seconds": round(time.monotonic() - start, 1),
            "figures": figures,
        }
        file = ROOT / "docs" / "measured" / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        return file

    return write


def _stays_here(family: int, host: object) -> bool:
    """Whether an address is on this machine."""
    if family == getattr(socket, "AF_UNIX", None) or host in (None, "", "localhost", b"localhost"):
        return True
    text = host.decode(errors="replace") if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(text.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _refuse(host: object) -> None:
    """Fail like a machine without a network would, and say who closed the door."""
    raise PermissionError(f"tests must not reach the network, and one asked for {host!r}")


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse connections and name look-ups that would leave this machine.

    It holds for this process; programs that a test starts are not covered.
    """
    patch = pytest.MonkeyPatch()
    look_up = socket.getaddrinfo

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not _stays_here(socket.AF_INET, host):
            _refuse(host)
        return look_up(host, *args, **kwargs)

    for name in ("connect", "connect_ex"):
        original = getattr(socket.socket, name)

        def guarded(self: socket.socket, address: Any, _original: Any = original) -> Any:
            if not _stays_here(self.family, address[0] if isinstance(address, tuple) else None):
                _refuse(address[0])
            return _original(self, address)

        patch.setattr(socket.socket, name, guarded)
    patch.setattr(socket, "getaddrinfo", guarded_look_up)
    yield
    patch.undo()
