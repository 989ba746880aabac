"""What docs/linkage.md says about commands, settings and the policy is what there is."""

import json
import re
import subprocess
import sys
import tomllib

import click
import pytest

from neuroveil.cli.commands.link import command
from neuroveil.linkage.openbao_client import OpenBaoAddress
from neuroveil.linkage.services import ServiceSettings
from neuroveil.study.validation import validated


@pytest.fixture(scope="module")
def page(project_root) -> str:
    return (project_root / "docs" / "linkage.md").read_text("utf-8")


def test_the_policy_is_the_one_that_the_library_writes(page):
    assert OpenBaoAddress("https://127.0.0.1:8200").policy() in page


def test_settings_of_key_services_are_accepted_as_they_stand(page):
    blocks = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", page, re.S)]
    services = [block for block in blocks if "key_id" in block]
    assert len(services) == 2
    for block in services:
        validated(ServiceSettings, block)


def test_every_command_and_option_exists_and_every_command_is_told(page):
    assert isinstance(command, click.Group)
    calls = re.findall(r"neuroveil link ([a-z-]+)([^`\n]*)", page)
    for name, rest in calls:
        options = {
            option for each in command.commands[name].params for option in each.opts
        }  # fmt: skip
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, name
    told = {name for name, _ in calls} | set(re.findall(r"`([a-z-]+)`", page))
    assert set(command.commands) - told <= {"show"}


def test_the_table_of_attacks_is_what_was_measured(project_root):
    tool = project_root / "tools" / "generate_linkage_attacks.py"
    done = subprocess.run(
        [sys.executable, tool, "--check"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_what_guessing_gets_is_what_was_measured(project_root):
    measured = json.loads((project_root / "docs/measured/linkage-attacks.json").read_text())
    chances = {
        (name.partition(",")[0], each["attack"]): each["chance"]
        for name, outcomes in measured["figures"]["attacks"].items()
        for each in outcomes
    }
    assert round(chances["surname", "frequency alignment"], 3) == 0.084
    assert round(chances["record", "frequency alignment"], 4) == 0.0002
    assert round(chances["surname", "pattern mining, pieces"], 2) == 0.45
    assert round(chances["record", "pattern mining, pieces"], 2) == 0.93
    assert round(chances["record", "graph matching"], 3) == 0.003
    assert measured["figures"]["settings"]["blip_flip"] == 0.05


def test_the_figures_of_a_million_are_those_that_were_measured(page, project_root):
    measured = json.loads((project_root / "docs/measured/linkage-million.json").read_text())
    found = measured["figures"]["blocking"]
    assert found["records"] == 1_000_000
    assert measured["command"] in page
    words = " ".join(page.split())
    minutes = round(found["find"]["wall"] / 60)
    assert f"{found['find']['processor']:.0f} seconds of processor time ({minutes} min" in words
    assert f"{found['peak_gib']} GiB, in {found['tables']} tables" in words
    reached, planned = f"{found['reached_recall']:.2%}", f"{found['planned_recall']:.2%}"
    assert f"{reached[:-1]} % were found where {planned[:-1]} % was planned" in words
    assert f"both lists took {found['encode_both']['processor']:.0f} seconds" in words
    pairs = measured["figures"]["all_pairs"]
    ours, matrices, rows = (
        f"{pairs[name]['processor']:.1f}"
        for name in ("compare", "compare_by_matrices", "compare_row_by_row")
    )
    assert (
        f"compared in {ours} (a product of matrices took {matrices}, and one row at a time" in words
    )
    assert f"a time {rows})" in words
    assert found["find"]["wall"] < 1800
    assert found["peak_gib"] < 8
