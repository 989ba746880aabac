"""Ranks with ties, assignments that do not follow the order of a table, and open sets."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.audit.table.ranks import assign, open_set, standing


def test_ranks_share_ties_evenly() -> None:
    scores = np.array([[3.0, 1.0, 3.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 5.0, 1.0, 2.0]])
    found = standing(scores, np.array([2, 0, 3]))
    np.testing.assert_array_equal(found.better, [0, 0, 1])
    np.testing.assert_array_equal(found.equal, [1, 3, 0])
    np.testing.assert_allclose(found.within(1), [0.5, 0.25, 0.0])
    np.testing.assert_allclose(found.within(2), [1.0, 0.5, 1.0])
    np.testing.assert_allclose(found.within(4), 1.0)


def test_a_table_of_equal_scores_is_assigned_at_random() -> None:
    """The identity would be right for all: 1000 rows, one right on the average (seeded)."""
    right = assign(np.zeros((1000, 1000)), np.random.default_rng(3)) == np.arange(1000)
    assert right.sum() <= 8


def test_assignment_is_better_than_each_row_alone() -> None:
    scores = np.array([[3.0, 2.9], [2.0, 0.0]])
    np.testing.assert_array_equal(assign(scores, np.random.default_rng(0)), [1, 0])


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
def test_there_may_be_more_or_fewer_candidates_than_rows(shape: tuple[int, int]) -> None:
    assigned = assign(np.random.default_rng(1).normal(size=shape), np.random.default_rng(2))
    used = assigned[assigned >= 0]
    assert used.size == min(shape) == np.unique(used).size


class TestOpenSets:
    """Some released rows belong to nobody who is known."""

    SCORES = np.array([[5.0, 1.0, 9.0], [1.0, 4.0, 0.0], [2.0, 3.0, 9.0], [0.0, 2.0, 1.0]])
    MATES = np.array([0, 1, 2, -1])

    def test_who_is_enrolled_and_what_is_best(self) -> None:
        found = open_set(self.SCORES, self.MATES, np.array([True, True, False]))
        np.testing.assert_array_equal(found.is_enrolled, [True, True, False, False])
        np.testing.assert_array_equal(found.best, [5, 4, 3, 2])
        np.testing.assert_array_equal(found.is_right, [1, 1, 0, 0])

    def test_miss_rate_at_the_threshold_that_strangers_allow(self) -> None:
        found = open_set(self.SCORES, self.MATES, np.array([True, True, False]))
        assert found.miss_rate(0.0, np.ones(4)) == (0.0, 0.0)
        weaker = open_set(
            self.SCORES - 2.5 * np.eye(4, 3), self.MATES, np.array([True, True, False])
        )
        missed, realised = weaker.miss_rate(0.0, np.ones(4))  # now 2.5, 1.5 against 3, 2
        assert (missed, realised) == (1.0, 0.0)
        missed, realised = weaker.miss_rate(0.5, np.ones(4))
        assert (missed, realised) == (0.5, 0.5)
        assert weaker.miss_rate(1.0, np.ones(4))[1] == 1.0

    def test_without_strangers_or_without_known_people_nothing_is_defined(self) -> None:
        found = open_set(self.SCORES[:2], self.MATES[:2], np.ones(3, dtype=bool))
        assert np.isnan(found.miss_rate(0.1, np.ones(2))[0])
