"""Codewords: defined bit by bit, spread evenly, addressable one by one."""

from __future__ import annotations

import hashlib
import statistics

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.codebook.vectors import (
    SEED_BYTES,
    Codebook,
    direction_norms,
    draw_codebook_seed,
)
from neuroveil.privacy.sampling import SystemRandomness

SEED = bytes(range(SEED_BYTES))
MASK = (1 << 64) - 1


def philox4x64(counter: int, key: int) -> list[int]:
    """Ten rounds of Salmon et al. 2011, in whole numbers."""
    words = [(counter >> (64 * index)) & MASK for index in range(4)]
    keys = [key & MASK, key >> 64]
    for round_number in range(10):
        if round_number:
            keys[0] = (keys[0] + 0x9E3779B97F4A7C15) & MASK
            keys[1] = (keys[1] + 0xBB67AE8584CAA73B) & MASK
        first = 0xD2E7470EE14C6C93 * words[0]
        second = 0xCA5A826395121157 * words[2]
        words = [
            (second >> 64) ^ words[1] ^ keys[0], second & MASK,
            (first >> 64) ^ words[3] ^ keys[1], first & MASK,
        ]  # fmt: skip
    return words


def codeword_by_hand(seed: bytes, number: int, sphere_dimension: int) -> list[int]:
    """The definition in words of one syllable: no numpy, no scipy, no tables."""
    key = int.from_bytes(hashlib.sha256(b"neuroveil codebook 1" + seed).digest()[:16], "little")
    counters = -(-sphere_dimension // 16)
    chunks: list[int] = []
    for step in range(counters):
        # A generator that starts at counter c gives the block of c + 1 first.
        for word in philox4x64(number * counters + step + 1, key):
            chunks += [(word >> (16 * part)) & 0xFFFF for part in range(4)]
    normal = statistics.NormalDist()
    z = [round(1024 * normal.inv_cdf((chunk + 0.5) / 65536)) for chunk in chunks]
    quarter = len(z) // 4
    a, b, c, d = (z[block * quarter : (block + 1) * quarter] for block in range(4))
    signs = ((1, 1, 1, 1), (1, 1, -1, -1), (1, -1, 1, -1), (1, -1, -1, 1))
    mixed = [
        s[0] * w + s[1] * x + s[2] * y + s[3] * v
        for s in signs
        for w, x, y, v in zip(a, b, c, d, strict=True)
    ]
    return mixed[:sphere_dimension]


@pytest.mark.parametrize(("number", "sphere_dimension"), [(0, 2), (7, 17), (4095, 364)])
def test_codewords_can_be_remade_without_any_library(number: int, sphere_dimension: int) -> None:
    codebook = Codebook(SEED, 4096, sphere_dimension)
    made = codebook.directions(number, number + 1)[0].tolist()
    assert made == codeword_by_hand(SEED, number, sphere_dimension)


def test_codewords_stay_the_same_for_ever() -> None:
    """Published messages must decode in years to come: a pinned digest of one codebook."""
    directions = Codebook(SEED, 4096, 364).directions(0, 4096)
    found = hashlib.sha256(directions.astype("<i2").tobytes()).hexdigest()
    assert found == "2938d3dc7fc9eb09428489d9adeb02733918348f449b1f16379c7fa49df4dfde"


def test_any_run_of_codewords_can_be_made_on_its_own() -> None:
    codebook = Codebook(SEED, 1000, 33)
    whole = codebook.directions(0, 1000)
    np.testing.assert_array_equal(codebook.directions(317, 642), whole[317:642])
    assert codebook.directions(5, 5).shape == (0, 33)


def test_vectors_are_unit_vectors_and_repeat_bit_by_bit() -> None:
    codebook = Codebook(SEED, 1 << 19, 364)
    numbers = np.array([3, 524287, 3, 77], dtype=np.int64)
    vectors = codebook.vectors(numbers)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-15)
    assert vectors[0].tobytes() == vectors[2].tobytes()
    assert codebook.vectors(numbers[1:2]).tobytes() == vectors[1].tobytes()


def test_another_seed_is_another_codebook() -> None:
    other = Codebook(SEED[::-1], 100, 20)
    assert not np.array_equal(other.directions(0, 100), Codebook(SEED, 100, 20).directions(0, 100))


def test_directions_are_uncorrelated_with_equal_variance() -> None:
    """65,536 codewords; entries of the covariance within 5 standard errors (fixed seed)."""
    directions = Codebook(SEED, 1 << 16, 40).directions(0, 1 << 16).astype(np.float64) / 2048
    covariance = directions.T @ directions / len(directions)
    error = 1 / np.sqrt(len(directions))
    assert np.abs(covariance - np.eye(40))[~np.eye(40, dtype=bool)].max() < 5 * error
    assert np.abs(np.diag(covariance) - 1).max() < 5 * np.sqrt(2) * error
    assert np.abs(directions.mean(axis=0)).max() < 5 * error


@pytest.mark.parametrize("axis", ["single column", "all columns", "two columns"])
def test_tails_are_those_of_the_sphere_in_every_direction(axis: str) -> None:
    """Counts above heights that 1 in 100 … 1 in 30,000 uniform points pass (5 sigma, seeded)."""
    sphere_dimension, size = 24, 1 << 19
    direction = {
        "single column": np.eye(sphere_dimension)[3],
        "all columns": np.full(sphere_dimension, sphere_dimension**-0.5),
        "two columns": (np.eye(sphere_dimension)[0] - np.eye(sphere_dimension)[12]) / 2**0.5,
    }[axis]
    directions = Codebook(SEED, size, sphere_dimension).directions(0, size).astype(np.float64)
    inner = directions @ direction / direction_norms(directions)
    from scipy.stats import beta

    half = (sphere_dimension - 1) / 2
    for share in (1e-2, 1e-3, 1 / 30_000):
        height = 1 - 2 * beta.ppf(share, half, half)
        expected = size * share
        assert abs((inner > height).sum() - expected) < 5 * np.sqrt(expected)


def test_bad_codebooks_are_refused() -> None:
    for seed, size, sphere_dimension in ((b"short", 10, 5), (SEED, 1, 5), (SEED, 10, 1)):
        with pytest.raises(ChainError):
            Codebook(seed, size, sphere_dimension)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (5, 11), (7, 6)])
def test_codewords_outside_are_refused(start: int, stop: int) -> None:
    with pytest.raises(ChainError, match="codeword"):
        Codebook(SEED, 10, 5).directions(start, stop)


def test_a_direction_of_zeros_does_not_divide_by_zero() -> None:
    assert direction_norms(np.zeros((1, 3))).tolist() == [1.0]


def test_seeds_are_fresh() -> None:
    source = SystemRandomness()
    seeds = {draw_codebook_seed(source) for _ in range(20)}
    assert len(seeds) == 20
    assert all(len(seed) == SEED_BYTES for seed in seeds)
