"""docs/reproduction.md says what docs/measured says, and that is what the code gives.

The measured files are too slow to make again here; some of their cells are computed anew with
their seeds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from neuroveil.evaluate.reproduction import Piece, do_piece, simulated_cohort

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = "privunit_public"


@cache
def measured(cohort: str) -> dict[str, Any]:
    """Figures of one cohort."""
    file = ROOT / "docs" / "measured" / f"reproduction_{cohort}.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))["figures"])


def figures(cohort: str, name: str) -> list[dict[str, Any]]:
    """Figures of one mechanism by rising epsilon."""
    found = [each for each in measured(cohort)["mechanisms"] if each["name"] == name]
    return sorted(found, key=lambda each: each["epsilon"])


def means(cohort: str, name: str, quantity: str) -> list[float]:
    """Means of one figure by rising epsilon."""
    return [each[quantity]["mean"] for each in figures(cohort, name)]


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_reproduction.py"), "--check"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("gaussian", 1.0), ("paper_laplace", 20.0), ("laplace", 5.0), ("gaussian_public", 10.0),
     (PUBLIC, 5.0), (PUBLIC, 10.0)],
)  # fmt: skip
def test_cells_come_out_again(name: str, epsilon: float) -> None:
    """Same seed, same draws; the last digits may depend on the processor."""
    printed = next(each for each in figures("simulated", name) if each["epsilon"] == epsilon)
    seed = measured("simulated")["seed"]
    piece = Piece("rows", name, epsilon, 0, printed["n_draws"], seed)
    found = do_piece(simulated_cohort(seed), piece)
    for quantity in ("rmse", "mae", "correlation", "correlation_centred", "snr_db"):
        assert found["figures"][quantity]["mean"] == pytest.approx(
            printed[quantity]["mean"], rel=1e-6, abs=1e-9
        )
    assert found["epsilon_supported"] == pytest.approx(printed["epsilon_supported"], rel=1e-12)


@pytest.mark.parametrize("cohort", ["simulated", "eegmat"])
def test_every_guarantee_holds_but_that_of_the_papers_laplace(cohort: str) -> None:
    d = measured(cohort)["cohort"]["n_features"]
    for each in measured(cohort)["mechanisms"]:
        if each["name"] == "paper_laplace":
            assert each["epsilon_supported"] == pytest.approx(d**0.5 * each["epsilon"], rel=1e-9)
        else:
            assert each["epsilon_supported"] <= each["epsilon"]


def test_what_the_page_says_of_real_people() -> None:
    """At ε = 2 and above, public components with PrivUnit leave several times more."""
    paper, ours = (means("eegmat", name, "correlation_centred") for name in ("gaussian", PUBLIC))
    assert all(more > 5 * less for more, less in zip(ours[2:], paper[2:], strict=True))
    assert ours[3] > 0.4  # at ε = 5
    assert max(ours[:1]) < 0.2  # at ε = 0.5: of no use for one patient


def test_the_best_case_is_better_than_real_people() -> None:
    best, real = (means(cohort, PUBLIC, "correlation")[-1] for cohort in ("simulated", "eegmat"))
    assert best > real


def test_the_public_knowledge_is_not_the_whole_gain() -> None:
    """With the same public components and the paper's noise, less is left."""
    for cohort in ("simulated", "eegmat"):
        with_gaussian = means(cohort, "gaussian_public", "correlation")
        assert all(
            more > less
            for more, less in zip(
                means(cohort, PUBLIC, "correlation")[2:], with_gaussian[2:], strict=True
            )
        )


def test_all_printed_numbers_of_noise_are_inside_the_band() -> None:
    for table in measured("simulated")["tables"][2:4]:
        assert {each["verdict"] for each in table["comparisons"]} == {"inside_band"}
