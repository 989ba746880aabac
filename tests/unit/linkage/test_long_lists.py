"""Long lists: by blocking where that is less work, part by part otherwise, never a refusal."""

import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage import long_lists
from neuroveil.linkage.dice import pairs_from
from neuroveil.linkage.finished_tables import FinishedTables
from neuroveil.linkage.long_lists import pairs_of_long_lists


def lists(n_records: int, fill: float, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """The first fifth of both lists is the same people, with some bits changed."""
    generator = np.random.default_rng(seed)
    left, right = (generator.random((n_records, 512)) < fill for _ in range(2))
    n_same = n_records // 5
    right[:n_same] = left[:n_same] ^ (generator.random((n_same, 512)) < 0.05)
    return np.packbits(left, axis=1), np.packbits(right, axis=1)


@pytest.mark.parametrize("rows", [1, 7, 300])
def test_parts_together_are_the_whole(monkeypatch, tmp_path, rows):
    """Nothing is lost where encodings are half full and blocking would be of no use."""
    left, right = lists(300, 0.5)
    monkeypatch.setattr(long_lists, "PAIRS_A_STRIPE", 300 * rows)
    monkeypatch.setattr(long_lists, "blocked_pairs", None)
    done = []
    found = pairs_of_long_lists(left, right, 0.6, tmp_path / "a", lambda *part: done.append(part))
    expected = pairs_from(left, right, 0.6)
    for name in ("left", "right", "scores"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    n_parts = -(-300 // rows)
    assert done == [(number + 1, n_parts) for number in range(n_parts)]
    monkeypatch.setattr(long_lists, "pairs_from", None)  # all parts are there already
    again = pairs_of_long_lists(left, right, 0.6, tmp_path / "a")
    np.testing.assert_array_equal(again.right, expected.right)


def test_two_runs_may_finish_one_part_at_one_moment(monkeypatch, tmp_path):
    left, right = lists(20, 0.5)
    one, other = (FinishedTables(tmp_path, {}, (left, right)) for _ in range(2))
    pairs, save = pairs_from(left, right, 0.6), np.savez

    def overtaken(stream, **arrays):
        monkeypatch.setattr(np, "savez", save)
        other.keep(0, pairs)
        save(stream, **arrays)

    monkeypatch.setattr(np, "savez", overtaken)
    one.keep(0, pairs)
    kept = one.read(0)
    assert kept is not None
    np.testing.assert_array_equal(kept.scores, pairs.scores)
    assert {file.name for file in tmp_path.iterdir()} == {"run.json", "table-0000.npz"}


def test_lists_that_cannot_be_blocked_are_compared_all_the_same():
    left, right = lists(400, 0.5)
    found = pairs_of_long_lists(left, right, 0.02)
    assert len(found) == len(pairs_from(left, right, 0.02))


@pytest.mark.slow
def test_blocking_is_used_where_it_is_less_work(monkeypatch):
    left, right = lists(20_000, 0.3)
    monkeypatch.setattr(long_lists, "_in_stripes", None)
    found = pairs_of_long_lists(left, right, 0.85)
    same = found.left[found.left == found.right]
    assert len(same) > 0.95 * (np.bitwise_count(left[:4000] ^ right[:4000]).sum(axis=1) < 40).sum()


def test_parts_of_another_comparison_are_refused(tmp_path):
    pairs_of_long_lists(*lists(50, 0.5), 0.6, tmp_path / "a")
    for wrong in ((lists(50, 0.5, seed=6), 0.6), (lists(50, 0.5), 0.61)):
        with pytest.raises(LinkageError, match="other lists or another plan"):
            pairs_of_long_lists(*wrong[0], wrong[1], tmp_path / "a")
