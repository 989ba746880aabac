from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.privacy.exact import exact, exact_down, exp_down, float_down, float_up, sqrt_up

RATIONALS = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)


def test_a_setting_means_the_decimal_that_was_written() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(np.float64(1e-5)) == Fraction(1, 100_000)
    assert exact(3) == 3


@pytest.mark.parametrize("value", [0.1, 0.3, 1.0, 1e-6])
def test_the_smaller_of_decimal_and_double(value: float) -> None:
    assert exact_down(value) <= Fraction(value)
    assert exact_down(value) <= exact(value)
    assert exact_down(value) in {Fraction(value), exact(value)}


@given(RATIONALS)
def test_floats_are_rounded_to_the_side_they_say(value: Fraction) -> None:
    up, down = float_up(value), float_down(value)
    assert Fraction(down) <= value <= Fraction(up)
    assert up == down or np.nextafter(down, np.inf) == up


@given(RATIONALS)
def test_square_roots_are_never_below_and_tight(value: Fraction) -> None:
    root = sqrt_up(value)
    assert root * root >= value
    assert (root - Fraction(1, value.denominator << 127)) ** 2 < value


def test_square_roots_of_squares_are_exact() -> None:
    assert sqrt_up(Fraction(49, 4)) == Fraction(7, 2)
    assert sqrt_up(Fraction(0)) == 0


@pytest.mark.parametrize("exponent", ["0", "1e-6", "0.1", "1", "10", "99.5", "710", "1000"])
def test_the_exponential_is_bounded_from_below_and_tight(exponent: str) -> None:
    with mpmath.workdps(600):
        truth = mpmath.exp(mpmath.mpf(exponent)) * 2**32
        bound = exp_down(Fraction(exponent), 32)
        assert bound <= truth
        assert truth - bound < 1 + truth * mpmath.mpf(2) ** -80
