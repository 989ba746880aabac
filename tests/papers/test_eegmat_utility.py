"""What a classifier can do with seventeen real people: rest against task, and sex.

The long test measures and writes ``docs/measured/eegmat-utility.json``; the fast one holds the
tables of ``docs/utility.md`` to it. Rest against task is asked with one recording a person, every
other one at rest: with both recordings as rows, whoever is in the test fold with one of them would
be in the training part with the other, under the other label.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from neuroveil.pipeline.evaluated import evaluate_study
from neuroveil.pipeline.evaluation_wishes import EvaluationWishes
from neuroveil.study import load_study
from neuroveil.types.downstream import Figure
from neuroveil.types.sharing import SharingTable

EPSILON = 5.0
N_PEOPLE = 17
MEASURED = Path("docs") / "measured" / "eegmat-utility.json"

QUESTIONS: dict[str, tuple[str, str]] = {
    "sex": ("sex", "M"),
    "rest or task, one recording a person": ("condition", "task"),
}
"""Label column and positive value by question."""


def _manifest(question: str, eegmat: Path) -> list[list[str]]:
    people = list(csv.DictReader((eegmat / "subject-info.csv").open()))[:N_PEOPLE]
    rows = [["patient", "path", "session", "sex", "condition"]]
    for place, person in enumerate(people):
        for session, condition in (("1", "rest"), ("2", "task")):
            name = person["Subject"]
            recording = [f"{name}_{session}.edf", session, person["Gender"]]
            if question == "sex":
                rows.append([name, *recording, ""])
            elif place % 2 == int(session) - 1:
                rows.append([name, *recording, condition])
    return rows


def _study(question: str, root: Path, eegmat: Path, folder: Path) -> Path:
    """The example's study of these people, with a manifest and a label."""
    text = (root / "examples" / "eegmat" / "study.toml").read_text()
    before, rest = text.split("[input]")[0], text[text.index('population = "adults"') :]
    column, positive = QUESTIONS[question]
    with (folder / "manifest.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(_manifest(question, eegmat))
    (folder / "study.toml").write_text(
        f'{before}[input]\nlayout = "manifest"\nmanifest = "manifest.csv"\nfolder = "{eegmat}"\n'
        f'{rest}\n[evaluation]\nlabel = "{column}"\npositive = ["{positive}"]\n'
    )
    return folder


def _figures(table: SharingTable) -> dict[str, Any]:
    return {
        "positive": table.labels.n_positive,
        "negative": table.labels.n_negative,
        "rounds": table.n_rounds,
        "epsilon": table.epsilon,
        "delta": table.delta,
        "verdict": table.verdict,
        "ways": {
            result.way.key: {
                "label": result.way.label,
                "model": result.model,
                "auc": _three(result.new_people.performance.auc),
                "control": _three(result.new_people.control.auc),
                "balanced_accuracy": _three(result.new_people.performance.balanced_accuracy),
            }
            for result in table.ranked
        },
        "thresholds": {
            result.way.key: {
                "paper_f1": _three(result.paper.f1),
                "peeked_f1": _three(result.in_table.performance.peeked_f1),
                "nested_f1": _three(result.in_table.performance.f1),
            }
            for result in table.results
            if result.paper is not None and result.in_table is not None
        },
    }


def _three(figure: Figure) -> list[float]:
    return [round(value, 3) for value in (figure.mean, figure.low, figure.high)]


@pytest.mark.long
def test_what_a_classifier_can_do_with_real_people(
    project_root: Path,
    eegmat: Path,
    tmp_path: Path,
    write_down: Callable[[str, Mapping[str, Any]], Path],
) -> None:
    """Measured, whatever comes out; ten rounds, fixed seed. Controls are at chance."""
    figures = {}
    for number, question in enumerate(QUESTIONS):
        folder = tmp_path / str(number)
        folder.mkdir()
        study = load_study(
            _study(question, project_root, eegmat, folder), {"privacy.epsilon": EPSILON}
        )
        table = evaluate_study(study, EvaluationWishes()).table
        for result in table.results:
            assert 0.25 < result.new_people.control.auc.mean < 0.75
        figures[question] = _figures(table)
    write_down("eegmat-utility", figures)


def test_the_page_about_utility_prints_what_was_measured(project_root: Path) -> None:
    """Every row of its tables about eegmat, to the digits printed."""
    document = json.loads((project_root / MEASURED).read_text())
    page = (project_root / "docs" / "utility.md").read_text()
    for question, figures in document["figures"].items():
        assert f"### {question[0].upper()}{question[1:]}" in page
        for way in figures["ways"].values():
            assert row(way["label"], way["auc"], way["control"]) in page
        for key, scores in figures["thresholds"].items():
            assert row(figures["ways"][key]["label"], *scores.values()) in page


def row(label: str, *figures: list[float]) -> str:
    """One row of a table of the page."""
    return f"| {' | '.join([label, *map(interval, figures)])} |"


def interval(figure: list[float]) -> str:
    """A figure with its interval, as the page prints it."""
    return f"{figure[0]:.2f} ({figure[1]:.2f} to {figure[2]:.2f})"
