import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.dice import ScoredPairs
from neuroveil.linkage.thresholds import (
    Accuracy,
    accuracy_of,
    learn_from_pairs,
    learn_thresholds,
)


def flipped(bits: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    return bits ^ (generator.random(bits.shape) < share)


@pytest.fixture
def lists() -> tuple[np.ndarray, np.ndarray]:
    """300 people a side, of whom the first 60 stand in both with some bits changed."""
    generator = np.random.default_rng(4)
    left, right = (generator.random((300, 512)) < 0.3 for _ in range(2))
    right[:60] = flipped(left[:60], 0.05, generator)
    return np.packbits(left, axis=1), np.packbits(right, axis=1)


TRUTH = np.arange(60), np.arange(60)


def test_a_threshold_between_people_and_strangers_is_found(lists):
    learned = learn_thresholds(*lists, TRUTH, "made-up lists")
    assert learned.accuracy.f1 == 1.0
    assert 0.75 < learned.section.threshold < 0.85
    assert learned.section.review_from <= learned.section.threshold
    assert learned.section.learned_on == "made-up lists"


def test_the_threshold_lies_in_the_middle_of_those_that_are_best():
    rows = np.arange(40)
    pairs = ScoredPairs(rows, rows, np.r_[np.full(20, 0.9), np.full(20, 0.5)])
    learned = learn_from_pairs(pairs, (rows[:20], rows[:20]), "given scores")
    assert learned.section.threshold == pytest.approx(
        0.825, abs=0.01
    )  # nothing was looked at below 0.75
    more = ScoredPairs(
        np.r_[pairs.left, 40], np.r_[pairs.right, 40], np.r_[pairs.scores, 0.6]
    )  # fmt: skip
    truth = np.r_[rows[:20], 40], np.r_[rows[:20], 40]
    assert 0.51 < learn_from_pairs(more, truth, "given scores").section.threshold < 0.6


def test_the_grey_zone_holds_no_more_pairs_than_there_are_people():
    rows = np.arange(1000)
    scores = np.r_[np.full(30, 0.9), np.full(1, 0.3), np.linspace(0.31, 0.6, 969)]
    truth = rows[:31], rows[:31]
    section = learn_from_pairs(ScoredPairs(rows, rows, scores), truth, "given scores").section
    in_grey = (scores >= section.review_from) & (scores < section.threshold)
    assert in_grey.sum() <= 33


def test_accuracy_counts_what_is_right():
    pairs = ScoredPairs(np.array([0, 1, 2]), np.array([0, 1, 5]), np.ones(3))
    found = accuracy_of(pairs, (np.array([0, 1, 3, 4]), np.array([0, 1, 3, 4])))
    assert found == Accuracy(n_found=3, n_true=4, n_right=2)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == 0.5
    assert found.f1 == pytest.approx(4 / 7)


def test_too_few_people_and_other_keys_are_refused(lists):
    with pytest.raises(LinkageError, match="at least 20"):
        learn_thresholds(*lists, (np.arange(5), np.arange(5)), "made-up lists")
    with pytest.raises(LinkageError, match="one key"):
        learn_from_pairs(ScoredPairs(np.array([1]), np.array([2]), np.ones(1)), TRUTH, "none")
