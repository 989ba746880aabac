"""What Flower's processes are started with, whatever the caller's environment says."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from neuroveil.deploy.federated.operate.engine import require_flower, silent_environment
from neuroveil.errors import FederationError


def test_nothing_calls_home_whatever_the_caller_says(monkeypatch, tmp_path):
    for name, value in {
        "FLWR_TELEMETRY_ENABLED": "1", "FLWR_ENABLE_EVENT_LOG": "1", "FLWR_OIDC_ENABLED": "1",
        "FLWR_INTERNAL_GRPC_CONTROL_API": "1", "FLWR_TRACING_ENABLED": "1",
        "FLWR_DISABLE_UPDATE_CHECK": "0", "FLWR_HOME": "/elsewhere", "OTEL_EXPORTER": "x",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "0",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    found = silent_environment(tmp_path)
    expected = {
        "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1", "FLWR_ENABLE_EVENT_LOG": "0",
        "FLWR_OIDC_ENABLED": "0", "FLWR_HOME": str(tmp_path),
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    gone = ("FLWR_INTERNAL_GRPC_CONTROL_API", "FLWR_TRACING_ENABLED", "OTEL_EXPORTER")
    assert not any(name in found for name in gone)


def test_this_machine_is_never_reached_through_a_proxy(monkeypatch, tmp_path):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "intranet.example,localhost")
    found = silent_environment(tmp_path)
    assert found["NO_PROXY"] == "intranet.example,localhost,127.0.0.1,::1"
    assert found["HTTPS_PROXY"] == "http://proxy.example:3128"


def test_flowers_programs_are_found_without_an_activated_environment(monkeypatch, tmp_path):
    import sys

    monkeypatch.setenv("PATH", "/nowhere")
    first = silent_environment(tmp_path)["PATH"].split(":")[0]
    assert Path(first) == Path(sys.executable).parent


@pytest.mark.parametrize("found", ["1.41.9", "1.43.0", "2.0.0", None])
def test_another_release_of_flower_is_refused(monkeypatch, found):
    def version(name: str) -> str:
        if found is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(FederationError, match=r"1\.42"):
        require_flower()
