import math
from collections.abc import Callable

import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.validate import (
    check_clip_norm,
    check_delta,
    check_delta_for,
    check_dimension,
    check_epsilon,
    check_positive,
    largest_delta,
)

NOT_NUMBERS = [math.nan, math.inf, -math.inf, "1", None, True]


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0.0, -1.0, 1e-7, 1001.0, 2e308])
def test_bad_epsilons_are_refused(value: float) -> None:
    with pytest.raises(ChainError, match=r"privacy\.epsilon"):
        check_epsilon(value)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0.0, -1e-5, 9e-18, 1.0, 2.0])
def test_bad_deltas_are_refused(value: float) -> None:
    with pytest.raises(ChainError, match=r"privacy\.delta"):
        check_delta(value)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0.0, -1.0])
def test_bad_scales_are_refused(value: float) -> None:
    with pytest.raises(ChainError, match="a positive finite number"):
        check_positive(value, "mechanism.noise_scale")


@pytest.mark.parametrize("value", [*NOT_NUMBERS, 0.0, -2.0, 1e-10, 1e10])
def test_bad_clipping_norms_are_refused(value: float) -> None:
    with pytest.raises(ChainError, match=r"privacy\.clip_norm"):
        check_clip_norm(value)


@pytest.mark.parametrize("value", [0, -1, 1.5, 3.0, True, "3"])
def test_bad_dimensions_are_refused(value: int) -> None:
    with pytest.raises(ChainError, match="a whole number"):
        check_dimension(value)


@pytest.mark.parametrize(
    ("check", "value"),
    [(check_epsilon, 1e-6), (check_epsilon, 1000), (check_delta, 1e-17), (check_delta, 0.999)],
)
def test_the_ends_of_the_ranges_are_accepted(check: Callable[[float], float], value: float) -> None:
    assert check(value) == value


@pytest.mark.parametrize(("n", "largest"), [(1, 1e-5), (316, 1e-5), (400, 6.25e-6), (10**6, 1e-12)])
def test_deltas_above_the_default_need_a_reason(n: int, largest: float) -> None:
    """MECHANISMS section 1 and item 7: min(1/n^2, 1e-5)."""
    assert largest_delta(n) == pytest.approx(largest)
    check_delta_for(n, largest_delta(n), None)
    for justification in (None, "", "  "):
        with pytest.raises(ChainError, match="delta_justification"):
            check_delta_for(n, 1.01 * largest, justification)
    check_delta_for(n, 1.01 * largest, "comparison with the paper")


@pytest.mark.parametrize("value", [*NOT_NUMBERS, -1e-9, 1.0])
def test_no_reason_helps_a_delta_that_is_no_probability(value: float) -> None:
    with pytest.raises(ChainError, match="a probability"):
        check_delta_for(10, value, "because")
