"""Codewords in whole numbers, against numpy's generator and scipy's quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from neuroveil.privacy.verify.codewords import decoded, direction, key_of, philox, quantile_table


def test_published_vector_of_philox() -> None:
    """Known-answer test of Random123 (Salmon et al. 2011): counter and key of zeros."""
    assert philox(0, (0, 0)) == (
        0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B,
    )  # fmt: skip


@given(st.integers(0, 2**100), st.binary(min_size=16, max_size=16))
def test_blocks_are_those_of_numpy(counter: int, seed: bytes) -> None:
    low, high = key_of(seed)
    stream = np.random.Philox(key=low | high << 64, counter=counter)
    assert tuple(stream.random_raw(4).tolist()) == philox(counter + 1, (low, high))


def test_quantiles_are_those_of_scipy_and_far_from_a_tie() -> None:
    exact = 1024 * ndtri((np.arange(65536) + 0.5) / 65536)
    assert list(quantile_table()) == np.rint(exact).astype(int).tolist()
    assert np.abs(exact - np.floor(exact) - 0.5).min() > 1e-6


@pytest.mark.parametrize("sphere", [2, 15, 16, 17, 64, 364])
@pytest.mark.parametrize("number", [0, 1, 2**30 - 1])
def test_directions_by_matrices(sphere: int, number: int) -> None:
    """The contract's rule once more, by numpy and a Hadamard matrix."""
    seed, c = bytes(range(16)), -(-sphere // 16)
    low, high = key_of(seed)
    stream = np.random.Philox(key=low | high << 64, counter=c * number)
    chosen = stream.random_raw(4 * c).astype("<u8").view("<u2")
    blocks = np.array(quantile_table())[chosen].reshape(4, 4 * c)
    signs = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])
    assert direction(seed, number, sphere) == (signs @ blocks).reshape(-1)[:sphere].tolist()


def test_a_decoded_row_has_the_length_that_its_scale_says() -> None:
    row = decoded(bytes(16), 5, 364, 7.5)
    entries = direction(bytes(16), 5, 364)
    whole = np.append(row, entries[-1] / np.linalg.norm(entries) * 7.5)
    assert len(row) == 363
    assert np.linalg.norm(whole) == pytest.approx(7.5, rel=1e-12)


def test_codewords_are_spread_over_the_sphere() -> None:
    """2,000 codewords: means and second moments of entries within six standard errors."""
    words = np.array([decoded(b"spread over all.", j, 9, 1.0) for j in range(2000)])
    assert np.abs(words.mean(axis=0)).max() < 6 / np.sqrt(9 * 2000)
    assert np.abs((words**2).mean(axis=0) - 1 / 9).max() < 6 * np.sqrt(2) / 9 / np.sqrt(2000)
