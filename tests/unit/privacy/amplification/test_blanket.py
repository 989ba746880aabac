"""The privacy blanket: never below the exact value, tight, monotone, and quick for a million."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from neuroveil.errors import ChainError
from neuroveil.privacy.amplification import blanket
from neuroveil.privacy.amplification.blanket import (
    LARGEST_BATCH,
    blanket_delta,
    blanket_epsilon,
)
from neuroveil.privacy.codebook.design import CodebookDesign
from neuroveil.privacy.codebook.vectors import SEED_BYTES
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.randomness import SimulationRandomness

SEED = bytes(SEED_BYTES)

CASES = [
    (1, 2.0, 0.3, 1.0), (2, 0.01, 0.5, 0.001), (4, 1.5, 1 / 6, 0.3), (4, 1.5, 1 / 6, 1.2),
    (17, 1.31, 0.3, 1.0), (17, 5.01, 0.03, 5.0), (17, 8.0, 1e-4, 0.2), (50, 1.82, 0.25, 1.0),
    (100, 6.0, 0.004, 5.9), (200, 2.61, 0.5, 1.0), (200, 2.61, 0.15, 1e-6),
]  # fmt: skip
CASE = pytest.mark.parametrize(("n", "local", "share", "epsilon"), CASES)


def losses(local: float, share: float, epsilon: float) -> tuple[list[float], list[float]]:
    """Values and probabilities of one row's loss, as in the mathematics."""
    gamma = 1 / (math.exp(local) * share + 1 - share)
    values = [
        math.exp(local) - math.exp(epsilon), 1 - math.exp(local + epsilon), 1 - math.exp(epsilon),
        0.0,
    ]  # fmt: skip
    return values, [gamma * share, gamma * share, gamma * (1 - 2 * share), 1 - gamma]


def by_enumeration(n: int, local: float, share: float, epsilon: float) -> float:
    """E[(L_1 + … + L_n)_+] / n: all counts of the three values, positive terms only."""
    (gain, loss, small, _), (p, _, r, _) = losses(local, share, epsilon)
    total = 0.0
    for pairs in range(n + 1):
        i = np.arange(pairs + 1)
        k = np.arange(n - pairs + 1)
        sums = (gain * i + loss * (pairs - i))[:, None] + small * k
        chance_k = stats.binom.pmf(k, n - pairs, min(1.0, r / (1 - 2 * p)))
        chance_i = stats.binom.pmf(i, pairs, 0.5)
        chance = stats.binom.pmf(pairs, n, 2 * p)
        total += chance * float(chance_i @ np.maximum(sums, 0) @ chance_k)
    return total / n


@CASE
def test_the_bound_is_the_exact_sum_rounded_up(
    n: int, local: float, share: float, epsilon: float
) -> None:
    exact = by_enumeration(n, local, share, epsilon)
    bound = blanket_delta(epsilon, local, share, n)
    assert exact * (1 - 1e-12) <= bound <= exact * (1 + 3e-4)


