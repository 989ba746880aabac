"""Epsilon_0 and the number of close codewords, chosen for the guarantee after shuffling."""

from __future__ import annotations

import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.amplification.blanket import blanket_delta
from neuroveil.privacy.amplification.search import safe_crossing
from neuroveil.privacy.amplification.tuning import (
    choose_shuffled_codebook,
    local_epsilon_for,
)
from neuroveil.privacy.codebook.design import CodebookDesign, best_top


@pytest.mark.parametrize(("n", "share"), [(17, 0.2), (200, 0.1), (2000, 0.04)])
def test_local_epsilon_is_the_largest_that_holds(n: int, share: float) -> None:
    local = local_epsilon_for(1.0, 1e-5, share, n)
    assert local > 1.0
    assert blanket_delta(1.0, local, share, n) <= 1e-5
    assert blanket_delta(1.0, local * (1 + 3e-4), share, n) > 1e-5


def test_a_lonely_row_keeps_its_epsilon() -> None:
    assert local_epsilon_for(1.0, 1e-5, 0.2, 1) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 17, 200])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_designs_hold_and_are_no_worse_than_local_ones(n: int, epsilon: float) -> None:
    shuffled = choose_shuffled_codebook(epsilon, 1e-5, n, 30, budget=1 << 13)
    assert shuffled.holds
    assert shuffled.delta_bound <= 1e-5
    local = best_top(epsilon, 30, shuffled.design.size)
    error = shuffled.design.mse_over_clip_norm_squared
    assert error <= local.mse_over_clip_norm_squared


@pytest.mark.slow
def test_no_other_number_of_close_codewords_is_much_better() -> None:
    chosen = choose_shuffled_codebook(1.0, 1e-5, 200, 363).design
    for factor in (0.5, 0.8, 1.25, 2.0):
        top = round(factor * chosen.top)
        local = local_epsilon_for(1.0, 1e-5, top / chosen.size, 200)
        other = CodebookDesign(local, 363, chosen.size, top)
        error = other.mse_over_clip_norm_squared
        assert chosen.mse_over_clip_norm_squared <= 1.001 * error


@pytest.mark.slow
def test_more_rows_help() -> None:
    errors = [
        choose_shuffled_codebook(1.0, 1e-5, n, 50).design.mse_over_clip_norm_squared
        for n in (1, 20, 100, 1000)
    ]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize(
    ("epsilon", "delta", "n", "dimension"),
    [(0.0, 1e-5, 10, 5), (1.0, 0.0, 10, 5), (1.0, 1e-5, 0, 5), (1.0, 1e-5, 10, 0)],
)
def test_impossible_parameters_are_refused(
    epsilon: float, delta: float, n: int, dimension: int
) -> None:
    with pytest.raises(ChainError):
        choose_shuffled_codebook(epsilon, delta, n, dimension)


def test_crossings_are_taken_from_the_safe_side() -> None:
    def line(value: float) -> float:
        return 0.1 * value

    found = safe_crossing(line, safe=0.1, unsafe=9.0, delta=0.5, width=1e-3)
    assert 5 - 2e-3 < found <= 5
    assert safe_crossing(line, safe=0.1, unsafe=4.0, delta=0.5, width=1e-3) == 4.0
    assert safe_crossing(line, safe=5.0, unsafe=9.0, delta=0.5, width=1e-3) == 5.0
