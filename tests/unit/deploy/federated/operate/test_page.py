"""docs/federation-operations.md says what was measured, and what a policy's defaults are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neuroveil.deploy.federated.operate.hospital import HospitalSettings
from neuroveil.deploy.federated.operate.policy import SitePolicy


@pytest.fixture(scope="module")
def page(project_root: Path) -> str:
    return (project_root / "docs" / "federation-operations.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def measured(project_root: Path) -> dict[str, Any]:
    file = project_root / "docs" / "measured" / "federation.json"
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_the_rows_of_the_table_are_those_that_were_measured(page, measured):
    for each in measured["light_hospitals"]:
        seconds = each["superlink_processor_seconds_a_hospital_and_exchange"]
        row = (
            f"| {each['hospitals']} | {each['parameters']:,} | {each['database']} "
            f"| {each['bytes_a_hospital_and_exchange'] / 1024:.0f} KiB | {seconds:.2f} s "
            f"| {each['seconds_a_round']:.0f} s | {each['memory_mib']['superlink']} MiB |"
        )
        assert row in page


def test_what_is_said_of_1000_hospitals_is_the_line_through_them(page, measured):
    aim = measured["at_1000"]
    assert aim["extrapolated_not_measured"]
    for text in (
        f"{aim['mib_an_exchange']:.0f} MiB an exchange",
        f"{aim['idle_mib_an_hour']:,} MiB an hour",
        f"{aim['superlink_processor_seconds_an_exchange']} processor seconds an exchange",
        f"{aim['superlink_idle_processors']} processors",
        f"{aim['superlink_memory_mib']} MiB for the SuperLink",
        f"{aim['serverapp_memory_mib']} MiB for the coordinator's app",
    ):
        assert text in page


def test_memory_of_a_hospital_is_what_was_measured(page, measured):
    memory = measured["real_hospitals"]["memory_mib"]
    assert f"{memory['supernode']} MiB for the node" in page
    assert f"{memory['flower-superexec']} MiB for Flower's SuperExec" in page
    assert f"{memory['flwr-clientapp']} MiB for the app" in page


def test_the_defaults_of_a_policy_are_the_ones_on_the_page(page):
    fields = SitePolicy.model_fields
    for name in fields:
        assert f"`{name}`" in page
    for name in ("minimum_patients", "minimum_hospitals", "maximum_answers"):
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert row.endswith(f"| {fields[name].default} |")
    assert fields["privacy"].default == ("dp_sgd", "distributed")
    assert (fields["maximum_epsilon"].default, fields["maximum_delta"].default) == (1.0, 1e-5)
    assert 2 * HospitalSettings.model_fields["heartbeat_seconds"].default == 60
