"""What all tests share: the real EEG, hypothesis settings, and a closed door to the network."""

from __future__ import annotations

import ipaddress
import json
import os
import platform
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
EEG_IS_REQUIRED = bool(os.environ.get("CI") or os.environ.get("NEUROVEIL_REQUIRE_EEG"))

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
