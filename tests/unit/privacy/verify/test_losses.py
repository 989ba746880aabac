"""Composed losses against closed forms, enumeration and dp-accounting."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuroveil.privacy.verify import losses
from neuroveil.privacy.verify.losses import Events, composed_epsilon, gaussian_delta


@pytest.mark.parametrize("mu", [0.02, 0.5, 1.0, 7.0, 40.0])
@pytest.mark.parametrize("epsilon", [-30.0, -1.0, 0.0, 0.3, 5.0, 40.0, 300.0])
def test_gaussian_profile_to_50_digits(mu: float, epsilon: float) -> None:
    with mpmath.workdps(50):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert gaussian_delta(epsilon, mu) == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


def test_profile_of_nothing() -> None:
    assert gaussian_delta(0.5, 0.0) == 0
    assert gaussian_delta(-0.5, 0.0) == pytest.approx(1 - math.exp(-0.5))
    assert gaussian_delta(-1000.0, 0.0) == 1


def delta_by_enumeration(pure: list[float], epsilon: float) -> float:
    total = 0.0
    for signs in product((1, -1), repeat=len(pure)):
        chance = math.prod(
            1 / (1 + math.exp(-sign * e)) for sign, e in zip(signs, pure, strict=True)
        )
        loss = sum(sign * e for sign, e in zip(signs, pure, strict=True))
        total += chance * max(0.0, -math.expm1(epsilon - loss))
    return total


@settings(max_examples=40)
@given(st.lists(st.floats(0.01, 3), min_size=1, max_size=7), st.sampled_from([1e-3, 1e-6, 1e-10]))
def test_pure_events_by_enumeration(pure: list[float], delta: float) -> None:
    found = composed_epsilon(Events(pure=pure), delta)
    assert delta_by_enumeration(pure, found) <= delta * (1 + 1e-9)
    assert found <= sum(pure) * (1 + 1e-6)
    if found > 1e-6:
        assert delta_by_enumeration(pure, found * (1 - 1e-5)) > delta * (1 - 1e-6)


def test_equal_and_almost_equal_events_agree() -> None:
    """Grouped by equal epsilon, or summed on a grid: the same to five digits."""
    equal = composed_epsilon(Events(pure=[0.1] * 30), 1e-6)
    spread = composed_epsilon(Events(pure=[0.1 + 1e-7 * i for i in range(30)]), 1e-6)
    assert spread == pytest.approx(equal, rel=3e-5)


def test_gaussians_add_up_in_squares() -> None:
    together = composed_epsilon(Events(multipliers=[3.0, 4.0]), 1e-5)
    assert together == pytest.approx(composed_epsilon(Events(multipliers=[2.4]), 1e-5), rel=1e-6)


def test_a_delta_beside_is_paid_in_full() -> None:
    assert composed_epsilon(Events(pure=[1.0], deltas=[2e-5]), 1e-5) == math.inf
    assert composed_epsilon(Events(pure=[1.0], deltas=[9e-6]), 1e-5) <= 1.0
    assert composed_epsilon(Events(deltas=[1.0]), 0.5) == math.inf


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pure", "multipliers", "delta"),
    [([1.0, 2.0, 0.5, 0.1], [3.7], 1e-5), ([0.1] * 40, [], 1e-6),
     ([0.3 + 0.01 * i for i in range(15)], [10.0, 5.0], 1e-7)],
)  # fmt: skip
def test_dp_accounting_agrees(pure: list[float], multipliers: list[float], delta: float) -> None:
    from dp_accounting.pld import common, privacy_loss_distribution

    parts: list[Any] = [
        privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0)
        )
        for epsilon in pure
    ]
    parts += [privacy_loss_distribution.from_gaussian_mechanism(z) for z in multipliers]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    found = composed_epsilon(Events(pure, [], multipliers), delta)
    assert found == pytest.approx(whole.get_epsilon_for_delta(delta), rel=1e-3, abs=1e-3)


def test_gathering_only_raises_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    pure = [0.11 * i for i in range(1, 12)]
    exact = composed_epsilon(Events(pure=pure), 1e-6)
    monkeypatch.setattr(losses, "_MOST_SUMS", 300)
    coarse = composed_epsilon(Events(pure=pure), 1e-6)
    assert exact <= coarse <= 1.02 * exact
