"""Noise of a plan: figures that are known, and bounds that must hold for every plan."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuroveil.deploy.federated.noise import epsilon_after, mask_terms, noise_terms
from neuroveil.deploy.federated.sampled_noise import smallest_multiplier
from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import Event, epsilon_by_pld, sampled_gaussian_epsilon
from neuroveil.privacy.calibration import gaussian_epsilon


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "z", "steps", "epsilon"), [(0.05, 1.1, 200, 6.18), (0.01, 1.0, 2000, 4.19)]
)
def test_known_epsilon_of_sampled_sums_under_replace_one(q, z, steps, epsilon) -> None:
    """Figures of the mathematics page; z is noise_std / clip_norm, half of it is ours."""
    assert sampled_gaussian_epsilon(z / 2, q, steps, 1e-5) == pytest.approx(epsilon, abs=0.006)


@pytest.mark.slow
@pytest.mark.parametrize(("q", "multiplier"), [(0.3, 0.6), (0.7, 1.5)])
def test_one_sampled_step_matches_the_integral_of_its_dominating_pair(q, multiplier) -> None:
    """(1 - q) N(0, s²) + q N(C, s²) against (1 - q) N(0, s²) + q N(-C, s²), both ways."""
    s = 2 * multiplier  # in clipping norms
    x = np.linspace(-40 * s - 1, 40 * s + 1, 400_001)
    density = lambda centre: np.exp(-(((x - centre) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi))  # noqa: E731
    p = (1 - q) * density(0) + q * density(1)
    r = (1 - q) * density(0) + q * density(-1)
    delta = 1e-5
    found = sampled_gaussian_epsilon(multiplier, q, 1, delta)
    step = x[1] - x[0]
    assert np.maximum(p - math.exp(found) * r, 0).sum() * step <= delta * (1 + 1e-6)
    assert np.maximum(p - math.exp(found - 0.01) * r, 0).sum() * step > delta


def test_a_rate_of_1_is_the_gaussian_mechanism() -> None:
    found = sampled_gaussian_epsilon(2.0, 1.0, 3, 1e-5)
    assert found == pytest.approx(epsilon_by_pld((Event("gaussian", 2.0, 3),), 1e-5), abs=1e-3)


@pytest.mark.parametrize(("rate", "steps"), [(0.0, 1), (1.5, 1), (float("nan"), 1), (0.5, 0)])
def test_sampling_that_is_none_is_refused(rate, steps) -> None:
    with pytest.raises(ChainError):
        sampled_gaussian_epsilon(1.0, rate, steps, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_steps_at_a_hospital_stay_within_epsilon(make_plan, rate) -> None:
    plan = make_plan("dp_sgd", sampling_rate=rate, rounds=3, retries=1, local_steps=2)
    noise = noise_terms(plan)
    assert noise.steps == 8
    spent = sampled_gaussian_epsilon(
        noise.noise_std / 2, rate, noise.steps, plan.delta - noise.delta_slack
    )
    assert 0.97 < spent <= plan.epsilon * (1 + 1e-5)
    assert noise.epsilon <= plan.epsilon
    assert 0 < noise.delta_slack < 1e-3 * plan.delta


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "steps"), [(0.05, 60), (0.01, 300), (0.9, 8)])
def test_the_search_finds_the_smallest_noise_that_the_account_accepts(rate, steps) -> None:
    found = smallest_multiplier(0.5, 1e-5, rate, steps)
    assert sampled_gaussian_epsilon(found, rate, steps, 1e-5) <= 0.5
    assert sampled_gaussian_epsilon(found / 1.002, rate, steps, 1e-5) > 0.5
    assert smallest_multiplier(0.5, 1e-5, rate, steps, 3 * found) == pytest.approx(found, rel=2e-3)
    # Coarser rounding of losses only overestimates.
    coarse = [sampled_gaussian_epsilon(found, rate, steps, 1e-5, h) for h in (1e-3, 1e-2)]
    assert sampled_gaussian_epsilon(found, rate, steps, 1e-5) <= min(coarse)
    with pytest.raises(ChainError, match="interval"):
        sampled_gaussian_epsilon(found, rate, steps, 1e-5, 0.0)


def test_a_rate_at_which_nobody_is_drawn_is_refused() -> None:
    """Delta alone would cover it, with any noise or none: the search would have no end."""
    with pytest.raises(ChainError, match="sampling_rate"):
        smallest_multiplier(1.0, 1e-3, 1e-5, 100)


@pytest.mark.parametrize(("dropouts", "colluding"), [(1, 1), (0, 0), (0, 3), (1, 2)])
def test_shares_of_those_who_are_left_suffice(make_plan, dropouts, colluding) -> None:
    plan = make_plan("distributed", max_dropouts=dropouts, max_colluding=colluding, rounds=4)
    noise = noise_terms(plan)
    left = 5 - dropouts - colluding
    assert noise.share_std * math.sqrt(left) >= noise.noise_std
    sensitivity = 2 * plan.privacy.gradient_norm * math.sqrt(4)
    delta = plan.delta - noise.delta_slack
    assert gaussian_epsilon(sensitivity, noise.noise_std, delta) <= plan.epsilon * (1 + 1e-9)
    # The largest sum of a hospital and 16 standard deviations fit under the modulus.
    largest = 20 * plan.privacy.gradient_norm + 16 * noise.share_std
    assert math.ldexp(largest, -noise.grid_log2) <= mask_terms(plan).clipping_range


def test_noise_of_a_repeated_exchange_is_paid_for(make_plan) -> None:
    stds = [noise_terms(make_plan("distributed", retries=n)).noise_std for n in (0, 2)]
    assert stds[1] == pytest.approx(stds[0] * math.sqrt(2), rel=1e-3)


def test_epsilon_that_is_spent_rises_to_what_was_charged(make_plan) -> None:
    for setting in ("dp_sgd", "distributed"):
        plan = make_plan(setting, rounds=4)
        spent = [epsilon_after(plan, done) for done in range(5)]
        assert spent[0] == 0
        assert spent == sorted(spent)
        assert spent[4] == pytest.approx(plan.epsilon, rel=1e-6)
    assert epsilon_after(make_plan("none"), 3) == 0
    assert epsilon_after(make_plan("local_features"), 1) == 1.0


@pytest.mark.parametrize("n", [3, 5, 6, 20, 63, 64, 65, 1000, 5000])
def test_no_sum_of_all_hospitals_wraps_around_the_modulus(make_plan, n) -> None:
    plan = make_plan(sizes=(4,) * n, secure_aggregation=True, max_dropouts=1, max_colluding=0)
    terms = mask_terms(plan)
    assert n * terms.quantisation_range < terms.modulus
    assert terms.quantisation_range < 2**31  # Flower rounds to 32-bit integers
    assert terms.threshold == n - 1


def test_no_noise_where_training_adds_none(make_plan) -> None:
    assert noise_terms(make_plan("none")) is None
    assert noise_terms(make_plan("local_features")) is None