@CASE
def test_coarse_grids_and_small_windows_only_raise_it(
    n: int, local: float, share: float, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = by_enumeration(n, local, share, epsilon)
    monkeypatch.setattr(blanket, "_SMALLEST_LOG2", 9)
    monkeypatch.setattr(blanket, "_LARGEST_LOG2", 9)
    monkeypatch.setattr(blanket, "_LOG_LOST", -8.0)
    assert blanket_delta(epsilon, local, share, n) >= exact * (1 - 1e-12)


@pytest.mark.parametrize(
    ("n", "local", "epsilon"), [(2000, 3.0, 0.2), (20_000, 3.0, 0.06), (20_000, 3.0, 0.25)]
)
def test_large_batches_with_half_the_codewords_close(n: int, local: float, epsilon: float) -> None:
    """At q = 1/2 the sum has one dimension fewer and binomial tails give it exactly."""
    (gain, loss, _, _), (p, _, _, _) = losses(local, 0.5, epsilon)
    pairs = np.arange(1, n + 1)
    first = np.floor(-loss * pairs / (gain - loss)) + 1
    # E[(gain i + loss (h - i)) ; i >= first], with i E = h / 2 P(Bin(h - 1) >= first - 1).
    inside = (gain - loss) * pairs / 2 * stats.binom.sf(first - 2, pairs - 1, 0.5)
    inside += loss * pairs * stats.binom.sf(first - 1, pairs, 0.5)
    exact = float(stats.binom.pmf(pairs, n, 2 * p) @ inside) / n
    bound = blanket_delta(epsilon, local, 0.5, n)
    assert exact * (1 - 1e-9) <= bound <= exact * (1 + 5e-3)


@pytest.mark.slow
def test_monte_carlo_agrees() -> None:
    """Four million sums of 300 losses: within 5 standard errors (fixed seed)."""
    n, local, share, epsilon = 300, 3.0, 0.1, 0.4
    values, chances = losses(local, share, epsilon)
    counts = np.random.default_rng(11).multinomial(n, chances, size=4_000_000)
    positive = np.maximum(counts @ values, 0) / n
    error = positive.std() / math.sqrt(positive.size)
    assert abs(blanket_delta(epsilon, local, share, n) - positive.mean()) < 5 * error


@pytest.mark.parametrize("share", [0.5, 0.1, 1e-3])
def test_monotone_in_batch_epsilon_and_local_epsilon(share: float) -> None:
    def ordered(values: list[float]) -> bool:
        return all(a >= b * (1 - 1e-8) for a, b in itertools.pairwise(values))

    sizes = (1, 2, 3, 10, 100, 1000, 30_000)
    assert ordered([blanket_delta(0.3, 2.5, share, n) for n in sizes])
    assert ordered([blanket_delta(e, 2.5, share, 60) for e in (1e-6, 0.1, 0.5, 1.0, 2.0, 2.49)])
    assert ordered([blanket_delta(0.3, e, share, 60) for e in (9.0, 5.0, 2.5, 1.0, 0.31)])


def test_no_amplification_needed_or_found() -> None:
    assert blanket_delta(2.0, 2.0, 0.3, 5) == 0.0
    assert blanket_delta(1.999, 2.0, 0.3, 1) == pytest.approx(
        by_enumeration(1, 2.0, 0.3, 1.999), rel=1e-8
    )
    assert blanket_epsilon(1e-5, 3.0, 0.1, 1) == pytest.approx(3.0, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("n", [17, 200, 2000])
def test_epsilon_is_the_smallest_that_holds(n: int) -> None:
    epsilon = blanket_epsilon(1e-5, 2.5, 0.15, n)
    assert blanket_delta(epsilon, 2.5, 0.15, n) <= 1e-5
    assert blanket_delta(epsilon * (1 - 3e-4), 2.5, 0.15, n) > 1e-5


def test_deep_tails_keep_their_digits() -> None:
    exact = by_enumeration(100, 1.0, 0.3, 0.95)
    assert exact < 1e-20
    assert blanket_delta(0.95, 1.0, 0.3, 100) == pytest.approx(exact, rel=1e-3)
    assert 0 < blanket_delta(3.0, 4.0, 0.05, 10**5) <= 1e-299


@pytest.mark.slow
@pytest.mark.alone
def test_a_million_rows_take_seconds() -> None:
    import time

    start = time.process_time()
    assert 0.02 < blanket_epsilon(1e-5, 4.44, 0.04, 10**6) < 0.04
    assert time.process_time() - start < 30


@pytest.mark.slow
def test_the_mechanism_itself_stays_below_the_bound_and_comes_near() -> None:
    """Shuffled messages of ten rows against the best test on counts (5 sigma, seeded).

    One row is x or -x, the other nine are 0. The test counts messages close to x and to -x.
    """
    n, repeats, epsilon = 10, 6_000, 0.4
    spec = MechanismSpec("privunit", 1.5, 0.0, 1.0, "l2", 2)
    mechanism = PrivUnit(spec, CodebookDesign(1.5, 2, 64, 16), SEED)
    pair = mechanism.lift(mechanism.bound(np.array([[1.0, 0.0], [-1.0, 0.0]])))
    close = [np.isin(np.arange(64), each) for each in mechanism.close_sets(pair, SEED)]
    assert not (close[0] & close[1]).any()
    source, balances = SimulationRandomness(3), []
    for sign in (1.0, -1.0):
        rows = np.zeros((n * repeats, 2))
        rows[::n, 0] = sign
        draws = mechanism.draw(n * repeats, source)
        numbers = mechanism.messages(mechanism.bound(rows), draws).numbers.reshape(repeats, n)
        balances.append(close[0][numbers].sum(axis=1) - close[1][numbers].sum(axis=1))
    gains, errors = [], []
    for threshold in range(-n, n + 1):
        first, second = (float((balance > threshold).mean()) for balance in balances)
        gains.append(first - math.exp(epsilon) * second)
        errors.append(math.sqrt((first + math.exp(2 * epsilon) * second) / repeats))
    bound = blanket_delta(epsilon, 1.5, 16 / 64, n)
    assert max(gain - 5 * error for gain, error in zip(gains, errors, strict=True)) <= bound
    assert max(gains) > 0.5 * bound


def test_no_amplification_is_claimed_for_local_epsilons_out_of_reach() -> None:
    assert blanket_delta(0.5, 301.0, 0.1, 2000) == 1.0
    assert 0.99 < blanket_delta(0.5, 300.0, 0.1, 2000) <= 1.0


@pytest.mark.parametrize(
    ("epsilon", "local", "share", "n"),
    [
        (float("nan"), 1.0, 0.1, 5), (0.0, 1.0, 0.1, 5), (0.5, 0.0, 0.1, 5), (0.5, 1.0, 0.0, 5),
        (0.5, 1.0, 0.51, 5), (0.5, 1.0, 0.1, 0), (0.5, 1.0, 0.1, LARGEST_BATCH + 1),
    ],
)  # fmt: skip
def test_impossible_parameters_are_refused(
    epsilon: float, local: float, share: float, n: int
) -> None:
    with pytest.raises(ChainError):
        blanket_delta(epsilon, local, share, n)
