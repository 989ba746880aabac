"""The price of integers, against exact sums over the discrete distributions."""

import math

import mpmath
import pytest

from neuroveil.privacy.bounds import ClipL2
from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.privacy.integer_noise import calibrate_gaussian, discrete_slack

CLIP = ClipL2(2.0)


def discrete(scale: float, reach: int) -> list[mpmath.mpf]:
    """P(X = k) of the discrete Gaussian for k = -reach .. reach."""
    weights = [mpmath.exp(-mpmath.mpf(k) ** 2 / (2 * mpmath.mpf(scale) ** 2))
               for k in range(-reach, reach + 1)]  # fmt: skip
    total = mpmath.fsum(weights)
    return [weight / total for weight in weights]


def rounded(scale: float, reach: int) -> list[mpmath.mpf]:
    """P(Y = k) of the rounded continuous Gaussian for k = -reach .. reach."""
    half = mpmath.mpf(1) / 2
    return [mpmath.ncdf((k + half) / scale) - mpmath.ncdf((k - half) / scale)
            for k in range(-reach, reach + 1)]  # fmt: skip


@pytest.mark.parametrize("scale", [0.7, 1.0, 2.0, 5.0])
class TestSlackAgainstExactSums:
    """The inequalities of MECHANISMS section 3, item 4, on the distributions themselves."""

    REACH = 40

    def test_discrete_is_at_most_e_to_the_slack_times_rounded(self, scale: float) -> None:
        with mpmath.workdps(50):
            bound = mpmath.exp(1 / (24 * mpmath.mpf(scale) ** 2))
            pairs = zip(discrete(scale, self.REACH), rounded(scale, self.REACH), strict=True)
            assert all(x <= bound * y for x, y in pairs if y > 1e-40)

    def test_total_variation_is_at_most_the_slack(self, scale: float) -> None:
        with mpmath.workdps(50):
            pairs = zip(discrete(scale, self.REACH), rounded(scale, self.REACH), strict=True)
            distance = mpmath.fsum(max(x - y, 0) for x, y in pairs)
            assert distance <= 1 / (24 * mpmath.mpf(scale) ** 2)

    def test_rounded_is_bounded_by_discrete_in_the_other_direction(self, scale: float) -> None:
        with mpmath.workdps(50):
            s = mpmath.mpf(scale)
            normaliser = 3 * mpmath.exp(-2 * mpmath.pi**2 * s**2)
            reach = range(-self.REACH, self.REACH + 1)
            rows = zip(reach, discrete(scale, self.REACH), rounded(scale, self.REACH), strict=True)
            for k, x, y in rows:
                assert y <= x * mpmath.exp(k**2 / (24 * s**4) + normaliser) + mpmath.mpf(10) ** -45


def test_the_simple_slack_is_the_formula_rounded_up() -> None:
    scale = math.ldexp(14.92252654, 40)
    slack = discrete_slack(scale, 1.0, 1e-5, 363)
    formula = (1 + math.e) * 363 / (24 * scale**2)
    assert formula <= slack.delta <= formula * (1 + 1e-11)
    assert slack.epsilon == 0
    assert slack.epsilon_calibrated == 1.0
    assert slack.delta_calibrated < 1e-5
    assert slack.delta_calibrated == pytest.approx(1e-5, rel=1e-15, abs=0)


@pytest.mark.parametrize("epsilon", [41.0, 100.0, 800.0, 1000.0])
def test_the_second_slack_takes_over_at_large_epsilon(epsilon: float) -> None:
    scale, d, delta = 2.0**36, 363, 1e-5
    slack = discrete_slack(scale, epsilon, delta, d)
    x = epsilon + 100
    ball = d + 2 * math.sqrt(d * x) + 2 * x
    assert slack.epsilon == pytest.approx((d + ball) / (24 * scale**2), rel=1e-9, abs=0)
    assert delta * d / (24 * scale**2) + math.exp(-99) <= slack.delta < 1e-20
    assert slack.epsilon_calibrated < epsilon
    assert slack.delta_calibrated < delta


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 20.0, 34.0, 41.0, 100.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-17, 1e-9, 1e-5, 0.1])
def test_noise_is_enough_for_what_the_slack_leaves(epsilon: float, delta: float) -> None:
    calibration = calibrate_gaussian(CLIP, 4.0, epsilon, delta, 363)
    slack = calibration.slack
    scale = math.ldexp(calibration.noise_scale, -calibration.grid_log2)
    assert scale <= 2.0**57
    assert slack == discrete_slack(scale, epsilon, delta, 363)
    # What is left is safely inside the range of the calibration, or a rounding below its end.
    left = max(slack.epsilon_calibrated, 1e-6), max(slack.delta_calibrated, 1e-17)
    needed = gaussian_sigma(4.0, *left)
    assert needed * (1 - 1e-12) <= calibration.noise_scale <= needed * 1.001


def test_the_slack_leaves_the_table_of_sigmas_alone() -> None:
    calibration = calibrate_gaussian(CLIP, 4.0, 1.0, 1e-5, 363)
    assert calibration.noise_scale == pytest.approx(gaussian_sigma(4.0, 1.0, 1e-5), rel=1e-13)
    assert calibration.grid_log2 == -40
