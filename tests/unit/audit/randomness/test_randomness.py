"""Noise that is used twice, and streams that follow each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.signal import lfilter

from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.randomness import audit_randomness
from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.audit.subjects.ours import our_mechanism
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec

N_CELLS = 4000


def noise(shape, seed=None):
    return np.random.default_rng(seed).normal(0.0, 15.0, shape)


def by_row(rows, seeds):
    return np.stack([row + noise(row.shape, seed) for row, seed in zip(rows, seeds, strict=True)])


def audited(function, dimension=5, law=None, seed=None, n_cells=N_CELLS):
    facts = SubjectFacts("peer", 1.0, 1e-5, dimension, 2.0, law=law)
    return audit_randomness(FunctionSubject(facts, function), n_cells, seed)


def test_the_same_seed_twice_is_found():
    result = audited(lambda rows, n_trials: rows + noise((n_trials, *rows.shape), 7))
    assert result.verdict == "violated"
    assert "the same seed was used twice" in result.sentence
    assert result.figure("repeated_rows").value == 800


@pytest.mark.parametrize("dimension", [2, 5])
def test_a_seed_for_each_row_is_found(dimension):
    result = audited(lambda rows: by_row(rows, range(len(rows))), dimension)
    assert result.verdict == "violated"
    assert "in the same row of different releases" in result.sentence


@pytest.mark.parametrize("dimension", [1, 5])
def test_seed_plus_i_is_found_where_releases_count_up(dimension):
    counter = itertools.count(100)

    def release(rows):
        seed = next(counter)
        return by_row(rows, range(seed, seed + len(rows)))

    assert audited(release, dimension).verdict == "violated"


def test_seed_plus_i_is_found_in_a_function_that_takes_a_seed():
    def release(rows, seed):
        return by_row(rows, range(seed, seed + len(rows)))

    assert audited(release, seed=3).verdict == "violated"


@pytest.mark.parametrize("dimension", [1, 5])
def test_a_seed_made_of_the_row_is_found(dimension):
    result = audited(
        lambda rows: by_row(rows, [abs(hash(row.tobytes())) for row in rows]), dimension
    )
    assert result.verdict == "violated"


def test_a_short_seed_is_found():
    seeds = np.random.default_rng(5)
    result = audited(lambda rows: rows + noise(rows.shape, seeds.integers(1000)))
    assert result.verdict == "violated"
    assert 20 < result.figure("repeated_rows").value < 2000


def test_one_noise_for_all_columns_is_found():
    result = audited(lambda rows, n_trials: rows + noise((n_trials, len(rows), 1)))
    assert result.verdict == "violated"
    assert "equal values, most of them 1 values apart" in result.sentence


def test_a_lagged_stream_is_found_under_other_noise():
    """Two runs draw from one stream, 501 values apart, and a tenth of it is fresh."""
    stream = noise(2 * N_CELLS + 501, 1)
    starts = itertools.count(0, 501)

    def release(rows, n_trials):
        start, size = next(starts), n_trials * rows.size
        drawn = stream[start : start + size] + 0.1 * noise(size, start)
        return rows + drawn.reshape(n_trials, *rows.shape)

    result = audited(release)
    assert result.verdict == "violated"
    assert "between two runs, at a distance of -501 values" in result.sentence
    assert result.figure("largest_correlation").value > 0.9
    assert result.figure("repeated_values").value == 0


def test_cells_that_depend_on_each_other_violate_a_law_of_independent_noise():
    def release(rows, n_trials, seed=4):
        drawn = lfilter([1.0], [1.0, -0.3], noise(n_trials * rows.size, seed))
        return rows + drawn.reshape(n_trials, *rows.shape)

    promised = AdditiveLaw("gaussian", 15.0)
    result = audited(lambda rows, n_trials: release(rows, n_trials, None), law=promised)
    assert result.verdict == "violated"
    assert "within one run, at a distance of 1 values" in result.sentence
    silent = audited(lambda rows, n_trials: release(rows, n_trials, None))
    assert silent.verdict == "no_attack_succeeded"  # nobody promised independent cells


@pytest.mark.parametrize(
    "function",
    [
        lambda rows, n_trials: rows + noise((n_trials, *rows.shape)),
        lambda rows, n_trials: rows + noise((n_trials, *rows.shape)).astype(np.float32),
        lambda rows, n_trials: rows + np.rint(noise((n_trials, *rows.shape))),
        lambda rows, n_trials: np.random.default_rng().integers(0, 2, (n_trials, *rows.shape)),
        lambda rows, n_trials: rows + noise((n_trials, *rows.shape)) ** 3,
    ],
    ids=["doubles", "single precision", "whole numbers", "coins", "heavy tails"],
)  # fmt: skip
def test_fresh_noise_passes(function):
    """Unseeded: false alarms below 1e-6 by the attack's own level.

    What can be found is stated for the lag with the fewest values in common: 1000 of 4000, at
    7201 lags (6001 between the runs, 600 within each), so z = 6.58 and z / sqrt(1000) = 0.208,
    times a width that is estimated and at least 1. The width reaches 1.4 only where half of 600
    lags have |z| above 0.944, which 0.345 of them should: binomial, 1e-14.
    """
    result = audited(function)
    assert result.verdict == "no_attack_succeeded"
    assert 0.2 < result.figure("largest_correlation").smallest_detectable < 1.4 * 0.2085


def test_what_is_called_detectable_is_found_at_the_furthest_lag():
    """A second run that is the first one's noise, 3000 of 4000 values later, under fresh noise.

    The 1000 values in common correlate with twice what the attack says it can find.
    """
    stream, fresh = noise(N_CELLS + 3000, 1), noise(N_CELLS, 2)
    strength, runs = 2 * 0.2085, itertools.count()

    def release(rows, n_trials):
        if next(runs) == 0:
            drawn = stream[3000:]
        else:
            drawn = strength * stream[:N_CELLS] + np.sqrt(1 - strength**2) * fresh
        return rows + drawn.reshape(n_trials, *rows.shape)

    result = audited(release)
    assert result.verdict == "violated"
    assert "between two runs, at a distance of 3000 values" in result.sentence
    figure = result.figure("largest_correlation")
    assert figure.smallest_detectable < figure.value < 0.6


@pytest.mark.parametrize(
    "spec",
    [
        MechanismSpec("gaussian", 1.0, 1e-5, 2.0, "l2", 20),
        MechanismSpec("laplace", 1.0, 0.0, 2.0, "l2", 20),
        MechanismSpec("privunit", 3.0, 0.0, 2.0, "l2", 20, CodebookOptions(4096)),
    ],
    ids=lambda spec: spec.name,
)
def test_our_mechanisms_pass(spec):
    """Real draws: false alarms below 1e-6 by the attack's own level."""
    result = audit_randomness(our_mechanism(spec), 2000)
    assert result.verdict == "no_attack_succeeded"


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [0, 2, 4, 6])
@pytest.mark.parametrize("dimension", [1, 5])
def test_rounding_is_no_repetition(decimals, dimension):
    """Decimals cost no privacy and make values equal, as often as their spacing says.

    False alarms: below 1e-6, unseeded.
    """
    result = audited(
        lambda rows, n_trials: np.round(rows + noise((n_trials, *rows.shape)), decimals), dimension
    )
    assert result.verdict == "no_attack_succeeded"


@pytest.mark.parametrize("dimension", [1, 2, 4, 5])
def test_clamping_is_no_repetition(dimension):
    """Most values lie at one of two ends, and so do most rows. False alarms: below 1e-6."""
    result = audited(
        lambda rows, n_trials: np.clip(rows + noise((n_trials, *rows.shape)), -3.0, 3.0),
        dimension,
        n_cells=20_000,
    )
    assert result.verdict == "no_attack_succeeded"


def test_a_seed_used_twice_is_found_in_rounded_releases():
    result = audited(lambda rows, n_trials: np.round(rows + noise((n_trials, *rows.shape), 7), 1))
    assert result.verdict == "violated"


def test_nulls_raise_no_alarm_in_100_runs():
    """Seeded: 100 runs at 1e-6 each would be too many chances."""
    generator = np.random.default_rng(8)

    def release(rows, n_trials):
        return rows + generator.normal(0.0, 15.0, (n_trials, *rows.shape))

    verdicts = {audited(release, n_cells=800).verdict for _ in range(100)}
    assert verdicts == {"no_attack_succeeded"}
