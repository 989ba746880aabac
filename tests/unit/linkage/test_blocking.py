import itertools
import math

import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage import blocking
from neuroveil.linkage.blocking import (
    BlockingPlan,
    blocked_pairs,
    meeting_probability,
    plan_blocking,
)
from neuroveil.linkage.dice import bit_counts, pairs_from


@pytest.fixture
def make_lists():
    def make(n_records: int, n_shared: int, change: float, seed: int = 8):
        generator = np.random.default_rng(seed)
        left, right = (generator.random((n_records, 512)) < 0.3 for _ in range(2))
        right[:n_shared] = left[:n_shared] ^ (generator.random((n_shared, 512)) < change)
        return np.packbits(left, axis=1), np.packbits(right, axis=1)

    return make


def test_the_formula_counts_the_draws_without_replacement():
    length, distance, n_places = 8, 3, 2
    free = sum(
        all(place >= distance for place in places)
        for places in itertools.combinations(range(length), n_places)
    )
    p = free / math.comb(length, n_places)
    assert math.isclose(meeting_probability(length, distance, n_places, 1), p)
    assert math.isclose(meeting_probability(length, distance, n_places, 3), 1 - (1 - p) ** 3)
    assert meeting_probability(8, 7, 2, 5) == 0.0
    assert meeting_probability(8, 0, 2, 1) == 1.0


def test_pairs_are_found_as_often_as_the_formula_says(make_lists):
    """Within five standard deviations of a binomial over 400 pairs and one seed."""
    left, right = make_lists(400, 400, 0.08)
    plan = BlockingPlan(512, 16, 4, 0.3, 0.5)
    found = blocked_pairs(left, right, plan)
    is_same = found.left == found.right
    distance = np.bitwise_count(left ^ right).sum(axis=1)
    expected = np.array([meeting_probability(512, float(d), 16, 4) for d in distance])
    spread = 5 * math.sqrt((expected * (1 - expected)).sum())
    assert abs(is_same.sum() - expected.sum()) < spread
    assert 50 < expected.sum() < 390


def test_a_plan_reaches_the_wanted_recall(make_lists):
    left, right = make_lists(3000, 300, 0.06)
    plan = plan_blocking(left, right, 0.75, recall=0.99)
    assert plan.recall >= 0.99
    every = pairs_from(left, right, 0.75)
    found = blocked_pairs(left, right, plan)
    assert len(every) > 250
    assert len(found) >= 0.98 * len(every)
    together = set(zip(every.left.tolist(), every.right.tolist(), strict=True))
    assert set(zip(found.left.tolist(), found.right.tolist(), strict=True)) <= together
    assert (np.diff(found.left) >= 0).all()


def test_longer_lists_get_more_places(make_lists):
    left, right = make_lists(2000, 0, 0.1)
    short = plan_blocking(left[:100], right[:100], 0.8)
    assert plan_blocking(left, right, 0.8).n_places > short.n_places


def test_the_recall_holds_for_records_that_set_many_bits(make_lists):
    left, right = make_lists(500, 0, 0.1)
    plan = plan_blocking(left, right, 0.8, recall=0.95)
    many = 2 * float(np.quantile(bit_counts(left), 0.89)) * 0.2
    assert meeting_probability(512, many, plan.n_places, plan.n_tables) >= 0.95


def test_small_chunks_change_nothing(make_lists, monkeypatch):
    left, right = make_lists(300, 50, 0.05)
    plan = BlockingPlan(512, 8, 3, 0.4, 0.9)
    whole = blocked_pairs(left, right, plan)
    monkeypatch.setattr(blocking, "_CHUNK", 7)
    pieces = blocked_pairs(left, right, plan)
    assert np.array_equal(whole.left, pieces.left)
    assert np.array_equal(whole.right, pieces.right)


def test_an_interrupted_run_goes_on_where_it_stopped(make_lists, tmp_path, monkeypatch):
    left, right = make_lists(300, 50, 0.05)
    plan = BlockingPlan(512, 10, 6, 0.6, 0.9)
    whole = blocked_pairs(left, right, plan)

    def stop(done: int, _: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        blocked_pairs(left, right, plan, tmp_path / "run", stop)
    computed = []
    one_table = blocking._one_table

    def counting(*arguments):
        computed.append(1)
        return one_table(*arguments)

    monkeypatch.setattr(blocking, "_one_table", counting)
    again = blocked_pairs(left, right, plan, tmp_path / "run")
    assert len(computed) == 2
    assert np.array_equal(whole.left, again.left)
    assert np.array_equal(whole.scores, again.scores)


def test_a_folder_of_other_lists_is_refused(make_lists, tmp_path):
    plan = BlockingPlan(512, 10, 1, 0.6, 0.9)
    blocked_pairs(*make_lists(20, 5, 0.05), plan, tmp_path / "run")
    with pytest.raises(LinkageError, match="other lists"):
        blocked_pairs(*make_lists(20, 5, 0.05, seed=9), plan, tmp_path / "run")


def test_what_cannot_be_planned_is_refused(make_lists):
    left, right = make_lists(5000, 0, 0.1)
    with pytest.raises(LinkageError, match="at most 1000 tables"):
        plan_blocking(left, right, 0.1, recall=0.999)
    with pytest.raises(LinkageError, match="between 0 and 1"):
        plan_blocking(left, right, 0.8, recall=1.0)
    with pytest.raises(LinkageError, match="encodings of 256 bits"):
        blocked_pairs(left, right, BlockingPlan(256, 8, 1, 0.8, 0.9))
