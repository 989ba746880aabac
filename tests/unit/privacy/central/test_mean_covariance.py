"""The mechanism: exact sums, the stated noise, replay, refusals, and an audit."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import epsilon_by_pld
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.central.moments import sum_of_products, sum_of_rows, symmetric
from neuroveil.privacy.central.noisy_moments import MomentDraws, NoisyMoments
from neuroveil.privacy.randomness import RandomSource, SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.types.recording import FloatArray

FALSE_ALARM = 1e-7


def release(mechanism: MeanCovariance, rows: FloatArray, source: RandomSource) -> NoisyMoments:
    return mechanism.apply(mechanism.bound(rows), mechanism.draw(source))


@given(st.integers(1, 1200), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_sums_are_exact(n: int, d: int, seed: int) -> None:
    """Entries up to the largest that a row can have, against unlimited integers."""
    rows = np.random.default_rng(seed).integers(-(2**22) + 1, 2**22, (n, d))
    table = rows.tolist()
    products = [[sum(row[i] * row[j] for row in table) for j in range(d)] for i in range(d)]
    assert sum_of_products(rows).tolist() == products
    assert sum_of_rows(rows).tolist() == [sum(row[i] for row in table) for i in range(d)]


def test_sums_beyond_the_whole_numbers_of_doubles_are_exact() -> None:
    """1,023 times an odd square is odd and above 2^53: no double holds it."""
    longest = 2**22 - 1
    rows = np.full((1023, 1), longest)
    assert sum_of_products(rows).tolist() == [[1023 * longest**2]]


def test_a_symmetric_matrix_is_filled() -> None:
    matrix = symmetric(np.array([1, 2, 3]), np.array([4, 5, 6]))
    assert matrix.tolist() == [[1, 4, 5], [4, 2, 6], [5, 6, 3]]


@pytest.mark.parametrize(
    "source", [SystemRandomness(), SimulationRandomness(3)], ids=["system", "simulation"]
)
def test_the_noise_has_the_stated_scale(source: RandomSource) -> None:
    """Values read back as floats, from a table of zeros. False alarms: below 1e-7."""
    d, n = 120, 10
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, d, n))
    used = mechanism.calibration
    noisy = release(mechanism, np.zeros((n, d)), source)
    assert noisy.mean is not None
    upper = noisy.second_moment[np.triu_indices(d, 1)]
    for values, std in (
        (noisy.mean * n, used.sum_std),
        (noisy.second_moment.diagonal() * n, used.diagonal_std),
        (upper * n, used.off_diagonal_std),
    ):
        assert stats.kstest(values, stats.norm(scale=std).cdf).pvalue > FALSE_ALARM
    assert (noisy.second_moment == noisy.second_moment.T).all()


def test_without_noise_the_moments_are_those_of_the_clipped_rows() -> None:
    n, d = 300, 7
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, d, n))
    rows = np.random.default_rng(1).normal(size=(n, d))
    clipped = rows * np.minimum(1, 2 / np.linalg.norm(rows, axis=1, keepdims=True))
    silence = MomentDraws(
        np.zeros(d, dtype=np.int64), np.zeros((d, d), dtype=np.int64), SystemRandomness().facts
    )
    noisy = mechanism.apply(mechanism.bound(rows), silence)
    assert noisy.mean == pytest.approx(clipped.mean(axis=0), abs=1e-6)
    assert noisy.second_moment == pytest.approx(clipped.T @ clipped / n, abs=1e-5)


def test_draws_can_be_replayed_on_a_neighbouring_table() -> None:
    """The release then moves by exactly what the replaced row moves the sums by."""
    n, d = 50, 6
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, d, n))
    rows = np.random.default_rng(2).normal(size=(n, d))
    other = rows.copy()
    other[17] = -3 * rows[16]
    table, neighbour = mechanism.bound(rows), mechanism.bound(other)
    draws = mechanism.draw(SystemRandomness())
    first, second = mechanism.apply(table, draws), mechanism.apply(neighbour, draws)
    again = mechanism.apply(table, draws)
    assert (again.second_moment == first.second_moment).all()
    grid, used = mechanism.calibration.grid_log2, mechanism.calibration
    moved = (table[17] - neighbour[17]) * 2.0**grid / n
    assert first.mean is not None
    assert second.mean is not None
    assert first.mean - second.mean == pytest.approx(moved, abs=1e-12)
    step = (np.outer(table[17], table[17]) - np.outer(neighbour[17], neighbour[17])) * 4.0**grid
    difference = first.second_moment - second.second_moment
    assert difference == pytest.approx(step / n, abs=1e-9)
    assert np.linalg.norm(difference) * n <= used.second_sensitivity * (1 + 1e-9)


def test_drawing_does_not_look_at_the_rows() -> None:
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 4, 3))
    first = mechanism.draw(SimulationRandomness(5))
    mechanism.bound(np.random.default_rng(0).normal(size=(3, 4)))
    assert (mechanism.draw(SimulationRandomness(5)).products == first.products).all()


def test_the_order_of_patients_does_not_matter() -> None:
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 4, 30))
    rows_int = mechanism.bound(np.random.default_rng(0).normal(size=(30, 4)))
    draws = mechanism.draw(SimulationRandomness(5))
    forwards, backwards = mechanism.apply(rows_int, draws), mechanism.apply(rows_int[::-1], draws)
    assert (forwards.second_moment == backwards.second_moment).all()


def test_without_a_share_the_mean_is_left_out() -> None:
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 4, 30, 0.0))
    noisy = release(mechanism, np.ones((30, 4)), SystemRandomness())
    assert noisy.mean is None
    with_mean = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 4, 30, 0.2))
    assert mechanism.calibration.diagonal_std < with_mean.calibration.diagonal_std


def test_saturated_noise_ends_at_the_same_limit_from_every_table() -> None:
    n, d = 4, 2
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, d, n))
    extreme = np.full((d, d), np.iinfo(np.int64).max)
    draws = MomentDraws(np.full(d, np.iinfo(np.int64).min), extreme, SystemRandomness().facts)
    tables = (np.full((n, d), 9.0), np.full((n, d), -9.0), np.zeros((n, d)))
    found = [mechanism.apply(mechanism.bound(table), draws) for table in tables]
    assert len({noisy.second_moment.tobytes() for noisy in found}) == 1
    assert len({noisy.mean.tobytes() for noisy in found if noisy.mean is not None}) == 1


@pytest.mark.parametrize(
    "table",
    [
        np.array([[math.nan, 0.0]] * 3), np.array([[math.inf, 0.0]] * 3), np.zeros((3, 3)),
        np.zeros((2, 2)), np.zeros((4, 2)), np.zeros(2), np.zeros((0, 2)),
        np.zeros((3, 2), dtype=np.float32),
    ],
    ids=["NaN", "infinite", "wide", "short", "long", "one axis", "no row", "float32"],
)  # fmt: skip
def test_bad_rows_are_refused(table: FloatArray) -> None:
    with pytest.raises(ChainError):
        MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 2, 3)).bound(table)


def test_draws_of_another_shape_are_refused() -> None:
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 2, 3))
    draws = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 3, 3)).draw(SystemRandomness())
    with pytest.raises(ChainError):
        mechanism.apply(mechanism.bound(np.zeros((3, 2))), draws)
    with pytest.raises(ChainError):
        mechanism.apply(np.zeros((4, 2), dtype=np.int64), mechanism.draw(SystemRandomness()))


def test_another_accountant_agrees() -> None:
    """dp-accounting's privacy loss distribution of the stated event, under replace-one."""
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 363, 2000))
    assert epsilon_by_pld([mechanism.event], 1e-5) == pytest.approx(1.0, rel=2e-3)
    assert mechanism.guarantee.holds


