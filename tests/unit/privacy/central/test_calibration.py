"""Sensitivity of both moments together, and noise that is enough for it."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuroveil.errors import ChainError
from neuroveil.privacy.central.calibration import calibrate_moments, joint_sensitivity
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.exact import exact
from neuroveil.types.recording import FloatArray

SPEC = MomentSpec(1.0, 1e-5, 2.0, 363, 2000)
SHARES = (0.0, 0.05, 0.2, 0.5, 0.8)


def rows_of(dimension: int) -> st.SearchStrategy[FloatArray]:
    return arrays(np.float64, (2, dimension), elements=st.floats(-1e6, 1e6))


def squared_distances(first: list[int], second: list[int]) -> tuple[int, int]:
    """Squared distance of two integer rows, and squared Frobenius distance of x x^T."""
    rows = sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
    products = sum(
        (first[i] * first[j] - second[i] * second[j]) ** 2
        for i in range(len(first))
        for j in range(len(first))
    )
    return rows, products


def joint(mechanism: MeanCovariance, first: list[int], second: list[int]) -> Fraction:
    """Squared distance of both moments in units of their sensitivities and shares, exact."""
    spec = mechanism.spec
    radius = Fraction(spec.clip_norm) / Fraction(2) ** mechanism.calibration.grid_log2
    rows, products = squared_distances(first, second)
    share = exact(spec.mean_share)
    return share * rows / (4 * radius**2) + (1 - share) * products / (2 * radius**4)


@pytest.mark.parametrize("mean_share", SHARES)
@pytest.mark.parametrize("clip_norm", [2.0, 0.7])
@given(data=st.data())
def test_neighbours_are_within_the_sensitivities_in_integers(
    clip_norm: float, mean_share: float, data: st.DataObject
) -> None:
    """Any two rows that one patient could have; distances are exact."""
    d = data.draw(st.integers(1, 8))
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, clip_norm, d, 2, mean_share))
    first, second = mechanism.bound(data.draw(rows_of(d))).tolist()
    rows, products = squared_distances(first, second)
    used, unit = mechanism.calibration, Fraction(2) ** mechanism.calibration.grid_log2
    assert rows * unit**2 <= Fraction(used.sum_sensitivity) ** 2
    assert products * unit**4 <= Fraction(used.second_sensitivity) ** 2
    assert joint(mechanism, first, second) <= Fraction(used.sensitivity) ** 2


@pytest.mark.parametrize("mean_share", SHARES)
@given(angle=st.floats(0, math.pi), lengths=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_the_joint_sensitivity_holds_at_every_angle(
    mean_share: float, angle: float, lengths: tuple[float, float]
) -> None:
    """Two rows span a plane; their lengths and angle are all that matters."""
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 2, 2, mean_share))
    rows = np.array([[1.0, 0.0], [math.cos(angle), math.sin(angle)]])
    first, second = mechanism.bound(2 * rows * np.array(lengths)[:, None]).tolist()
    limit = Fraction(mechanism.calibration.sensitivity) ** 2
    assert joint(mechanism, first, second) <= limit


@pytest.mark.parametrize("mean_share", SHARES)
def test_the_joint_sensitivity_is_attained(mean_share: float) -> None:
    """By rows of norm C with cosine -w / (4 (1 - w)): a tighter bound would be wrong."""
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 2, 2, mean_share))
    cosine = max(-1.0, -mean_share / (4 * (1 - mean_share)))
    rows = 2 * np.array([[1.0, 0.0], [cosine, math.sqrt(1 - cosine**2)]])
    first, second = mechanism.bound(rows).tolist()
    attained = float(joint(mechanism, first, second))
    assert attained == pytest.approx(mechanism.calibration.sensitivity**2, rel=1e-5)


def test_at_shares_of_20_and_80_per_cent_it_saves_a_tenth_of_the_privacy_loss() -> None:
    assert float(joint_sensitivity(0.2)) ** 2 == pytest.approx(0.903125, abs=1e-12)
    assert joint_sensitivity(0.0) == 1


def delta_of(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Balle and Wang 2018, Theorem 8, in 50 digits."""
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
        -mu / 2 - epsilon / mu
    )


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 5.0, 20.0, 41.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-17, 1e-5, 0.1])
@pytest.mark.parametrize("mean_share", [0.0, 0.2])
def test_the_noise_is_enough_and_hardly_more(
    epsilon: float, delta: float, mean_share: float
) -> None:
    """From the stated standard deviations alone, with the worst pair of rows."""
    c = 2
    used = calibrate_moments(MomentSpec(epsilon, delta, c, 363, 2000, mean_share))
    with mpmath.workdps(50):
        b = 1 / mpmath.mpf(used.diagonal_std) ** 2
        a = 1 / mpmath.mpf(used.sum_std) ** 2 if mean_share else mpmath.mpf(0)
        mu = mpmath.sqrt(2 * a * c**2 + 2 * b * c**4 + a**2 / (2 * b))
        left = mpmath.mpf(epsilon) - mpmath.mpf(used.slack.epsilon)
        assert delta_of(mu, left) <= mpmath.mpf(used.slack.delta_calibrated)
        assert delta_of(mu * mpmath.mpf("1.001"), mpmath.mpf(epsilon)) > delta
    assert used.slack.delta + used.slack.delta_calibrated <= delta
    assert used.epsilon_supported <= epsilon


