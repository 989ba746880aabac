"""The page on attacks on a table says what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROW_NAMES = {
    "without protection": "raw",
    "ours": "ours",
    "the paper's Gaussian": "gaussian",
    "the paper's Laplace": "paper_laplace",
}
CASE_NAMES = {
    "as they are": "unprotected",
    'the paper\'s Laplace, "ε = 5"': "paper_laplace, epsilon = 5",
    "Gaussian, ε = 20": "gaussian, epsilon = 20",
    "Gaussian, ε = 1": "gaussian, epsilon = 1",
    "of other people": "other people",
}


def table_under(project_root: Path, header: str) -> list[list[str]]:
    """Cells of the table on the page that starts with this header."""
    lines = (project_root / "docs" / "audit.md").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(header)) + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def near(text: str, value: float) -> bool:
    return abs(float(text) - value) <= 0.0051


def measured(project_root: Path, name: str) -> Any:
    return json.loads((project_root / "docs" / "measured" / name).read_text(encoding="utf-8"))


def test_seventeen_people(project_root: Path) -> None:
    found = measured(project_root, "eegmat-attributes.json")["figures"]["targets"]
    rows = table_under(project_root, "| release | rebuilt |")
    assert len(rows) == len(found) == 10
    for name, *cells in rows:
        words, _, epsilon = name.replace('"', "").partition(", ε = ")
        key = ROW_NAMES[words] + (f", epsilon = {epsilon}" if epsilon else "")
        attacks = found[key]
        rebuilt = [each for each in attacks["reconstruction"].values() if isinstance(each, dict)]
        figures = (
            max(rebuilt, key=lambda figure: figure["value"]),
            attacks["attributes"]["auc"],
            attacks["singling_out"]["excess_rows"],
        )
        for cell, figure in zip(cells, figures, strict=True):
            value, low, high = re.fullmatch(r"(\S+) \((-?[\d.]+)-(-?[\d.]+)\)", cell).groups()
            for text, part in ((value, "value"), (low, "low"), (high, "high")):
                assert near(text, figure[part]), (name, cell)


def test_beside_anonymeter(project_root: Path) -> None:
    document = measured(project_root, "anonymeter-comparison.json")
    rows = table_under(project_root, "| released rows | theirs")
    assert len(rows) == len(document["cases"]) == 5
    for name, *cells in rows:
        case = document["cases"][CASE_NAMES[name]]
        theirs, ours = case["anonymeter"], case["ours"]
        one, three = cells[0].split(" / ")
        for text, key in (
            (one, "singling_out_univariate"), (three, "singling_out_multivariate"),
            (cells[1], "linkability"), (cells[2], "inference"),
        ):  # fmt: skip
            assert near(text.partition(" ")[0], theirs[key]["risk"]), (name, key)
        if "linkage" not in ours:
            rates = ours["singling_out"]
            assert near(cells[3], rates["rate_rows"] - rates["control"])
            continue
        for text, (attack, figure) in zip(cells[3:], (
            ("singling_out", "excess_rows"), ("linkage", "rank_1"), ("attributes", "auc"),
            ("membership", "auc"),
        ), strict=True):  # fmt: skip
            assert near(text, ours[attack][figure]["value"]), (name, attack)
