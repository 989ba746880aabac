"""Every number in the tables of docs/mathematics.md, computed again.

Each table is found by its first heading and compared, cell by cell, to the digits printed.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from neuroveil.privacy.bounds import ClipL1, ClipL2
from neuroveil.privacy.calibration import gaussian_sigma, laplace_scale

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mathematics.md"
DIMENSION, CLIP_NORM, DELTA = 363, 2.0, 1e-5
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)

L1_SENSITIVITY = ClipL2(CLIP_NORM).sensitivity("replace_one", "l1", DIMENSION)
L2_SENSITIVITY = ClipL2(CLIP_NORM).sensitivity("replace_one", "l2", DIMENSION)


def table(second_heading: str) -> dict[float, list[str]]:
    """Rows of the table whose second heading is given, by their epsilon."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(
        number
        for number, line in enumerate(lines)
        if line.startswith("| ε |") and line.split("|")[2].strip() == second_heading
    )
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        epsilon, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        rows[float(epsilon)] = cells
    assert tuple(rows) == EPSILONS
    return rows


def agrees(printed: str, value: float) -> bool:
    """Whether a printed number is the value, rounded to the digits printed."""
    digits = len(printed.partition(".")[2])
    return abs(float(printed) - value) <= 0.5000001 * 10.0**-digits


def sigma(epsilon: float) -> float:
    """Standard deviation of Gaussian noise at the page's setting."""
    return gaussian_sigma(L2_SENSITIVITY, epsilon, DELTA)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_table(epsilon: float) -> None:
    exact, textbook, proven = table("σ")[epsilon]
    assert agrees(exact, sigma(epsilon))
    assert agrees(textbook, L2_SENSITIVITY * math.sqrt(2 * math.log(1.25 / DELTA)) / epsilon)
    assert (proven == "yes") == (epsilon < 1)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_table(epsilon: float) -> None:
    from_l2, from_l1, paper, real = table("b, rows clipped in L2")[epsilon]
    l1_clipped = ClipL1(CLIP_NORM).sensitivity("replace_one", "l1", DIMENSION)
    assert agrees(from_l2, laplace_scale(L1_SENSITIVITY, epsilon))
    assert agrees(from_l1, laplace_scale(l1_clipped, epsilon))
    assert agrees(paper, 2 * CLIP_NORM / epsilon)
    assert agrees(real, L1_SENSITIVITY / (2 * CLIP_NORM / epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_prediction_table(epsilon: float) -> None:
    rmse, mae, correlation, snr, relative = table("RMSE")[epsilon]
    noise_std, signal = sigma(epsilon), CLIP_NORM**2 / DIMENSION
    assert agrees(rmse, noise_std)
    assert agrees(mae, math.sqrt(2 / math.pi) * noise_std)
    assert agrees(correlation, math.sqrt(signal / (signal + noise_std**2)))
    assert agrees(snr, 10 * math.log10(signal / noise_std**2))
    assert agrees(relative, DIMENSION * noise_std**2 / CLIP_NORM**2)


def test_the_textbook_formula_is_too_small_where_the_page_says_so() -> None:
    too_small = {
        epsilon for epsilon, cells in table("σ").items() if float(cells[1]) < float(cells[0])
    }
    assert too_small == {10.0, 20.0}


def test_sensitivities_in_the_text() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert re.search(r"it is 76\.21 where the first entry is 4\.", text)
    assert agrees("76.21", L1_SENSITIVITY)
    assert L2_SENSITIVITY == 4.0
    assert agrees("19.05", math.sqrt(DIMENSION))
