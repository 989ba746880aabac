"""Certified bounds from counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neuroveil.audit.mechanism.estimators import (
    clopper_pearson,
    epsilon_bounds,
    epsilon_cap,
    gaussian_trade_off,
    smallest_detectable_epsilon,
)
from neuroveil.privacy.calibration import gaussian_epsilon, gaussian_sigma


@given(n_trials=st.integers(1, 10_000), share=st.floats(0, 1), level=st.floats(0.5, 0.999))
def test_intervals_are_those_of_scipy(n_trials: int, share: float, level: float) -> None:
    hits = int(share * n_trials)
    low, high = clopper_pearson(np.array([float(hits)]), n_trials, level)
    theirs = stats.binomtest(hits, n_trials).proportion_ci(level, method="exact")
    assert (low[0], high[0]) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("n_trials", "cap"), [(1e3, 5.6), (1e4, 7.9), (1e5, 10.2), (1e6, 12.5)])
def test_trials_cap_what_can_be_certified(n_trials: float, cap: float) -> None:
    """Issue 6: the cap that this many trials can certify."""
    assert epsilon_cap(int(n_trials)) == pytest.approx(cap, abs=0.05)


@given(hits=st.integers(0, 500), false_hits=st.integers(0, 500), delta=st.floats(0, 0.1))
def test_no_counts_certify_more_than_the_cap(hits: int, false_hits: int, delta: float) -> None:
    bound = epsilon_bounds(np.array([hits]), np.array([false_hits]), 500, delta)[0]
    assert 0 <= bound <= epsilon_cap(500, delta)


def test_a_bound_covers_the_truth_as_often_as_stated() -> None:
    """Randomised response at epsilon 1, 2,000 runs, fixed seed: at most 5 % of bounds above."""
    generator = np.random.default_rng(3)
    truth, n_trials = 1.0, 400
    chance = math.exp(truth) / (1 + math.exp(truth))
    hits = generator.binomial(n_trials, chance, 2000).astype(float)
    false_hits = generator.binomial(n_trials, 1 - chance, 2000).astype(float)
    too_high = epsilon_bounds(hits, false_hits, n_trials, 0.0) > truth
    assert too_high.mean() <= 0.05
    assert epsilon_bounds(hits, false_hits, n_trials, 0.0).mean() > 0.6  # and it is not empty


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0, 20.0])
def test_the_trade_off_of_gaussian_noise_gives_its_epsilon_back(epsilon: float) -> None:
    """Balle and Wang 2018, Theorem 8, from its event by event form."""
    mu = 4.0 / gaussian_sigma(4.0, epsilon, 1e-5)
    assert gaussian_trade_off(mu).epsilon(1e-5) == pytest.approx(epsilon, rel=1e-6)


def test_more_trials_see_smaller_effects() -> None:
    found = [smallest_detectable_epsilon(1.0, 1e-5, n) for n in (10**3, 10**4, 10**5, 10**6)]
    assert found == sorted(found, reverse=True)
    assert found[-1] > 1.0


def test_what_is_called_detectable_would_be_detected() -> None:
    """The Gaussian mechanism at that epsilon certifies just more than the claim."""
    detectable = smallest_detectable_epsilon(2.0, 1e-5, 50_000)
    mu = 1 / gaussian_sigma(1.0, detectable, 1e-5)
    assert gaussian_epsilon(mu, 1.0, 1e-5) == pytest.approx(detectable)
    assert gaussian_trade_off(mu).oracle(50_000, 1e-5) == pytest.approx(2.0, abs=0.01)


def test_nothing_is_detectable_above_the_cap() -> None:
    assert smallest_detectable_epsilon(6.0, 0.0, 1000) == math.inf
