"""The verifier's own numbers against mpmath, and against the figures of the literature."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from neuroveil.privacy.verify import arithmetic


def as_mpf(value: Decimal) -> Any:
    return mpmath.mpf(str(value))


def exact_profile(epsilon: Decimal, sigma: Decimal, sensitivity: Decimal) -> Any:
    """Balle & Wang 2018, Theorem 8, in mpmath's current precision."""
    e, s, d = as_mpf(epsilon), as_mpf(sigma), as_mpf(sensitivity)
    half, slope = d / (2 * s), e * s / d
    return mpmath.ncdf(half - slope) - mpmath.exp(e) * mpmath.ncdf(-half - slope)


@pytest.mark.parametrize(
    "x", ["0", "1e-30", "0.4", "1", "2.5", "4.999", "5", "5.001", "9", "40", "3000", "9e5"]
)
def test_erfc_abramowitz_stegun_7_1(x: str) -> None:
    with mpmath.workdps(200):
        right = mpmath.erfc(mpmath.mpf(x))
        assert abs(as_mpf(arithmetic.erfc(Decimal(x))) / right - 1) < mpmath.mpf("1e-80")


def test_erfc_is_zero_where_no_guarantee_can_depend_on_it() -> None:
    assert arithmetic.erfc(Decimal("1e7")) == 0


@pytest.mark.parametrize("z", ["-38.5", "-1", "0", "0.7", "12"])
def test_normal_cdf(z: str) -> None:
    with mpmath.workdps(150):
        right = mpmath.ncdf(mpmath.mpf(z))
        assert abs(as_mpf(arithmetic.normal_cdf(Decimal(z))) / right - 1) < mpmath.mpf("1e-80")


def test_pi() -> None:
    with mpmath.workdps(130):
        assert abs(as_mpf(arithmetic.pi()) - mpmath.pi) < mpmath.mpf("1e-110")


@pytest.mark.parametrize("epsilon", ["1e-6", "0.001", "0.5", "1", "20", "41", "1000"])
@pytest.mark.parametrize("delta", ["0.1", "1e-5", "1e-17"])
def test_smallest_sigma_theorem_8(epsilon: str, delta: str) -> None:
    """The found sigma meets delta, and 1e-18 less does not."""
    e, d, sensitivity = Decimal(epsilon), Decimal(delta), Decimal(4)
    sigma = arithmetic.smallest_sigma(e, d, sensitivity)
    with mpmath.workdps(300), arithmetic.precise():
        assert exact_profile(e, sigma, sensitivity) <= as_mpf(d)
        assert exact_profile(e, sigma * (1 - Decimal("1e-18")), sensitivity) > as_mpf(d)


@pytest.mark.parametrize(
    ("epsilon", "sigma"),
    [
        ("0.5", "28.12730670"), ("1", "14.92252654"), ("2", "7.97524978"),
        ("5", "3.56747306"), ("10", "1.99955448"), ("20", "1.16016567"),
    ],
)  # fmt: skip
def test_sigma_of_the_papers_table_3(epsilon: str, sigma: str) -> None:
    found = arithmetic.smallest_sigma(Decimal(epsilon), Decimal("1e-5"), Decimal(4))
    assert round(found, 8) == Decimal(sigma)


@pytest.mark.parametrize("epsilon", ["1e-6", "0.3", "7", "1000"])
def test_smallest_epsilon_is_the_inverse(epsilon: str) -> None:
    e, d, sensitivity = Decimal(epsilon), Decimal("1e-9"), Decimal(3)
    sigma = arithmetic.smallest_sigma(e, d, sensitivity)
    found = arithmetic.smallest_epsilon(d, sigma, sensitivity)
    assert abs(found / e - 1) < Decimal("1e-15")


def test_smallest_epsilon_ends_for_no_noise_and_for_all_noise() -> None:
    assert arithmetic.smallest_epsilon(Decimal("1e-5"), Decimal("1e-200"), Decimal(1)).is_infinite()
    assert arithmetic.smallest_epsilon(Decimal("1e-5"), Decimal("1e200"), Decimal(1)) == 0


@pytest.mark.parametrize("sigma", ["1e-300", "1e-10", "1e10", "1e300"])
def test_profile_of_absurd_noise_is_a_probability(sigma: str) -> None:
    assert 0 <= arithmetic.delta_analytic(Decimal(1), Decimal(sigma), Decimal(4)) <= 1


def test_square_root_is_exact_to_the_working_precision() -> None:
    with arithmetic.precise():
        root = arithmetic.square_root(Fraction(363 * 16))
        assert abs(root * root - 363 * 16) < Decimal("1e-100")


def test_slack_by_total_variation_section_3() -> None:
    """1e-14 at epsilon = 20 on the grid 2^-40; more than 1e-5 from about 41 on."""
    steps = Decimal(2) ** 40

    def slack(epsilon: int, sigma: str) -> Decimal:
        scale = Decimal(sigma) * steps
        return arithmetic.slack_by_total_variation(Decimal(epsilon), 363, scale)

    assert Decimal("1e-15") < slack(20, "1.16016567") < Decimal("1e-14")
    assert slack(40, "0.7") < Decimal("1e-5") < slack(42, "0.7")


@pytest.mark.parametrize("epsilon", ["1", "50", "1000"])
def test_slack_by_likelihood_ratio_against_mpmath(epsilon: str) -> None:
    e, delta, d, scale = Decimal(epsilon), Decimal("1e-5"), 363, Decimal(3) * 2**30
    with mpmath.workdps(200):
        kappa = mpmath.mpf(d) / (24 * as_mpf(scale) ** 2)
        right = as_mpf(delta) - (mpmath.exp(-kappa) * as_mpf(delta) - mpmath.exp(-99))
        found = as_mpf(arithmetic.slack_by_likelihood_ratio(delta, d, scale))
        assert abs(found / right - 1) < mpmath.mpf("1e-60")
        x = as_mpf(e) + 100
        bound = d + 2 * mpmath.sqrt(d * x) + 2 * x
        shift = (d + bound) / (24 * as_mpf(scale) ** 2)
        assert abs(as_mpf(arithmetic.epsilon_shift(e, d, scale)) / shift - 1) < mpmath.mpf("1e-60")


@pytest.mark.parametrize(
    ("d", "scale", "applies"),
    [
        (1, 1100, True),
        (363, 2**20, True),
        (10**6, 2**20, True),
        (363, 60, False),
        (10**6, 1100, False),
    ],
)
def test_second_proof_covers_rounded_noise_on_fine_grids(d: int, scale: int, applies: bool) -> None:
    """Rounding the noise moves its norm by sqrt(d)/2 steps; e^-(epsilon + 99) has to cover it."""
    for epsilon in ("0.01", "1", "1000"):
        found = arithmetic.second_proof_applies(Decimal(epsilon), d, Decimal(scale))
        with mpmath.workdps(60):
            x, y = mpmath.mpf(epsilon) + 100, mpmath.mpf(epsilon) + 99
            left = mpmath.sqrt(d + 2 * mpmath.sqrt(d * x) + 2 * x) - mpmath.sqrt(d) / (2 * scale)
            assert found is applies is bool(left**2 >= d + 2 * mpmath.sqrt(d * y) + 2 * y)
