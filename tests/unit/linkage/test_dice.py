import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage import dice
from neuroveil.linkage.dice import dice_of, joined, pairs_from


@pytest.fixture
def two_lists() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    left = np.packbits(generator.random((530, 256)) < 0.3, axis=1)
    right = np.packbits(generator.random((70, 256)) < 0.35, axis=1)
    right[:10] = left[520:]
    return left, right


def by_hand(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    one, other = (np.unpackbits(bits, axis=1).astype(float) for bits in (left, right))
    return 2 * one @ other.T / (one.sum(axis=1)[:, None] + other.sum(axis=1)[None, :])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_all_pairs_from_a_threshold_are_found(two_lists, n_threads):
    found = pairs_from(*two_lists, 0.4, n_threads)
    right = by_hand(*two_lists)
    assert np.array_equal(np.stack([found.left, found.right], axis=1), np.argwhere(right >= 0.4))
    assert np.allclose(found.scores, right[found.left, found.right], atol=1e-15)
    assert np.array_equal(found.left[found.scores == 1], np.arange(520, 530))


def test_tiles_smaller_than_the_lists_change_nothing(two_lists, monkeypatch):
    whole = pairs_from(*two_lists, 0.35)
    monkeypatch.setattr(dice, "_TILE_COLUMNS", 16)
    tiled = pairs_from(*two_lists, 0.35)
    assert np.array_equal(whole.left, tiled.left)
    assert np.array_equal(whole.right, tiled.right)
    assert np.array_equal(whole.scores, tiled.scores)


def test_a_score_on_the_threshold_counts():
    left = np.packbits(np.eye(1, 64, dtype=np.uint8) | np.eye(1, 64, 1, dtype=np.uint8), axis=1)
    right = np.packbits(np.eye(1, 64, dtype=np.uint8), axis=1)
    assert len(pairs_from(left, right, 2 / 3)) == 1
    assert len(pairs_from(left, right, 0.667)) == 0


def test_given_pairs_are_compared_alone(two_lists):
    rows = np.array([3, 525, 3]), np.array([69, 5, 0])
    assert np.allclose(dice_of(*two_lists, rows), by_hand(*two_lists)[rows])


def test_no_pairs_join_to_none():
    assert len(joined([])) == 0


def test_what_cannot_be_compared_is_refused():
    good = np.full((3, 32), 7, np.uint8)
    empty = good.copy()
    empty[1] = 0
    with pytest.raises(LinkageError, match="1 records without any"):
        pairs_from(good, empty, 0.5)
    with pytest.raises(LinkageError, match="256 and 128 bits"):
        pairs_from(good, good[:, :16].copy(), 0.5)
    with pytest.raises(LinkageError, match="packed bits"):
        pairs_from(good.astype(np.int16), good, 0.5)
    for lowest in (0.0, 1.5, float("nan")):
        with pytest.raises(LinkageError, match="above 0"):
            pairs_from(good, good, lowest)
