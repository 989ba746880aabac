"""One environment for server, federated and torch; and a clear word where an extra is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, version

import pytest
from packaging.requirements import Requirement

from neuroveil.deploy.federated import flower
from neuroveil.deploy.federated.operate.service import start_coordinator, start_hospital
from neuroveil.errors import FederationError

EXTRAS = ("server", "federated", "torch")


def test_one_environment_holds_all_three_extras(project_root) -> None:
    """Every requirement of neuroveil's extras, and of what they bring, is met by what is here."""
    project = tomllib.loads((project_root / "pyproject.toml").read_text())["project"]
    texts = project["dependencies"] + [
        text for extra in EXTRAS for text in project["optional-dependencies"][extra]
    ]
    wanted = [Requirement(text) for text in texts]
    assert {each.name for each in wanted} >= {"fastapi", "uvicorn", "flwr", "torch", "opacus"}
    broken, seen = [], set()
    while wanted:
        each = wanted.pop()
        if each.name in seen and not each.specifier:
            continue
        try:
            found = version(each.name)
        except PackageNotFoundError:
            broken.append(f"{each}: absent")
            continue
        if not each.specifier.contains(found, prereleases=True):
            broken.append(f"{each}: {found}")
        if each.name not in seen:
            seen.add(each.name)
            extras = each.extras or {""}
            wanted += [
                further
                for text in distribution(each.name).requires or []
                for further in [Requirement(text)]
                if further.marker is None
                or any(further.marker.evaluate({"extra": extra}) for extra in extras)
            ]
    assert not broken
    assert version("flwr") == "1.42.0"


def test_a_missing_extra_is_named(monkeypatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name, name=name.partition(".")[0])

    monkeypatch.setattr(flower.importlib, "import_module", missing)
    with pytest.raises(FederationError, match=r"neuroveil\[federated,torch\].*'federated'"):
        flower.require("flwr.app")
    with pytest.raises(FederationError, match="'torch'"):
        flower.require("opacus.grad_sample")
    with pytest.raises(ModuleNotFoundError):
        flower.require("something_else")


@pytest.mark.parametrize("package", ["flwr", "httpx", "torch", "opacus", "safetensors"])
def test_a_service_does_not_start_without_what_training_needs(
    monkeypatch, tmp_path, package
) -> None:
    """Refused at once, and not at the first message of a training."""
    find = flower.importlib.util.find_spec
    monkeypatch.setattr(
        flower.importlib.util, "find_spec", lambda name: None if name == package else find(name)
    )
    extra = "federated" if package in ("flwr", "httpx") else "torch"
    for start in (start_coordinator, start_hospital):
        with pytest.raises(FederationError, match=rf"package {package}\b.*'{extra}'"):
            start(tmp_path, print)


def test_flower_is_quiet_wherever_it_is_loaded() -> None:
    """In a process of its own: telemetry and update checks are off before Flower reads them."""
    code = (
        "from neuroveil.deploy.federated.flower import require\n"
        "(telemetry,) = require('flwr.supercore.telemetry')\n"
        "print(telemetry.FLWR_TELEMETRY_ENABLED)"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FLWR")}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert found.stdout.split() == ["0"]
    assert flower.quiet_environment()["FLWR_DISABLE_UPDATE_CHECK"] == "1"


def test_plans_and_commands_load_neither_flower_nor_torch() -> None:
    code = (
        "import sys\n"
        "import neuroveil.cli.commands.federate, neuroveil.deploy.federated.plan\n"
        "import neuroveil.deploy.federated.noise\n"
        "print([m for m in ('flwr', 'ray', 'torch', 'opacus') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
