"""Bounds after shuffling, against plain enumeration, Monte Carlo and published figures."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuroveil.privacy.verify import shuffling
from neuroveil.privacy.verify.shuffling import (
    ACCURACY,
    TooLargeError,
    blanket_delta,
    clones_delta,
)


def blanket_by_enumeration(epsilon: float, local: float, share: float, n: int) -> float:
    """All 4^n outcomes of all users, one by one."""
    a, b = math.exp(local), math.exp(epsilon)
    g = 1 / (a * share + 1 - share)
    law = [(a - b, g * share), (1 - a * b, g * share), (1 - b, g * (1 - 2 * share)), (0.0, 1 - g)]
    return math.fsum(
        max(0.0, sum(loss for loss, _ in users)) * math.prod(chance for _, chance in users)
        for users in product(law, repeat=n)
    ) / n  # fmt: skip


def clones_by_enumeration(epsilon: float, local: float, n: int) -> float:
    """The distributions of both counts, from all outcomes of clones and their coins."""
    p: dict[tuple[int, int], float] = {}
    q: dict[tuple[int, int], float] = {}
    a = math.exp(local)
    for users in product((0, 1, 2), repeat=n - 1):  # no clone, clone of the first, of the second
        chance = math.prod((1 - 1 / a, 1 / (2 * a), 1 / (2 * a))[user] for user in users)
        ones, twos = users.count(1), users.count(2)
        for one, weight in ((1, a / (a + 1)), (0, 1 / (a + 1))):
            for table, place in ((p, one), (q, 1 - one)):
                key = (ones + place, twos + 1 - place)
                table[key] = table.get(key, 0.0) + chance * weight
    b = math.exp(epsilon)
    return math.fsum(max(0.0, p[key] - b * q.get(key, 0.0)) for key in p)


@settings(max_examples=30)
@given(
    local=st.floats(0.05, 8), part=st.floats(0.05, 0.95), share=st.floats(0.001, 0.5),
    n=st.integers(1, 6),
)  # fmt: skip
def test_blanket_of_small_batches(local: float, part: float, share: float, n: int) -> None:
    exact = blanket_by_enumeration(local * part, local, share, n)
    assert blanket_delta(local * part, local, share, n) == pytest.approx(exact, rel=1e-9, abs=1e-15)


@settings(max_examples=30)
@given(local=st.floats(0.05, 5), part=st.floats(0.05, 0.95), n=st.integers(1, 6))
def test_clones_of_small_batches(local: float, part: float, n: int) -> None:
    exact = clones_by_enumeration(local * part, local, n)
    assert clones_delta(local * part, local, n) == pytest.approx(exact, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("n", "local", "central"),
    [(2000, 1, 0.105), (2000, 2, 0.317), (2000, 3, 0.684), (2000, 4, 1.477), (2000, 5, 4.991),
     (500, 1, 0.225), (500, 2, 0.701), (500, 3, 1.894), (500, 4, 3.999), (200, 1, 0.374),
     (200, 2, 1.285), (200, 3, 2.998)],
)  # fmt: skip
def test_published_epsilons_of_clones(n: int, local: float, central: float) -> None:
    """Central epsilon at delta = 1e-5, to the last printed digit."""
    assert clones_delta(central + 5e-4, float(local), n) <= 1e-5
    assert clones_delta(central - 6e-4, float(local), n) >= 1e-5


def test_clones_hide_nobody_among_seventeen() -> None:
    for local in (1.0, 2.0, 3.0):
        assert clones_delta(0.9 * local, local, 17) > 1e-5


def test_blanket_for_two_thousand_by_monte_carlo() -> None:
    """A fixed seed; delta is large enough to be seen, and lies within five standard errors."""
    n, local, share, epsilon, draws = 2000, 5.0, 0.01, 0.3, 400_000
    a, b = math.exp(local), math.exp(epsilon)
    g = 1 / (a * share + 1 - share)
    counts = np.random.default_rng(8).multinomial(
        n, [g * share, g * share, g * (1 - 2 * share), 1 - g], draws
    )
    sums = np.maximum(0, counts @ np.array([a - b, 1 - a * b, 1 - b, 0])) / n
    found = blanket_delta(epsilon, local, share, n)
    assert abs(sums.mean() - found) < 5 * sums.std() / math.sqrt(draws)


@pytest.mark.parametrize("share", [0.001, 0.02, 0.5])
def test_more_rows_and_less_local_epsilon_hide_better(share: float) -> None:
    found = [blanket_delta(0.5, 2.0, share, n) for n in (1, 2, 5, 20, 100, 1000)]
    assert found == sorted(found, reverse=True)
    found = [blanket_delta(0.5, local, share, 200) for local in (0.6, 1.0, 2.0, 4.0)]
    assert found == sorted(found)


@pytest.mark.parametrize("epsilon", [2.0, 3.0])
def test_no_delta_is_needed_beyond_the_local_epsilon(epsilon: float) -> None:
    assert blanket_delta(epsilon, 2.0, 0.1, 50) == 0
    assert clones_delta(epsilon, 2.0, 50) == 0


@pytest.mark.alone
@pytest.mark.slow
def test_ten_thousand_rows_take_seconds() -> None:
    import time

    start = time.process_time()
    blanket_delta(0.05, 1.0, 0.5, 10_000)
    blanket_delta(1.0, 5.0, 0.005, 10_000)
    clones_delta(0.05, 1.0, 10_000)
    assert time.process_time() - start < 20


def test_work_beyond_reason_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffling, "MOST_WORK", 1000)
    with pytest.raises(TooLargeError):
        blanket_delta(0.05, 1.0, 0.4999, 9_999)
    with pytest.raises(TooLargeError):
        clones_delta(0.05, 1.0, 9_999)


def test_window_holds_all_but_a_negligible_chance() -> None:
    from scipy import stats

    for trials, chance in ((10_000, 0.5), (1_000_000, 1e-4), (50, 0.9)):
        low, high = shuffling._window(trials, chance)
        outside = (
            stats.binom.logcdf(low - 1, trials, chance),
            stats.binom.logsf(high, trials, chance),
        )
        assert max(outside) <= -79 or (low, high) == (0, trials)
    assert ACCURACY > 1_000_000 * 2**-52
