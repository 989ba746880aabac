"""The clones of 2021: equal to the sum over all outcomes, rounded up, monotone."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.amplification.clones import clones_delta, clones_epsilon

CASES = [(1, 2.0, 0.5), (2, 1.0, 0.3), (5, 1.0, 0.2), (17, 2.0, 0.9), (60, 1.5, 0.3)]


def by_outcomes(n: int, local: float, epsilon: float) -> mpmath.mpf:
    """Sum of positive parts over all (count, clones), to 50 digits."""
    with mpmath.workdps(50):
        r, w = mpmath.exp(-mpmath.mpf(local)), mpmath.exp(local) / (mpmath.exp(local) + 1)
        grown = mpmath.exp(mpmath.mpf(epsilon))
        total = mpmath.mpf(0)
        for c in range(n):
            weight = mpmath.binomial(n - 1, c) * r**c * (1 - r) ** (n - 1 - c)
            half = mpmath.mpf(2) ** -c
            for a in range(c + 2):
                one = mpmath.binomial(c, a - 1) * half if a else 0
                other = mpmath.binomial(c, a) * half if a <= c else 0
                first, second = w * one + (1 - w) * other, (1 - w) * one + w * other
                total += weight * max(0, first - grown * second)
        return total


@pytest.mark.parametrize(("n", "local", "epsilon"), CASES)
def test_delta_is_the_sum_over_outcomes_rounded_up(n: int, local: float, epsilon: float) -> None:
    exact = by_outcomes(n, local, epsilon)
    bound = clones_delta(epsilon, local, n)
    assert exact <= bound <= exact * (1 + mpmath.mpf("1e-6")) + mpmath.mpf("1e-34")


@pytest.mark.slow
def test_binomial_tails_are_as_accurate_as_the_margin_assumes() -> None:
    """scipy's tails and probabilities against 50 digits, where sums of clones meet them."""
    from scipy.stats import binom

    with mpmath.workdps(50):
        for c, a in ((3, 2), (80, 60), (1000, 560), (20_000, 10_400)):
            count = ways = math.comb(c, a)
            for k in range(a, c):
                ways = ways * (c - k) // (k + 1)
                count += ways
            exact = mpmath.mpf(count) / mpmath.mpf(2) ** c
            assert abs(binom.sf(a - 1, c, 0.5) / exact - 1) < 1e-11
        for n, p in ((1999, math.exp(-3)), (999_999, math.exp(-2))):
            for k in (int(n * p), int(n * p + 5 * math.sqrt(n * p))):
                log_chance = (
                    mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
                    + k * mpmath.log(mpmath.mpf(p)) + (n - k) * mpmath.log1p(-mpmath.mpf(p))
                )  # fmt: skip
                assert abs(binom.pmf(k, n, p) / mpmath.exp(log_chance) - 1) < 5e-10


def test_monotone_in_batch_epsilon_and_local_epsilon() -> None:
    deltas = [clones_delta(0.4, 2.0, n) for n in (1, 2, 5, 20, 200, 2000, 50_000)]
    assert deltas == sorted(deltas, reverse=True)
    deltas = [clones_delta(0.4, local, 300) for local in (0.41, 1.0, 2.0, 4.0, 8.0)]
    assert deltas == sorted(deltas)
    deltas = [clones_delta(epsilon, 2.0, 300) for epsilon in (1e-6, 0.1, 0.5, 1.0, 1.99)]
    assert deltas == sorted(deltas, reverse=True)


@pytest.mark.parametrize(("n", "local"), [(200, 2.0), (2000, 4.0), (10**6, 6.0)])
def test_epsilon_is_the_smallest_that_holds(n: int, local: float) -> None:
    epsilon = clones_epsilon(1e-5, local, n)
    assert clones_delta(epsilon, local, n) <= 1e-5
    assert clones_delta(epsilon * (1 - 1e-4), local, n) > 1e-5


def test_one_row_alone_has_its_local_guarantee() -> None:
    assert clones_epsilon(1e-5, 2.0, 1) == pytest.approx(2.0, rel=1e-4)
    assert clones_delta(2.0, 2.0, 10) == 0.0


def test_local_epsilons_whose_clones_never_occur_are_no_trouble() -> None:
    assert clones_epsilon(1e-5, 1000.0, 2000) == pytest.approx(1000.0, rel=1e-4)
    assert clones_delta(0.5, 1000.0, 2000) == pytest.approx(1.0)
    assert clones_delta(0.5, 300.0, 2000) == pytest.approx(1.0)


def test_half_of_a_coin_by_hand() -> None:
    """n = 2: C = 0 or 1; at epsilon just above 0 the bound is the total variation."""
    local = math.log(3)
    w, r = Fraction(3, 4), Fraction(1, 3)
    alone = 2 * w - 1
    # With one clone the counts are 2:0, 1:1 or 0:2 with 3/8, 1/2, 1/8 and mirrored.
    with_clone = Fraction(3, 8) - Fraction(1, 8)
    exact = (1 - r) * alone + r * with_clone
    assert clones_delta(1e-6, local, 2) == pytest.approx(float(exact), abs=2e-6)


@pytest.mark.parametrize(("epsilon", "local", "n"), [(0.0, 1.0, 5), (0.5, -1.0, 5), (0.5, 1.0, 0)])
def test_impossible_parameters_are_refused(epsilon: float, local: float, n: int) -> None:
    with pytest.raises(ChainError):
        clones_delta(epsilon, local, n)
