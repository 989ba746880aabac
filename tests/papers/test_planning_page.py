"""The tables and the figure of docs/planning.md, computed again by the tool that wrote them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "generate_planning_page.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_planning_page", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["price", "eegmat", "attackers", "groups", "drops", "simulated"]
)  # `cohorts` takes minutes and stands in the long set
def test_a_part_is_up_to_date(tool: ModuleType, part: str) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.fill(page, [part]) == page


@pytest.mark.slow
def test_the_figure_shows_the_plan(tool: ModuleType) -> None:
    drawn = tool.description(tool.plan_figure(tool.eegmat_plan()))
    assert "17 patients and 190 columns" in drawn
    assert drawn == tool.description(tool.FIGURE.read_text(encoding="utf-8"))


@pytest.mark.long
def test_cohorts_are_up_to_date(tool: ModuleType) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    assert tool.fill(page, ["cohorts"]) == page


def test_every_part_stands_on_the_page(tool: ModuleType) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    for part in tool.PARTS:
        assert (
            page.count(f"<!-- begin {part} -->\n|") + page.count(f"<!-- begin {part} -->\n>") == 1
        )


def test_a_part_that_was_changed_is_noticed(tool: ModuleType) -> None:
    page = tool.PAGE.read_text(encoding="utf-8")
    assert "| 19.05 |" in page
    assert tool.fill(page.replace("| 19.05 |", "| 19.06 |"), ["price"]) == page
