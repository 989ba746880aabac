"""Ledgers on disk, requests, and a PostgreSQL server of our own."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import pytest

from neuroveil.ledger import Ledger, Terms
from neuroveil.types.budget import AccountingEvent, Scope
from neuroveil.types.charge import ChargeRequest

POSTGRESQL_IS_REQUIRED = bool(os.environ.get("CI"))


@pytest.fixture(scope="session")
def request_for() -> Callable[..., ChargeRequest]:
    def make(
        epsilon: str = "1",
        delta: str = "1/100000",
        patients: tuple[str, ...] = (),
        studies: tuple[str, ...] = (),
        events: tuple[AccountingEvent, ...] = (),
    ) -> ChargeRequest:
        return ChargeRequest(
            epsilon=Fraction(epsilon), delta=Fraction(delta), mechanism="gaussian",
            n_patients=len(patients) or 17, dimension=363, columns_digest="sha256:" + "0" * 64,
            events=events, scopes=tuple(Scope("study", name) for name in studies),
            patients=patients,
        )  # fmt: skip

    return make


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(ledger_path: Path) -> Ledger:
    return Ledger.create(ledger_path, Fraction(10), Fraction(1, 1000))


@pytest.fixture
def site_ledger(ledger_path: Path) -> Ledger:
    """A ledger that knows patients."""
    return Ledger.create(ledger_path, Fraction(10), Fraction(1, 1000), Terms(site_wide_keys=True))


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server on this machine; every ledger gets a schema of its own."""

    port: int
    password: str

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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
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
    server = Server(_free_port(), os.urandom(12).hex())

    def call(program: str, *arguments: str) -> None:
        command = [*as_user, str(programs / program), "-D", str(folder / "data"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr

    secret = folder / "password"
    secret.write_text(server.password)
    secret.chmod(0o644)
    call("initdb", "-U", "owner", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8",
         "--locale=C")  # fmt: skip
    options = f"-p {server.port} -k {folder} -c listen_addresses=127.0.0.1"
    call("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield server
    finally:
        call("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_schema(postgresql: Server) -> str:
    """Name of an empty schema on the server."""
    name = "ledger_" + os.urandom(6).hex()
    postgresql.run("public", f"CREATE SCHEMA {name}")
    return name


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)],
)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where a ledger may go: a file, then a database on a server."""
    if request.param == "sqlite":
        return tmp_path / "ledger.sqlite"
    server: Server = request.getfixturevalue("postgresql")
    return server.url(request.getfixturevalue("new_schema"))
