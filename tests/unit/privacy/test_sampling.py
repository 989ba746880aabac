"""The exact sampler, drawn unseeded; false-alarm rates are stated with each statistical test."""

import math
import secrets
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from neuroveil.errors import ChainError
from neuroveil.privacy.randomness import SimulationRandomness, permutation
from neuroveil.privacy.sampling import SystemRandomness

N = 10_000
FALSE_ALARM = 1e-7
SYSTEM = SystemRandomness()


def smallest_p(samples: np.ndarray, weights: dict[int, float]) -> float:
    """P-value of counts against the probabilities of whole numbers and of their tails.

    The smallest of exact binomial ones, times their number (Bonferroni): no approximation, so
    that the false-alarm rate is what it is said to be also for numbers that are rare.
    """
    total, n = sum(weights.values()), samples.size
    events = [(samples == k, weights[k]) for k in weights if weights[k] / total * n >= 1]
    for size in range(1, len(events)):
        tail = sum(weight for k, weight in weights.items() if abs(k) >= size)
        events.append((np.abs(samples) >= size, tail))
    found = [stats.binomtest(int(hits.sum()), n, weight / total).pvalue for hits, weight in events]
    return min(1.0, float(min(found)) * len(found))


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_discrete_gaussian_has_the_exact_probabilities(scale: float) -> None:
    """False alarms: below 1e-7."""
    weights = {k: math.exp(-(k**2) / (2 * scale**2)) for k in range(-60, 61)}
    samples = SYSTEM.discrete_gaussian(scale, (N // 100, 100))
    assert smallest_p(samples, weights) > FALSE_ALARM


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_discrete_laplace_has_the_exact_probabilities(scale: float) -> None:
    """False alarms: below 1e-7."""
    weights = {k: math.exp(-abs(k) / scale) for k in range(-200, 201)}
    samples = SYSTEM.discrete_laplace(scale, (N // 100, 100))
    assert smallest_p(samples, weights) > FALSE_ALARM


@pytest.mark.parametrize("scale", [14.92252654 * 2.0**40, 2.0**57])
def test_large_scales_have_the_continuous_shape(scale: float) -> None:
    """False alarms: 1e-7 each; a saturating or truncated sampler fails at once."""
    gaussian = SYSTEM.discrete_gaussian(scale, (N, 1)).ravel() / scale
    assert stats.kstest(gaussian, stats.norm.cdf).pvalue > FALSE_ALARM
    laplace = SYSTEM.discrete_laplace(scale, (N, 1)).ravel() / scale
    assert stats.kstest(laplace, stats.laplace.cdf).pvalue > FALSE_ALARM


def test_all_low_bits_occur_equally_often() -> None:
    """The lowest bits are uniform at large scales, and parity most of all. False alarms: 1e-7."""
    samples = SYSTEM.discrete_gaussian(2.0**44, (N, 1)).ravel()
    low = Counter((samples & 15).tolist())
    assert stats.chisquare([low[k] for k in range(16)]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (30, 20), (0, 4)])
def test_shape_and_type(shape: tuple[int, int]) -> None:
    for source in (SYSTEM, SimulationRandomness(1)):
        for samples in (
            source.discrete_gaussian(2.0**40, shape),
            source.discrete_laplace(2.0**40, shape),
        ):
            assert samples.shape == shape
            assert samples.dtype == np.int64


@pytest.mark.slow
def test_blocks_of_a_large_table_are_independent() -> None:
    """A block that is drawn twice would repeat thousands of 44-bit numbers."""
    samples = SYSTEM.discrete_gaussian(2.0**44, (4, 1 << 14))
    assert len(np.unique(samples)) > samples.size - 100


@pytest.mark.parametrize("source", [SYSTEM, SimulationRandomness(1)], ids=["system", "simulation"])
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**57 * 1.001, 2.0**63])
def test_scales_that_could_saturate_are_refused(source, scale: float) -> None:
    with pytest.raises(ChainError, match=r"mechanism\.integer_scale"):
        source.discrete_gaussian(scale, (1, 1))
    with pytest.raises(ChainError, match=r"mechanism\.integer_scale"):
        source.discrete_laplace(scale, (1, 1))


@pytest.mark.parametrize("source", [SYSTEM, SimulationRandomness(7)], ids=["system", "simulation"])
def test_whole_numbers_are_uniform(source) -> None:
    """False alarms: 1e-7 each."""
    counts = Counter(source.below(6) for _ in range(6000))
    assert set(counts) == set(range(6))
    assert stats.chisquare([counts[k] for k in range(6)]).pvalue > FALSE_ALARM
    limit = 3 * 2**70
    thirds = Counter(source.below(limit) >> 70 for _ in range(3000))
    assert stats.chisquare([thirds[k] for k in range(3)]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("source", [SYSTEM, SimulationRandomness(7)], ids=["system", "simulation"])
def test_every_order_is_equally_likely(source) -> None:
    """All 24 orders of 4 rows. False alarms: 1e-7 each."""
    counts = Counter(tuple(permutation(4, source).tolist()) for _ in range(4800))
    assert len(counts) == 24
    assert all(sorted(order) == [0, 1, 2, 3] for order in counts)
    assert stats.chisquare(list(counts.values())).pvalue > FALSE_ALARM


def test_the_system_draws_from_the_operating_system_and_takes_no_seed() -> None:
    facts = SYSTEM.facts
    assert (facts.library, facts.exact, facts.source, facts.seeded) == (
        "opendp", True, "operating_system", False,
    )  # fmt: skip
    with pytest.raises(TypeError):
        SystemRandomness(1)  # type: ignore[call-arg]
    np.random.seed(0)
    first = SYSTEM.discrete_gaussian(2.0**50, (1, 20))
    np.random.seed(0)
    assert (first != SYSTEM.discrete_gaussian(2.0**50, (1, 20))).any()


def test_choices_come_from_the_secrets_module(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(secrets, "randbelow", lambda limit: asked.append(limit) or 0)
    assert permutation(3, SYSTEM).tolist() == [1, 2, 0]
    assert asked == [3, 2]


class TestSimulationRandomness:
    def test_it_repeats_itself(self) -> None:
        first, second = SimulationRandomness(5), SimulationRandomness(5)
        assert (first.discrete_gaussian(1e9, (2, 3)) == second.discrete_gaussian(1e9, (2, 3))).all()
        assert [first.below(100) for _ in range(5)] == [second.below(100) for _ in range(5)]

    def test_it_says_that_it_is_seeded(self) -> None:
        facts = SimulationRandomness(5).facts
        assert (facts.exact, facts.source, facts.seeded) == (False, "seeded_generator", True)

    def test_it_matches_the_real_sampler(self) -> None:
        """Two-sample Kolmogorov-Smirnov tests. False alarms: 1e-7 each."""
        simulated, scale = SimulationRandomness(5), 14.92 * 2.0**40
        for draw in ("discrete_gaussian", "discrete_laplace"):
            ours = getattr(simulated, draw)(scale, (N, 1)).ravel()
            real = getattr(SYSTEM, draw)(scale, (N, 1)).ravel()
            assert stats.ks_2samp(ours, real).pvalue > FALSE_ALARM
