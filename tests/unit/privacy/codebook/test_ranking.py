"""The K closest codewords: exactly K, whatever comes, and the same for any splitting."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook import ranking
from neuroveil.privacy.codebook.ranking import closest_codewords, top_mask
from neuroveil.privacy.codebook.vectors import SEED_BYTES, Codebook

CODEBOOK = Codebook(bytes(SEED_BYTES), 3000, 21)


@pytest.fixture(name="lifted")
def fixture_lifted() -> IntArray:
    return np.random.default_rng(3).integers(-(1 << 25), 1 << 25, (40, 21))


def by_brute_force(lifted: IntArray, top: int) -> list[list[int]]:
    """Rank with unlimited whole numbers: compare s |s| / |z|^2 as fractions of integers."""
    from fractions import Fraction

    directions = CODEBOOK.directions(0, CODEBOOK.size).tolist()
    closest = []
    for row in lifted.tolist():
        scores = []
        for z in directions:
            inner = sum(a * b for a, b in zip(row, z, strict=True))
            scores.append(Fraction(inner * abs(inner), sum(a * a for a in z)))
        order = sorted(range(len(scores)), key=lambda j: (-scores[j], j))
        closest.append(sorted(order[:top]))
    return closest


def test_closest_codewords_are_those_of_exact_arithmetic(lifted: IntArray) -> None:
    assert closest_codewords(lifted[:4], CODEBOOK, 37).tolist() == by_brute_force(lifted[:4], 37)


@pytest.mark.parametrize("top", [1, 37, 1000, 1500])
def test_blocks_chunks_and_groups_change_nothing(
    lifted: IntArray, top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = closest_codewords(lifted, CODEBOOK, top)
    monkeypatch.setattr(ranking, "_BLOCK_BYTES", 8 * 21 * 170)
    monkeypatch.setattr(ranking, "_SCORE_BYTES", 8 * 3 * (170 + top))
    monkeypatch.setattr(ranking, "_STATE_BYTES", 16 * top * 11)
    np.testing.assert_array_equal(closest_codewords(lifted, CODEBOOK, top), whole)


def test_a_row_is_ranked_alike_alone_and_in_company(lifted: IntArray) -> None:
    together = closest_codewords(lifted, CODEBOOK, 50)
    for row in (0, 17, 39):
        alone = closest_codewords(lifted[row : row + 1], CODEBOOK, 50)
        np.testing.assert_array_equal(alone[0], together[row])


def test_numbers_come_in_order_and_once(lifted: IntArray) -> None:
    found = closest_codewords(lifted, CODEBOOK, 200)
    assert (np.diff(found, axis=1) > 0).all()
    assert found.min() >= 0
    assert found.max() < CODEBOOK.size


def test_a_row_of_zeros_ties_with_everything_and_takes_the_first() -> None:
    zeros = np.zeros((2, 21), dtype=np.int64)
    assert closest_codewords(zeros, CODEBOOK, 5).tolist() == [[0, 1, 2, 3, 4]] * 2


def test_no_rows_give_no_sets() -> None:
    empty = np.empty((0, 21), dtype=np.int64)
    assert closest_codewords(empty, CODEBOOK, 5).shape == (0, 5)


@pytest.mark.parametrize("top", [0, 3001])
def test_impossible_numbers_of_codewords_are_refused(lifted: IntArray, top: int) -> None:
    with pytest.raises(ChainError, match="codebook_top"):
        closest_codewords(lifted, CODEBOOK, top)


def test_rows_of_another_width_are_refused(lifted: IntArray) -> None:
    with pytest.raises(ChainError, match="21 columns"):
        closest_codewords(lifted[:, :20], CODEBOOK, 5)


def test_ties_go_to_the_first_and_nan_goes_last() -> None:
    nan = np.nan
    scores = np.array([
        [1.0, 2.0, 2.0, 2.0, 0.0],
        [nan, nan, nan, nan, nan],
        [nan, 1.0, nan, -np.inf, 3.0],
        [np.inf, nan, np.inf, np.inf, 0.0],
    ])  # fmt: skip
    expected = [[1, 2, 3], [0, 1, 2], [0, 1, 4], [0, 2, 3]]
    assert [np.flatnonzero(row).tolist() for row in top_mask(scores, 3)] == expected


def test_top_mask_refuses_more_than_there_are() -> None:
    with pytest.raises(ChainError):
        top_mask(np.zeros((1, 3)), 4)
