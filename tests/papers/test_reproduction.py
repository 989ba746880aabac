"""``neuroveil reproduce`` from the command line: verdicts, page, drawings, going on.

One run with few draws is shared by all tests here: 20 draws of noise and 2 of the classifier, on
the made-up cohort of seed 0.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from neuroveil.cli.app import run
from neuroveil.evaluate.reproduction import Piece, conclude, do_piece, simulated_cohort
from neuroveil.evaluate.reproduction.printed import EPSILONS
from neuroveil.pipeline import reproduction as pipeline
from neuroveil.pipeline.reproduction import ReproductionPlan, reproduce

pytestmark = pytest.mark.slow

COMMAND = ("reproduce", "--draws", "20", "--classifier-draws", "2", "--quiet")
PLAN = ReproductionPlan("paper", 20, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that one run leaves behind."""
    out = tmp_path_factory.mktemp("reproduction") / "out"
    assert run([*COMMAND, "--workers", "2", "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def document(folder: Path) -> dict[str, Any]:
    """The numbers of that run."""
    return dict(json.loads((folder / "reproduction.json").read_text()))


def comparisons(document: dict[str, Any], table: str) -> list[dict[str, Any]]:
    """All printed numbers of a table."""
    return next(found["comparisons"] for found in document["tables"] if found["name"] == table)


def verdicts(document: dict[str, Any], table: str) -> Counter[str]:
    """How often each verdict stands in a table."""
    return Counter(found["verdict"] for found in comparisons(document, table))


def test_every_table_is_there(document: dict[str, Any]) -> None:
    assert [table["name"] for table in document["tables"]] == [
        "Table 1", "Table 3", "Table 4", "Table 5", "Table 7", "Table 7, arithmetic",
    ]  # fmt: skip
    assert document["internal"] is False


def test_table_1_follows_but_for_the_laplace_sensitivity(document: dict[str, Any]) -> None:
    wrong = [
        found["printed"]["row"]
        for found in comparisons(document, "Table 1")
        if found["verdict"] == "does_not_follow"
    ]
    assert wrong == ["Laplace sensitivity used in implementation"]
    assert verdicts(document, "Table 1")["setting"] == 2


def test_table_3_and_the_arithmetic_of_table_7_follow(document: dict[str, Any]) -> None:
    assert verdicts(document, "Table 3") == {"follows_from_theory": 6}
    assert verdicts(document, "Table 7, arithmetic") == {"follows_from_theory": 36}


def test_tables_4_and_5_are_inside_the_band(document: dict[str, Any]) -> None:
    """Fixed seed; tests/papers/test_tables_4_and_5.py has the band of 200 draws."""
    assert verdicts(document, "Table 4") == {"inside_band": 24}
    assert verdicts(document, "Table 5") == {"inside_band": 12}


def test_table_7_is_not_judged_on_two_draws_nor_its_baseline_ever(
    document: dict[str, Any],
) -> None:
    assert verdicts(document, "Table 7") == {"needs_their_data": 10, "too_few_draws": 20}


def test_noise_of_another_size_is_outside_the_band() -> None:
    """The control: the same comparison with the noise of half the epsilon."""
    cohort = simulated_cohort(0)
    pieces = PLAN.pieces(cohort)
    score = {"true_negative": 9, "false_positive": 3, "false_negative": 2, "true_positive": 3}
    draw = {"threshold": 0.4, "pooled": score, "honest": score, "auc": 0.5}
    results: dict[Piece, dict[str, Any]] = {}
    for piece in pieces:
        if piece.kind == "classifier":
            results[piece] = {"draws": [draw] * piece.n_draws}
            continue
        assert piece.epsilon is not None
        weaker = Piece("rows", piece.name, piece.epsilon / 2, 0, 20, 0)
        results[piece] = do_piece(cohort, weaker)
    found = conclude(cohort.facts, results)
    errors = [
        comparison.verdict
        for table in found.tables[2:4]
        for comparison in table.comparisons
        if comparison.printed.quantity in ("rmse", "mae", "snr_db")
    ]
    assert len(errors) == 24
    assert set(errors) == {"outside_band"}


def test_only_the_owner_can_open_what_is_written(folder: Path) -> None:
    assert folder.stat().st_mode & 0o777 == 0o700
    for file in folder.rglob("*.*"):
        assert file.stat().st_mode & 0o077 == 0, file.name


def test_the_page_asks_for_nothing_and_shows_every_figure(folder: Path) -> None:
    page = (folder / "reproduction.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=\"(?!#)", page.replace('xlink:href="#', 'href="#'))
    assert "<script" not in page
    for number in range(7, 12):
        assert f'id="figure-{number}" role="img"' in page
        assert (folder / f"figure_{number}.svg").read_text().startswith("<svg")
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(identifiers)) == len(identifiers)
    assert "INTERNAL" not in page


def test_a_second_run_only_reads_what_is_there(
    folder: Path, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "run_tasks", lambda *_: pytest.fail("nothing is left to do"))
    again = reproduce(simulated_cohort(0), PLAN, folder)
    assert json.loads(json.dumps(again.to_json())) == document


def test_what_is_missing_or_damaged_is_done_again(folder: Path, document: dict[str, Any]) -> None:
    kept = sorted((folder / "cache").glob("*.json"), key=lambda file: file.stat().st_size)
    rows = [file for file in kept if "figures" in file.read_text()]
    rows[0].unlink()
    rows[1].write_text("{")
    again = reproduce(simulated_cohort(0), PLAN, folder, 1)
    assert json.loads(json.dumps(again.to_json())) == document
    assert rows[0].exists()


def test_names_of_kept_results_say_nothing_about_the_rows(folder: Path, tmp_path: Path) -> None:
    """They are keyed: the same rows in another folder have other names."""
    cohort = simulated_cohort(0)
    piece = PLAN.pieces(cohort)[-1]
    names = []
    for place in (folder / "cache", tmp_path / "cache"):
        kept = pipeline._Kept(place, cohort)
        names.append(kept._file(piece).name)
    assert names[0] != names[1]
    assert (folder / "cache" / names[0]).exists()


def test_it_reads_well_in_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND, "--out", str(folder)]) == 0
    text = capsys.readouterr().out
    for epsilon in EPSILONS:
        assert f"| ε = {epsilon:g} " in text
    assert "1 does not follow from theory" in text
    assert "| Laplace, the paper's scale | none at ε; pure 19.05 ε |" in text


@pytest.mark.parametrize(
    "options",
    [
        ("--study", "study.toml"),
        ("--label", "diagnosis"),
        ("--eegmat", "somewhere"),
        ("--eegmat", "somewhere", "--study", "study.toml", "--out", "out"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: tuple[str, ...]) -> None:
    assert run(["reproduce", *options]) == 2


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--dry-run", "--json", "--out", str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out)["draws"] == 200
    assert not (tmp_path / "out").exists()


def test_recordings_that_are_not_there_are_refused(tmp_path: Path) -> None:
    options = ["--eegmat", str(tmp_path), "--out", str(tmp_path / "out")]
    assert run(["reproduce", *options]) == 2
