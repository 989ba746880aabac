"""Sizes of a codebook, and the probability that never exceeds its bound."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.codebook.caps import sphere_mse
from neuroveil.privacy.codebook.design import (
    DEFAULT_BUDGET,
    PROBABILITY_BITS,
    SMALLEST_CODEBOOK,
    CodebookDesign,
    affordable_codewords,
    best_top,
    choose_codebook,
    top_probability,
)

EPSILONS = [1e-6, 0.1, 0.5, 1.0, 5.0, 20.0, 40.0, 88.0, 100.0, 710.0, 1000.0]
SIZES = [(2, 1), (4096, 3), (4096, 1416), (1 << 19, 1), (1 << 24, 1 << 23)]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("size", "top"), SIZES)
def test_probability_is_rounded_down_and_by_next_to_nothing(
    epsilon: float, size: int, top: int
) -> None:
    with mpmath.workdps(600):
        grown = mpmath.exp(mpmath.mpf(epsilon)) * top
        exact = grown / (grown + size - top) * mpmath.mpf(2) ** PROBABILITY_BITS
        threshold = top_probability(epsilon, size, top)
        assert threshold <= exact
        # The smaller of 1/10 and its double is taken: they differ in the 53rd bit.
        assert exact - threshold < 2 + exact * mpmath.mpf(2) ** -52
    assert 1 <= threshold <= 2**PROBABILITY_BITS - 1


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("size", "top"), SIZES)
def test_likelihood_ratio_is_at_most_e_to_the_epsilon(epsilon: float, size: int, top: int) -> None:
    ratio = CodebookDesign(epsilon, 5, size, top).likelihood_ratio
    assert ratio >= 1
    with mpmath.workdps(600):
        assert mpmath.mpf(ratio.numerator) / ratio.denominator <= mpmath.exp(mpmath.mpf(epsilon))


def test_the_decimal_that_is_charged_bounds_the_ratio_too() -> None:
    """0.1 as a double is above 1/10; the ratio stays below e^(1/10)."""
    ratio = CodebookDesign(0.1, 5, 4096, 1000).likelihood_ratio
    with mpmath.workdps(60):
        assert mpmath.mpf(ratio.numerator) / ratio.denominator <= mpmath.exp(mpmath.mpf(1) / 10)


@pytest.mark.parametrize(("top", "excess"), [(3, 0.004), (1416, math.inf)])
def test_a_floating_point_probability_would_break_the_bound(top: int, excess: float) -> None:
    """At epsilon = 40 a double is 0.4 % too large at K = 3, and 1 at K = 1416."""
    grown = math.exp(40.0) * top
    p = grown / (grown + 4096 - top)
    others = 1 - Fraction(p)
    ratio = Fraction(p) * (4096 - top) / (others * top) if others else math.inf
    assert float(ratio / math.exp(40)) - 1 == pytest.approx(excess, rel=0.1)
    assert CodebookDesign(40.0, 363, 4096, top).likelihood_ratio <= Fraction(math.exp(40.0)) * (
        1 + Fraction(1, 1 << 50)
    )


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 10.0])
def test_best_number_of_close_codewords_beats_its_neighbours(epsilon: float) -> None:
    best = best_top(epsilon, 50, 4096)
    for top in {max(1, best.top - 1), best.top + 1, min(2 * best.top, 2048), max(1, best.top // 2)}:
        other = CodebookDesign(epsilon, 50, 4096, top).mse_over_clip_norm_squared
        # The search is as fine as a thousandth of log K: its error is second order in that.
        assert best.mse_over_clip_norm_squared <= other * (1 + 1e-5)


def test_codebooks_grow_with_epsilon_until_the_budget() -> None:
    designs = [choose_codebook(epsilon, 363) for epsilon in (1.0, 5.0, 8.0, 10.0, 20.0)]
    sizes = [design.size for design in designs]
    assert sizes == sorted(sizes)
    assert sizes[0] == SMALLEST_CODEBOOK
    assert sizes[-1] == DEFAULT_BUDGET
    for design in designs[:-1]:
        error = design.mse_over_clip_norm_squared
        assert error <= 1.01 * sphere_mse(design.epsilon, 363)
        assert design.bias_over_clip_norm_squared <= 0.05 * error


def test_a_budget_is_kept() -> None:
    assert choose_codebook(20.0, 363, budget=10_000).size == 8192
    for budget in (0, 4095, 1 << 31):
        with pytest.raises(ChainError, match="budget"):
            choose_codebook(1.0, 363, budget=budget)


@pytest.mark.parametrize("dimension", [1, 2, 704])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1000.0])
def test_every_range_has_a_design(epsilon: float, dimension: int) -> None:
    design = choose_codebook(epsilon, dimension, budget=1 << 14)
    assert 0 < design.alignment <= 1
    assert 1 <= design.top <= design.size // 2
    assert math.isfinite(design.mse_over_clip_norm_squared)


def test_large_tables_get_smaller_codebooks() -> None:
    assert affordable_codewords(17, 363) == DEFAULT_BUDGET
    assert affordable_codewords(10_000, 704) == 1 << 17
    assert affordable_codewords(10**7, 704) == SMALLEST_CODEBOOK


@pytest.mark.parametrize(
    ("epsilon", "dimension", "size", "top"),
    [
        (float("nan"), 5, 100, 10), (0.0, 5, 100, 10), (1.0, 0, 100, 10), (1.0, 5, 1, 1),
        (1.0, 5, 100, 0), (1.0, 5, 100, 51), (1.0, 5, 1 << 31, 1),
    ],
)  # fmt: skip
def test_impossible_designs_are_refused(
    epsilon: float, dimension: int, size: int, top: int
) -> None:
    with pytest.raises(ChainError):
        CodebookDesign(epsilon, dimension, size, top)
