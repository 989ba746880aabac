"""The Gaussian estimator and the test that stands before it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from neuroveil.audit.mechanism.gaussian_dp import gaussian_estimate
from neuroveil.privacy.calibration import gaussian_epsilon


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.2, 1.0, 5.0])
def test_intervals_cover_as_often_as_stated(mu: float) -> None:
    """400 runs, fixed seed; 95 % give or take 4 standard errors."""
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        found = gaussian_estimate(
            generator.normal(mu, 2, 60) * 3, generator.normal(0, 2, 60) * 3, 1e-5
        )
        assert found is not None
        covered += found.mu_low <= mu / 2 <= found.mu_high
    assert covered == pytest.approx(380, abs=18)


def test_ends_are_those_of_the_noncentral_t_law() -> None:
    generator = np.random.default_rng(2)
    found = gaussian_estimate(generator.normal(1.5, 1, 80), generator.normal(0, 1, 80), 1e-5)
    assert found is not None
    unit, freedom = np.sqrt(40), 158
    exact = [
        stats.nct.cdf(found.mu * unit, freedom, end * unit) for end in (found.mu_low, found.mu_high)
    ]
    assert exact == pytest.approx([0.975, 0.025], abs=1e-3)


def test_epsilon_is_that_of_mu() -> None:
    generator = np.random.default_rng(3)
    found = gaussian_estimate(generator.normal(1, 1, 9000), generator.normal(0, 1, 9000), 1e-5)
    assert found is not None
    assert found.fits
    assert found.epsilon == pytest.approx(gaussian_epsilon(found.mu, 1.0, 1e-5))
    assert found.epsilon_low < gaussian_epsilon(1.0, 1.0, 1e-5) < found.epsilon_high


def test_scores_that_are_not_normal_are_refused() -> None:
    generator = np.random.default_rng(4)
    normal, other = generator.normal(size=(2, 5000))
    for first, second in (
        (generator.laplace(size=5000), normal),
        (normal, generator.laplace(size=5000)),
        (1.2 * normal, other),
        (np.sign(normal), np.sign(other)),
        (generator.standard_t(5, 5000), generator.standard_t(5, 5000)),
    ):
        found = gaussian_estimate(first, second, 1e-5)
        assert found is not None
        assert not found.fits


def test_scores_in_the_wrong_order_give_zero() -> None:
    generator = np.random.default_rng(5)
    found = gaussian_estimate(generator.normal(-1, 1, 500), generator.normal(0, 1, 500), 1e-5)
    assert found is not None
    assert (found.mu, found.mu_low, found.epsilon) == (0.0, 0.0, 0.0)


def test_scores_without_spread_or_number_have_no_estimate() -> None:
    assert gaussian_estimate(np.ones(500), np.zeros(500), 1e-5) is None
    assert gaussian_estimate(np.arange(10.0), np.arange(10.0), 1e-5) is None


def test_nulls_raise_no_alarm_more_often_than_stated() -> None:
    """200 nulls, fixed seed: at most 21, the 99.9 % point of a true 5 %."""
    generator = np.random.default_rng(6)
    found = [gaussian_estimate(*generator.normal(size=(2, 1000)), 1e-5) for _ in range(200)]
    alarms = sum(each is not None and each.fits and each.mu_low > 0 for each in found)
    assert 0 < alarms <= 21