def scores(mechanism: MeanCovariance, rows_int: IntArray, draws: int, seed: int) -> FloatArray:
    """Projection of many releases on the direction that tells the two worst rows apart."""
    used, spec, source = mechanism.calibration, mechanism.spec, SimulationRandomness(seed)
    near, far = worst_pair(mechanism)
    n, unit = spec.n_patients, 2.0**used.grid_log2
    towards_mean = (near - far)[0] * unit / used.sum_std**2
    step = (np.outer(near[0], near[0]) - np.outer(far[0], far[0])) * unit**2
    towards_second = step / used.diagonal_std**2
    found = []
    for _ in range(draws):
        noisy = mechanism.apply(rows_int, mechanism.draw(source))
        assert noisy.mean is not None
        found.append(n * (towards_mean @ noisy.mean + (towards_second * noisy.second_moment).sum()))
    return np.array(found)


def worst_pair(mechanism: MeanCovariance) -> tuple[IntArray, IntArray]:
    """Two tables that differ in the first patient, as far apart as both moments can be."""
    spec = mechanism.spec
    cosine = -spec.mean_share / (4 * (1 - spec.mean_share))
    base = np.zeros((spec.n_patients, spec.dimension))
    first, second = base.copy(), base.copy()
    first[0, 0] = 2.0
    second[0, :2] = 2 * cosine, 2 * math.sqrt(1 - cosine**2)
    return mechanism.bound(first), mechanism.bound(second)


