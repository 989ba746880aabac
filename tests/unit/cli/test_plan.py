"""``neuroveil plan``: from bare numbers and from a study."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from neuroveil.cli import app

SMALL = ["--channels", "Fp1,Cz", "--features", "variance,alpha_power", "--no-drops"]
STUDY = """
[input]
layout = "pattern"
pattern = "{patient}.edf"

[montage]
channels = ["Fp1", "Cz"]

[features]
names = ["variance", "alpha_power"]

[privacy]
epsilon = 2.0
mechanism = "privunit"
"""


@pytest.fixture
def answer(capsys) -> Callable[..., dict]:
    """Run the command with ``--json`` and read its one object."""

    def run(*arguments: str, code: int = 0) -> dict:
        assert app.run(["plan", *arguments, "--json", "--quiet"]) == code
        said = capsys.readouterr()
        return json.loads(said.out)

    return run


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Three patients whose recordings are empty files: nobody may look inside."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.edf").touch()
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return file


@pytest.mark.slow
def test_bare_numbers(answer, tmp_path: Path) -> None:
    figure = tmp_path / "plan.svg"
    plan = answer("--patients", "20", *SMALL, "--epsilon", "1", "--epsilon", "5",
                  "--trust-model", "local", "--compare", "33x11",
                  "--figure", str(figure))  # fmt: skip
    assert (plan["n_patients"], plan["n_columns"], plan["delta"]) == (20, 4, 1e-5)
    assert {forecast["epsilon"] for forecast in plan["forecasts"]} == {1.0, 5.0}
    assert [price["label"] for price in plan["price"]] == ["2 x 2", "33 x 11"]
    assert (plan["needs"], plan["drops"]) == ([], None)
    root = ElementTree.parse(figure).getroot()
    text = "".join(root.find("{http://www.w3.org/2000/svg}desc").itertext())
    best = max(f["rows"]["correlation_centred"] for f in plan["forecasts"] if f["epsilon"] == 5)
    assert f"{best:.2f} at 5" in text


def test_a_study_needs_its_roster_and_no_signal(answer, study: Path, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    plan = answer(str(study))
    assert (plan["n_patients"], plan["n_columns"], plan["trust_model"]) == (3, 4, "local")
    assert {forecast["epsilon"] for forecast in plan["forecasts"]} == {2.0}
    assert "input.population" in plan["notes"][0]
    assert plan["ledger"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_what_the_ledger_has_left_is_compared(answer, study: Path, capsys) -> None:
    study.write_text(STUDY + "\n[privacy.budget]\nepsilon = 1.5\ndelta = 1e-5\n")
    assert answer(str(study), "--no-drops")["ledger"] == {"epsilon": 1.5, "delta": 1e-5}
    assert app.run(["plan", str(study), "--no-drops", "--quiet"]) == 0
    assert "DOES NOT FIT the ledger" in capsys.readouterr().out


@pytest.mark.slow
def test_a_study_with_other_numbers(answer, study: Path) -> None:
    plan = answer(str(study), "--no-drops", "--epsilon", "1", "--epsilon", "3", "--patients",
                  "500", "--clip-norm", "1.5", "--trust-model", "central",
                  "--delta", "1e-6")  # fmt: skip
    assert (plan["n_patients"], plan["clip_norm"], plan["delta"]) == (500, 1.5, 1e-6)
    assert {forecast["epsilon"] for forecast in plan["forecasts"]} == {1.0, 3.0}
    assert "central" in {forecast["trust_model"] for forecast in plan["forecasts"]}


@pytest.mark.slow
def test_tables_and_words(capsys) -> None:
    arguments = ["--patients", "20", *SMALL[:-1], "--epsilon", "5", "--target", "0.4"]
    assert app.run(["plan", *arguments, "--trust-model", "local", "-q"]) == 0
    text = capsys.readouterr().out
    for words in ("No private value was looked at", "the strongest attacker", "the price of the",
                  "what a correlation of 0.4 needs", "does not help", "left out of",
                  "At epsilon = 5, ", "advantage of at most"):  # fmt: skip
        assert words in text
    assert max(map(len, text.splitlines())) <= 116


def test_columns_outside_the_reference_are_said_plainly(answer, capsys) -> None:
    arguments = ["--patients", "20", "--columns", "12", "--epsilon", "5", "--trust-model", "local"]
    plan = answer(*arguments, "--no-drops")
    assert plan["coverage"]["n_outside"] == 12
    assert app.run(["plan", *arguments, "--no-drops", "-q"]) == 0
    assert "does not cover any of the 12 columns" in " ".join(capsys.readouterr().out.split())


def test_an_assumed_spectrum_covers_every_column(answer) -> None:
    plan = answer("--patients", "20", "--columns", "12", "--decay", "1.5", "--epsilon", "5",
                  "--trust-model", "local", "--no-drops")  # fmt: skip
    assert plan["coverage"]["n_outside"] == 0
    assert "public_basis" in {forecast["form"] for forecast in plan["forecasts"]}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--channels", "19"],
        ["study.toml", "--decay", "1.5"],
        ["--patients", "20", "--compare", "33"],
        ["--patients", "20", "--features", "12"],
        ["--patients", "20", "--features", "beauty"],
        ["--patients", "20", "--columns", "9", "--effect-size", "-1"],
        ["--patients", "20", "--columns", "9", "--target", "2"],
        ["--patients", "20", "--columns", "9", "--epsilon", "-1"],
        ["--patients", "20", "--columns", "9", "--epsilon", "1", "--epsilon", "nan"],
        ["--patients", "20", "--columns", "9", "--delta", "nan"],
        ["--patients", "20", "--columns", "9", "--clip-norm", "-1"],
        ["--patients", "20", "--columns", "9", "--clip-norm", "0"],
        ["nowhere.toml"],
    ],
)
def test_mistakes_end_with_2(answer, arguments) -> None:
    assert answer(*arguments, code=2)["exit_code"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["--compare", "\u00b2x3"],
        ["--compare", "1000000000x1000000000"],
        ["--columns", "1000000"],
        ["--decay", "1e9"],
        ["--figure", "no-such-folder/plan.svg"],
    ],
)
def test_what_cannot_be_is_refused_before_any_work(answer, arguments):
    assert answer("--patients", "20", *SMALL, *arguments, code=2)["error"] == "UsageError"
