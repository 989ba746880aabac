"""The exponential mechanism in whole numbers: exact ratios and an exact choice."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate, pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neuroveil.privacy.central.exponential import UNIFORM_BITS, choose, step_weights
from neuroveil.privacy.sampling import SystemRandomness

EPSILONS = [1e-12, 1e-6, 0.0183, 0.5, 1.0, 20.0, 1000.0]


def exact_probabilities(steps: list[int], weights: list[int]) -> list[Fraction]:
    """Share of the uniform numbers that lead to each candidate, by bisection on `choose`."""

    def first_above(candidate: int) -> int:
        low, high = 0, 1 << UNIFORM_BITS
        while low < high:
            middle = (low + high) // 2
            if choose(steps, weights, middle) > candidate:
                high = middle
            else:
                low = middle + 1
        return low

    edges = [0, *(first_above(candidate) for candidate in range(len(steps)))]
    scale = 1 << UNIFORM_BITS
    return [Fraction(high - low, scale) for low, high in pairwise(edges)]


def e_to_the(epsilon: float) -> Fraction:
    """A lower bound of e^epsilon, from 150 digits."""
    with mpmath.workdps(150):
        digits = mpmath.floor(mpmath.exp(mpmath.mpf(epsilon)) * mpmath.mpf(10) ** 100)
        return Fraction(int(digits), 10**100)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_weights_fall_by_at_most_e_to_half_epsilon_a_step(epsilon: float) -> None:
    weights = step_weights(epsilon, 400)
    limit = e_to_the(epsilon / 2)
    for near, far in pairwise(weights):
        assert near >= far >= 1
        assert near <= limit * far


@pytest.mark.parametrize("epsilon", [0.0183, 0.5, 1.0])
def test_weights_fall_as_fast_as_they_may(epsilon: float) -> None:
    weights = step_weights(epsilon, 60)
    expected = [float(mpmath.exp(-epsilon * k / 2)) for k in range(61)]
    assert [weight / 2**128 for weight in weights] == pytest.approx(expected, rel=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(-1, 1)), min_size=1, max_size=6),
    st.sampled_from(EPSILONS),
)
def test_neighbours_give_every_candidate_nearly_the_same_chance(
    steps: list[tuple[int, int]], epsilon: float
) -> None:
    """Steps that differ by at most 1: ratios within e^epsilon, and within a range of epsilon."""
    weights = step_weights(epsilon, 31)
    first = exact_probabilities([step for step, _ in steps], weights)
    second = exact_probabilities([max(0, step + change) for step, change in steps], weights)
    limit = e_to_the(epsilon)
    ratios = [p / q for p, q in zip(first, second, strict=True)]
    assert sum(first) == sum(second) == 1
    assert max(ratios) <= limit
    assert 1 / min(ratios) <= limit
    assert max(ratios) / min(ratios) <= limit


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_a_choice_follows_the_cumulative_weights(steps: list[int], data: st.DataObject) -> None:
    """Anywhere, and on both sides of every border between two candidates."""
    weights = step_weights(0.7, 9)
    cumulative = list(accumulate(weights[step] for step in steps))
    edges = [(edge << UNIFORM_BITS) // cumulative[-1] for edge in cumulative]
    anywhere = data.draw(st.integers(0, 2**UNIFORM_BITS - 1))
    for uniform in (0, anywhere, *(edge - 1 for edge in edges), *edges[:-1]):
        assert choose(steps, weights, uniform) == bisect_left(edges, uniform + 1)


def test_draws_follow_the_weights() -> None:
    """Draws of the operating system. False alarms: below 1e-7."""
    steps, source = [0, 1, 5, 2, 0, 9], SystemRandomness()
    weights = step_weights(1.0, 9)
    chosen = [choose(steps, weights, source.below(1 << UNIFORM_BITS)) for _ in range(20_000)]
    share = np.exp(-0.5 * np.array(steps))
    expected = 20_000 * share / share.sum()
    assert stats.chisquare(np.bincount(chosen, minlength=6), expected).pvalue > 1e-7