def excess(near: FloatArray, far: FloatArray, epsilon: float, delta: float) -> float:
    """Proven excess over "(epsilon, delta)-DP" on the best half-line (Clopper and Pearson)."""
    half = near.size // 2
    thresholds = np.quantile(near[:half], np.linspace(0.02, 0.999, 100))
    gains = [
        np.mean(near[:half] > t) - math.exp(epsilon) * np.mean(far[:half] > t) for t in thresholds
    ]
    best = thresholds[int(np.argmax(gains))]
    hits = [int(np.sum(score[half:] > best)) for score in (near, far)]
    level = FALSE_ALARM / 2
    low = stats.beta.ppf(level, hits[0], half - hits[0] + 1) if hits[0] else 0.0
    high = stats.beta.ppf(1 - level, hits[1] + 1, half - hits[1])
    return float(low - math.exp(epsilon) * high - delta)


@pytest.mark.slow
def test_a_black_box_audit_finds_no_violation_and_finds_missing_noise() -> None:
    """Fixed seeds. The control has the noise of epsilon = 8 and claims 1."""
    for epsilon, violates in ((1.0, False), (8.0, True)):
        mechanism = MeanCovariance(MomentSpec(epsilon, 1e-5, 2.0, 2, 3))
        near, far = worst_pair(mechanism)
        scored = scores(mechanism, near, 1500, 0), scores(mechanism, far, 1500, 1)
        assert (excess(*scored, 1.0, 1e-5) > 0.01) is violates


@pytest.mark.parametrize("mean_share", [0.0, 0.2])
def test_the_worst_pair_is_as_far_apart_as_the_event_says(mean_share: float) -> None:
    """Distance in units of the stated noise, against one over the noise multiplier."""
    mechanism = MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 2, 3, mean_share))
    used, (near, far) = mechanism.calibration, worst_pair(mechanism)
    unit = 2.0**used.grid_log2
    total = sum_of_rows(near) - sum_of_rows(far)
    products = (sum_of_products(near) - sum_of_products(far)) * unit**2
    mean_part = (total * unit / used.sum_std) @ (total * unit / used.sum_std)
    diagonal = products.diagonal() / used.diagonal_std
    other = products[0, 1] / used.off_diagonal_std
    distance = math.sqrt(mean_part + diagonal @ diagonal + other**2)
    assert distance == pytest.approx(1 / mechanism.event.noise_multiplier, rel=1e-5)
    assert distance <= 1 / mechanism.event.noise_multiplier


@pytest.mark.slow
@pytest.mark.alone
def test_ten_thousand_patients_take_less_than_a_minute() -> None:
    n, d = 10_000, 363
    rows = np.random.default_rng(0).normal(size=(n, d))
    start = time.process_time()
    release(MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, d, n)), rows, SystemRandomness())
    assert time.process_time() - start < 60
