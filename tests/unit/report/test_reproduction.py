"""Tables and drawings of a reproduction, from made-up results of every piece."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from neuroveil.evaluate.reproduction import Piece, conclude, pieces_for, simulated_cohort
from neuroveil.evaluate.reproduction.contenders import CONTENDERS
from neuroveil.evaluate.reproduction.printed import EPSILONS
from neuroveil.report.reproduction import reproduction_page, reproduction_text, verdict_counts
from neuroveil.report.reproduction_charts import reproduction_figures
from neuroveil.report.reproduction_grids import Grid, markdown, mechanism_grids, paper_grids
from neuroveil.types.reproduction import Reproduction


def made_up(piece: Piece) -> dict[str, Any]:
    """A result in the form that a piece has."""
    if piece.kind == "classifier":
        counts = {"true_negative": 8, "false_positive": 4, "false_negative": 1, "true_positive": 4}
        pooled = [
            {**counts, "true_negative": 8 - k, "false_positive": 4 + k}
            for k in range(piece.n_draws)
        ]
        return {
            "draws": [
                {"threshold": 0.2, "pooled": each, "honest": counts, "auc": 0.6} for each in pooled
            ]
        }
    assert piece.epsilon is not None
    supported = piece.epsilon * (19.05 if piece.name == "paper_laplace" else 1)
    if piece.kind == "moments":
        return {"covariance_correlation": [0.0, 0.01, 0.02], "epsilon_supported": supported}
    figure = {"mean": 0.01 * piece.epsilon, "low": 0.0, "high": 0.1, "one_draw": 0.02}
    names = ("rmse", "mae", "correlation", "correlation_centred", "snr_db")
    return {"figures": dict.fromkeys(names, figure), "epsilon_supported": supported}


@pytest.fixture(scope="module")
def reproduction() -> Reproduction:
    names = tuple(each.name for each in CONTENDERS)
    pieces = pieces_for(names, EPSILONS, (20, 3), 0)
    return conclude(simulated_cohort(0).facts, {piece: made_up(piece) for piece in pieces})


@pytest.fixture(scope="module")
def figures(reproduction: Reproduction) -> dict[str, str]:
    return reproduction_figures(reproduction)


def test_markdown_has_one_cell_a_column() -> None:
    grid = Grid("name", "Title", ("a", "bb"), (("1", "2"), ("3", "long")), "Before.", ("After.",))
    assert markdown(grid) == (
        "### Title\n\nBefore.\n\n| a | bb   |\n|---|------|\n| 1 | 2    |\n| 3 | long |\n\nAfter.\n"
    )


def test_tables_of_theory_have_no_column_of_draws(reproduction: Reproduction) -> None:
    grids = {grid.name: grid for grid in paper_grids(reproduction)}
    assert "draws" not in grids["table-3"].header
    assert "draws" in grids["table-4"].header
    for grid in grids.values():
        assert {len(row) for row in grid.rows} == {len(grid.header)}


def test_what_has_no_guarantee_says_so(reproduction: Reproduction) -> None:
    grid = mechanism_grids(reproduction)[0]
    guarantees = {row[0]: row[1] for row in grid.rows}
    assert guarantees["Laplace, the paper's scale"] == "none at ε; pure 19.05 ε"
    assert guarantees["PrivUnit"] == "pure ε"
    assert (
        "trusting whoever shuffles" in guarantees["public components + PrivUnit + Wiener, shuffled"]
    )
    assert sum("none" in words for words in guarantees.values()) == 1


def test_releases_without_rows_stand_apart(reproduction: Reproduction) -> None:
    *rows, moments = mechanism_grids(reproduction)
    assert all(len(grid.rows) == len(CONTENDERS) - 1 for grid in rows)
    assert [row[0] for row in moments.rows] == ["mean and covariance"]


def test_every_verdict_is_counted(reproduction: Reproduction) -> None:
    total = sum(len(table.comparisons) for table in reproduction.tables)
    assert sum(verdict_counts(reproduction).values()) == total


@pytest.mark.slow
def test_every_figure_has_a_text_and_names_of_its_own(figures: dict[str, str]) -> None:
    for drawn in figures.values():
        assert re.search(r"<title [^>]*>[^<]+</title><desc [^>]*>[^<]+</desc>", drawn)
    identifiers = re.findall(r'\bid="([^"]+)"', "".join(figures.values()))
    assert len(set(identifiers)) == len(identifiers)


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(
    reproduction: Reproduction, figures: dict[str, str]
) -> None:
    assert reproduction_figures(reproduction) == figures


@pytest.mark.slow
def test_rows_of_real_people_are_marked_internal(
    reproduction: Reproduction, figures: dict[str, str]
) -> None:
    real = replace(reproduction, cohort=replace(reproduction.cohort, is_internal=True))
    assert "INTERNAL - NOT FOR PUBLICATION" in reproduction_page(real, figures)
    assert "INTERNAL" not in reproduction_page(reproduction, figures)
    assert real.to_json()["internal"] is True


@pytest.mark.slow
def test_words_from_elsewhere_are_escaped(
    reproduction: Reproduction, figures: dict[str, str]
) -> None:
    cohort = replace(reproduction.cohort, description="scaled with <script>alert(1)</script>")
    page = reproduction_page(replace(reproduction, cohort=cohort), figures)
    assert "<script" not in page


def test_the_text_has_every_part(reproduction: Reproduction) -> None:
    text = reproduction_text(reproduction)
    for heading in ("Table 1", "Table 7, arithmetic", "Side by side", "Verdicts:"):
        assert heading in text