def test_off_diagonal_noise_is_smaller_by_the_root_of_two() -> None:
    """Such an entry stands in the matrix twice, so half the variance protects as much."""
    used = calibrate_moments(SPEC)
    assert used.diagonal_std == pytest.approx(math.sqrt(2) * used.off_diagonal_std, rel=1e-14)
    assert 2 * Fraction(used.off_diagonal_std) ** 2 >= Fraction(used.diagonal_std) ** 2 * (
        1 - Fraction(1, 2**50)
    )


def test_shares_divide_the_budget() -> None:
    """Released alone, the mean would have 20 % of the squared ratio and the rest 80 %."""
    used = calibrate_moments(SPEC)
    mean = (used.sum_sensitivity / used.sum_std) ** 2
    second = (used.second_sensitivity / used.diagonal_std) ** 2
    assert mean / (mean + second) == pytest.approx(0.2, rel=1e-12)
    whole = (used.sensitivity / used.noise_scale) ** 2
    assert whole / (mean + second) == pytest.approx(0.903125, rel=1e-12)


@pytest.mark.parametrize("n_patients", [1, 17, 10_000, 1 << 20])
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 1000.0])
@pytest.mark.parametrize("clip_norm", [1e-9, 2.0, 1e9])
def test_sums_and_noise_fit_64_bits(n_patients: int, epsilon: float, clip_norm: float) -> None:
    used = calibrate_moments(MomentSpec(epsilon, 1e-17, clip_norm, 363, n_patients))
    unit = Fraction(2) ** used.grid_log2
    radius = Fraction(clip_norm) / unit
    assert radius < 2**22
    assert n_patients * radius**2 <= 2**61
    assert Fraction(used.diagonal_std) / unit**2 <= 2**57
    assert used.smallest_integer_scale >= 2**12


def test_more_budget_never_means_more_noise() -> None:
    grid = (1e-6, 1e-3, 0.1, 0.5, 1.0, 5.0, 20.0, 1000.0)
    stds = [calibrate_moments(MomentSpec(e, 1e-5, 2.0, 20, 100)).diagonal_std for e in grid]
    assert stds == sorted(stds, reverse=True)


@pytest.mark.parametrize(
    "change",
    [
        (0.0, 1e-5, 2.0, 9, 9), (math.nan, 1e-5, 2.0, 9, 9), (1.0, 0.0, 2.0, 9, 9),
        (1.0, 1.0, 2.0, 9, 9), (1.0, 1e-5, 0.0, 9, 9), (1.0, 1e-5, math.inf, 9, 9),
        (1.0, 1e-5, 2.0, 0, 9), (1.0, 1e-5, 2.0, 5000, 9), (1.0, 1e-5, 2.0, 9, 0),
        (1.0, 1e-5, 2.0, 9, True), (1.0, 1e-5, 2.0, 9, 1 << 25), (1.0, 1e-5, 2.0, 9, 9, 0.9),
        (1.0, 1e-5, 2.0, 9, 9, -0.1), (1.0, 1e-5, 2.0, 9, 9, math.nan),
        (1.0, 1e-5, 2.0, 9, 9, True),
    ],
    ids=str,
)  # fmt: skip
def test_bad_parameters_are_refused(change: tuple[float, ...]) -> None:
    with pytest.raises(ChainError):
        MomentSpec(*change)  # type: ignore[arg-type]


def test_a_grid_that_would_be_too_coarse_is_refused() -> None:
    with pytest.raises(ChainError, match="few enough columns"):
        calibrate_moments(MomentSpec(1000.0, 1e-5, 2.0, 4096, 1 << 24))
