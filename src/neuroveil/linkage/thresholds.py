"""Thresholds learned on pairs whose truth is known: held-out people, or simulated ones.

Where two unrelated people lie depends on the fields, the fill and above all on the hardening, so
a threshold taken from another project is wrong. It also depends on the size of the lists: ten
times as many people on both sides make a hundred times as many chances for two of them to look
alike. Learn on lists about as long as those that will be matched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.dice import Rows, ScoredPairs, Scores, dice_of, pairs_from
from neuroveil.linkage.matching import assign_one_to_one
from neuroveil.linkage.schema import MatchingSection

FEWEST_PAIRS = 20
"""Of the same people, below which a threshold would rest on chance."""

_STEP = 0.005
_BELOW = 0.15  # how far below the true pairs strangers are looked for
_CANDIDATES_A_PAIR = 10
_GREY = 0.05  # the least width of the grey zone, unless it would be crowded
_MISSED_BELOW_REVIEW = 0.005  # share of true pairs that not even a person would see


@dataclass(frozen=True)
class Accuracy:
    """How well a matching agrees with the truth.

    Parameters
    ----------
    n_found, n_true, n_right : int
        Pairs that were matched, pairs of the same person, and those that are both.
    """

    n_found: int
    n_true: int
    n_right: int

    @property
    def precision(self) -> float:
        """Share of the matched pairs that are right; 1 where none was matched."""
        return self.n_right / self.n_found if self.n_found else 1.0

    @property
    def recall(self) -> float:
        """Share of the true pairs that were matched; 1 where there is none."""
        return self.n_right / self.n_true if self.n_true else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.n_found + self.n_true
        return 2.0 * self.n_right / total if total else 1.0


@dataclass(frozen=True)
class LearnedThresholds:
    """Thresholds, and how they did where they were learned.

    Parameters
    ----------
    section : MatchingSection
        For the schema.
    accuracy : Accuracy
        At the threshold, on the pairs it was learned on, and so on the rosy side.
    """

    section: MatchingSection
    accuracy: Accuracy


def accuracy_of(pairs: ScoredPairs, truth: tuple[Rows, Rows]) -> Accuracy:
    """Compare a matching with the truth.

    Parameters
    ----------
    pairs : ScoredPairs
        What was matched.
    truth : tuple of ndarray of int64, shape (n_true,) each
        Row numbers of the same person in the two lists.

    Returns
    -------
    Accuracy
        Counts, precision, recall and F1.
    """
    right = int(_is_true(pairs, truth).sum())
    return Accuracy(len(pairs), len(truth[0]), right)


def learn_thresholds(
    left: BitArray, right: BitArray, truth: tuple[Rows, Rows], learned_on: str
) -> LearnedThresholds:
    """Choose the threshold with the best F1 of a one-to-one assignment.

    Parameters
    ----------
    left, right : ndarray of uint8, shape (n_records, n_bytes)
        Hardened encodings of two lists whose truth is known.
    truth : tuple of ndarray of int64, shape (n_true,) each
        Row numbers of the same person in the two lists.
    learned_on : str
        Which pairs these are, in words, for the schema.

    Returns
    -------
    LearnedThresholds
        The middle of the thresholds that are best; and a grey zone below it that holds all but
        half a percent of the true pairs, unless it would hold more pairs than there are people.

    Raises
    ------
    LinkageError
        If there are fewer than 20 true pairs.
    """
    if len(truth[0]) < FEWEST_PAIRS:
        raise LinkageError(
            "pairs to learn from", f"at least {FEWEST_PAIRS} of the same people",
            f"{len(truth[0])}", "Learn on more people, or on simulated ones.",
        )  # fmt: skip
    lowest = float(_lower_end(dice_of(left, right, truth)))
    pairs = pairs_from(left, right, max(_STEP, lowest - _BELOW))
    return learn_from_pairs(pairs, truth, learned_on)


def learn_from_pairs(
    pairs: ScoredPairs, truth: tuple[Rows, Rows], learned_on: str
) -> LearnedThresholds:
    """Choose the threshold where the similarities are there already.

    Parameters
    ----------
    pairs : ScoredPairs
        All pairs of the two lists down to 0.15 below where true ones end, by any similarity
        from 0 to 1.
    truth : tuple of ndarray of int64, shape (n_true,) each
        Row numbers of the same person in the two lists.
    learned_on : str
        Which pairs these are, in words, for the schema.

    Returns
    -------
    LearnedThresholds
        As :func:`learn_thresholds`.

    Raises
    ------
    LinkageError
        If no pair is of the same person.
    """
    true_scores = pairs.scores[_is_true(pairs, truth)]
    if not len(true_scores):
        raise LinkageError(
            "pairs to learn from", "pairs of the same people that look alike", "none",
            "Check that both lists were encoded with one schema and one key.",
        )  # fmt: skip
    lowest = float(np.clip(_lower_end(true_scores), _STEP, 1 - _STEP))
    # Where there are ten candidates for each true pair, F1 has long been falling.
    crowd = np.sort(pairs.scores)[: -_CANDIDATES_A_PAIR * len(truth[0])]
    start = min(max(lowest - _BELOW, _STEP, *crowd[-1:].tolist()), lowest)
    steps = np.arange(np.floor(start / _STEP) * _STEP, 1.0, _STEP)
    results = [_at(pairs, truth, float(step)) for step in steps]
    best = _middle_of_best(np.array([result.f1 for result in results]))
    threshold = round(float(np.clip(steps[best], _STEP, 1.0 - _STEP)), 4)
    review = _review_from(pairs, truth, min(lowest, threshold - _GREY), threshold)
    section = MatchingSection(
        threshold=threshold,
        review_from=max(_STEP, min(round(review, 4), threshold)),
        learned_on=learned_on,
    )
    return LearnedThresholds(section, results[best])


def _lower_end(scores: Scores) -> np.float64:
    """Give the score above which all but half a percent of the true pairs lie."""
    return np.float64(np.quantile(scores, _MISSED_BELOW_REVIEW, method="lower"))


def _at(pairs: ScoredPairs, truth: tuple[Rows, Rows], threshold: float) -> Accuracy:
    candidates = pairs.take(pairs.scores >= threshold)
    return accuracy_of(candidates.take(assign_one_to_one(candidates)), truth)


def _middle_of_best(values: NDArray[np.float64]) -> int:
    """Give the middle of the longest run of best values: the place farthest from any worse."""
    places = np.flatnonzero(values >= values.max() - 1e-12)
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    longest = max(runs, key=len)
    return int(longest[len(longest) // 2])


def _review_from(
    pairs: ScoredPairs, truth: tuple[Rows, Rows], lowest: float, threshold: float
) -> float:
    """Go down to where true pairs end, or where a person would have to look at too many."""
    grey = np.sort(pairs.scores[pairs.scores < threshold])[::-1]
    most = len(truth[0])
    return max(lowest, float(grey[most])) if len(grey) > most else lowest


def _is_true(pairs: ScoredPairs, truth: tuple[Rows, Rows]) -> NDArray[np.bool_]:
    known = set(zip(truth[0].tolist(), truth[1].tolist(), strict=True))
    found = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    return np.array([pair in known for pair in found], dtype=np.bool_)
