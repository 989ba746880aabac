"""What every Flower process gets: the version that is known, and nothing sent elsewhere."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from neuroveil.deploy.federated.flower import quiet_environment
from neuroveil.errors import FederationError

KNOWN_VERSION = "1.42."
"""Flower releases whose inner doors are known here; the guards stand at these doors."""

EXECUTOR = "flower-superexec"
"""Flower's program that starts one process for each message."""

_SILENT = {
    **quiet_environment(),
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_ENABLE_EVENT_LOG": "0",
    "FLWR_OIDC_ENABLED": "0",
}
_FORBIDDEN = ("FLWR_INTERNAL_", "FLWR_TRACING_", "FLWR_TELEMETRY_", "FLWR_RUNTIME_", "OTEL_")


def require_flower() -> None:
    """Make sure that Flower is there, in a release that is known.

    Raises
    ------
    FederationError
        If it is missing or another release: what keeps strangers out on both sides stands
        inside Flower's processes, and another release may have other doors. On Windows, too,
        where groups of processes cannot be ended together.
    """
    if os.name != "posix":
        raise FederationError(
            "the machine", "Linux or macOS", "another system",
            "Run coordinator and nodes on one of them; `federate simulate` works everywhere.",
        )  # fmt: skip
    try:
        found = importlib.metadata.version("flwr")
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    if not found.startswith(KNOWN_VERSION):
        raise FederationError(
            "the federation engine", f"flwr {KNOWN_VERSION}x", found,
            "Install it with: pip install 'neuroveil[federated,torch]'",
        )  # fmt: skip


def silent_environment(home: Path) -> dict[str, str]:
    """Give the environment of a Flower process.

    Telemetry, update checks, the installation of an app's dependencies and Flower's event log
    are off, whatever the caller's environment says; Flower's own files go to ``home``.

    Parameters
    ----------
    home : Path
        Folder for Flower's files.

    Returns
    -------
    dict of str to str
        Variables.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_FORBIDDEN) and name not in _SILENT
    }
    kept |= direct_at_home(kept)
    programs = str(Path(sys.executable).parent)
    path = os.pathsep.join([programs, kept.get("PATH", os.defpath)])
    return {**kept, **_SILENT, "PATH": path, "FLWR_HOME": str(home)}


def start_executor(address: str, secret: Path, authority: Path | None) -> subprocess.Popen[bytes]:
    """Start Flower's SuperExec below this process; it ends with it.

    The secret makes sure that nobody else who reaches the address can fetch work.

    Parameters
    ----------
    address : str
        Of the runtime interface, as host:port.
    secret : Path
        File with the secret that both sides share.
    authority : Path or None
        Certificate of the authority; None for an interface of this machine without TLS.

    Returns
    -------
    subprocess.Popen
        The process.
    """
    trust = ["--insecure"] if authority is None else ["--root-certificates", str(authority)]
    program = Path(sys.executable).parent / EXECUTOR
    return subprocess.Popen(
        [str(program), *trust, "--runtime-api-address", address,
         "--superexec-auth-secret-file", str(secret), "--parent-pid", str(os.getpid())],
    )  # fmt: skip


def direct_at_home(environment: Mapping[str, str]) -> dict[str, str]:
    """Say that this machine is reached without a proxy, where a site sends all else through one.

    Parameters
    ----------
    environment : mapping of str to str
        Variables as they are.

    Returns
    -------
    dict of str to str
        Variables to set besides.
    """
    found = {}
    for name in ("NO_PROXY", "no_proxy"):
        exempt = [each for each in environment.get(name, "").split(",") if each]
        found[name] = ",".join(dict.fromkeys([*exempt, "127.0.0.1", "localhost", "::1"]))
    return found


def execute_when(
    is_ready: Callable[[], bool], address: str, secret: Path, authority: Path | None
) -> None:
    """Start the SuperExec once its interface is served, and end this process when it ends.

    Started sooner, it would wait for up to 20 s between its attempts to connect; and half a
    service would wait for ever.

    Parameters
    ----------
    is_ready : callable
        Says whether the interface is served.
    address, secret, authority : str, Path, Path or None
        As for :func:`start_executor`.
    """

    def work() -> None:
        while not is_ready():
            time.sleep(0.05)
        start_executor(address, secret, authority).wait()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=work, daemon=True).start()


def end_with_parent() -> None:
    """End this process when the one that supervises it is gone, even if it was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
