"""What docs/reference.md says about the built-in constants is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neuroveil.reference import default_reference, list_references


@pytest.fixture(scope="module")
def page(project_root: Path) -> str:
    return (project_root / "docs" / "reference.md").read_text(encoding="utf-8")


def test_every_built_in_reference_is_in_the_table(page: str) -> None:
    assert set(re.findall(r"`(eegmat-\S+ v\d+)`", page)) == set(list_references())


def test_example_runs(page: str) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    assert names["scaling"].fallback == (False, True, False, True)  # type: ignore[attr-defined]


@pytest.mark.parametrize("preset", ["harmonised", "paper"])
def test_stated_shrinkage_is_that_of_the_files(page: str, preset: str) -> None:
    estimator = default_reference(preset).estimator
    assert "0.3 for channels and 0.05 for features, in both presets" in page
    assert (estimator["channel_shrinkage"], estimator["feature_shrinkage"]) == (0.3, 0.05)
    own = estimator["spread_own_weight"]
    assert sum(weight < 0.5 for weight in own) > len(own) / 2


def test_every_key_of_a_file_is_described(page: str) -> None:
    described = page[page.index("## The file") :]
    for key in default_reference("paper").to_json():
        assert f"`{key}`" in described, key
