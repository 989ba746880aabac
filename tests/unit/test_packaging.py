"""What `packaging/` promises: wheels named with their digests, a unit and an image locked in."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "packaging"
UNIT = FOLDER / "neuroveil-server.service"


@pytest.fixture(scope="module")
def wheelhouse() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheelhouse", FOLDER / "build_wheelhouse.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_wheel_is_named_with_version_and_digest(wheelhouse, tmp_path):
    (tmp_path / "wheels").mkdir()
    content = {
        "typing_extensions-4.15.0-py3-none-any.whl": b"one",
        "PyYAML-6.0.2-cp311-cp311-manylinux_2_17_x86_64.whl": b"two",
    }
    for name, data in content.items():
        (tmp_path / "wheels" / name).write_bytes(data)
    lines = wheelhouse.write_requirements(tmp_path).read_text().splitlines()
    assert lines == [
        f"pyyaml==6.0.2 --hash=sha256:{hashlib.sha256(b'two').hexdigest()}",
        f"typing-extensions==4.15.0 --hash=sha256:{hashlib.sha256(b'one').hexdigest()}",
    ]
    (tmp_path / "wheels" / "typing_extensions-4.15.0-py3-none-any.whl").write_bytes(b"other")
    assert wheelhouse.write_requirements(tmp_path).read_text().splitlines()[1] != lines[1]


def test_a_wheelhouse_without_wheels_is_none(wheelhouse, tmp_path):
    with pytest.raises(SystemExit):
        wheelhouse.write_requirements(tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "User=neuroveil", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict",
        "ProtectHome=yes", "PrivateTmp=yes", "PrivateDevices=yes", "MemoryDenyWriteExecute=yes",
        "SystemCallFilter=@system-service", "RestrictNamespaces=yes", "UMask=0077",
    ],
)  # fmt: skip
def test_the_service_is_locked_in(line):
    assert line in UNIT.read_text().splitlines()


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)
def test_systemd_finds_little_exposed():
    """Its scale goes from 0 to 10; below 3 it says OK."""
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "offline" in done.stderr:
        pytest.skip("this systemd-analyze cannot look at files")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_runs_as_nobody_special_and_installs_by_digest():
    lines = (FOLDER / "Dockerfile").read_text()
    assert "USER 10001" in lines
    assert lines.index("useradd") < lines.index("USER 10001") < lines.index("ENTRYPOINT")
    assert "--no-index" in lines
    assert "--require-hashes" in lines
