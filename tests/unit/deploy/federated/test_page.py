"""The page about training together says what was measured."""

from __future__ import annotations

import json


def test_the_table_is_the_measured_one(project_root) -> None:
    page = (project_root / "docs" / "federated.md").read_text(encoding="utf-8")
    measured = json.loads((project_root / "docs" / "measured" / "federated.json").read_text())
    assert (measured["hospitals"], measured["patients_a_hospital"]) == (6, 50)
    assert f"{measured['seeds']} seeds" in page
    rows = {
        setting: [line for line in page.splitlines() if line.startswith("|") and name in line]
        for setting, name in (
            ("local_features", "`local_features`"), ("dp_sgd", "`dp_sgd`"),
            ("distributed", "`distributed`"), ("none", "`none`"),
            ("central", "`central`: noise by"), ("pooled", "in one place, no protection"),
        )
    }  # fmt: skip
    for column, epsilon in enumerate(("1", "5"), start=3):
        for row in measured["settings"][epsilon]:
            (line,) = rows[row["setting"]]
            cell = line.split("|")[column].strip()
            assert cell == (
                f"{row['balanced_accuracy']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
            )


def test_the_simulation_is_the_measured_one(project_root) -> None:
    page = (project_root / "docs" / "federated.md").read_text(encoding="utf-8")
    found = json.loads((project_root / "docs/measured/federated.json").read_text())["simulation"]
    seconds, figure = found["seconds_a_round"], found["balanced_accuracy"]
    assert found["hospitals"] == 20
    assert f"{min(seconds):.0f} to {max(seconds):.0f} seconds" in page
    assert f"{max(found['bytes_a_round']) / 1e6:.1f} MB" in page
    assert f"{figure['mean']:.2f} ({figure['low']:.2f} to {figure['high']:.2f})" in page


def test_the_classifiers_are_the_measured_ones(project_root) -> None:
    page = (project_root / "docs" / "trusted-server.md").read_text(encoding="utf-8")
    measured = json.loads((project_root / "docs/measured/scenarios.json").read_text())
    (line,) = [line for line in page.splitlines() if "a model of each hospital |" in line]
    for epsilon, by_way in measured["training"].items():
        assert [name.strip() for name in line.split("|")[2:-1]] == list(by_way)
        cells = [
            f"{each['mean']:.3f} [{each['low']:.3f}, {each['high']:.3f}]"
            for each in by_way.values()
        ]
        assert f"| {epsilon} | {' | '.join(cells)} |" in page.replace("**", "")
    assert (measured["n_patients"], measured["separation"]) == (300, 2.0)
