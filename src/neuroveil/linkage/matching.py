"""Which records of two lists are the same person: exact first, then by likeness, one to one.

What comes out names row numbers and similarities, never an identity. Pairs that a program should
not decide go to a review list: pairs in the grey zone, pairs that lost to a better one, and
pairs that look alike although their patient numbers differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.dice import (
    NO_PAIRS,
    Rows,
    ScoredPairs,
    joined,
    pairs_from,
    require_comparable,
)
from neuroveil.linkage.schema import MatchingSection

Reason = Literal["grey_zone", "rival", "different_numbers"]
REASONS: tuple[Reason, ...] = ("grey_zone", "rival", "different_numbers")
"""Why a pair is on the review list, in the order of :attr:`Matching.review_reasons`."""

_LARGEST_COMPONENT = 4000  # records a side that a dense assignment takes (128 MB)


@dataclass(frozen=True, eq=False)
class SiteList:
    """What one hospital hands in: encodings, global identifiers, or both, row by row.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_records, n_bytes), optional
        Hardened record encodings.
    global_ids : sequence of str, optional
        Keyed identifiers, one a row; empty where a patient has no number. They stay inside
        the trusted environment.

    Raises
    ------
    LinkageError
        If there is neither, their numbers differ, or an identifier stands twice.
    """

    bits: BitArray | None = None
    global_ids: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.bits is None and self.global_ids is None:
            raise LinkageError(
                "list", "encodings, global identifiers, or both", "neither", "Encode the list."
            )
        if self.bits is not None and self.global_ids is not None and (
            len(self.bits) != len(self.global_ids)
        ):  # fmt: skip
            raise LinkageError(
                "list", "an encoding and an identifier a row",
                f"{len(self.bits)} encodings and {len(self.global_ids)} identifiers",
                "Encode the list again.",
            )  # fmt: skip
        filled = [each for each in self.global_ids or () if each]
        repeated = len(filled) - len(set(filled))
        if repeated:
            raise LinkageError(
                "list", "each person once", f"{repeated} repeated identifiers",
                "Resolve the duplicates inside this hospital first.",
            )  # fmt: skip

    @property
    def n_records(self) -> int:
        """Number of rows."""
        if self.bits is not None:
            return len(self.bits)
        return len(self.global_ids or ())


@dataclass(frozen=True, eq=False)
class Matching:
    """Who is who. Inside the trusted environment only.

    Parameters
    ----------
    matches : ScoredPairs
        One to one; a score of 1 for pairs with the same global identifier.
    n_exact : int
        How many of the matches, the first ones, come from global identifiers.
    review : ScoredPairs
        Pairs that a person should decide, by falling score.
    review_reasons : ndarray of uint8, shape (n_review,)
        Place in :data:`REASONS`.
    """

    matches: ScoredPairs
    n_exact: int
    review: ScoredPairs
    review_reasons: NDArray[np.uint8]

    def counts(self) -> dict[str, int]:
        """Count what was found.

        Returns
        -------
        dict of str to int
            Matches, those by identifier, and pairs to review by reason.
        """
        reasons = np.bincount(self.review_reasons, minlength=len(REASONS))
        return {
            "matches": len(self.matches),
            "exact": self.n_exact,
            "review": len(self.review),
            **{name: int(count) for name, count in zip(REASONS, reasons, strict=True)},
        }


def match_lists(
    left: SiteList,
    right: SiteList,
    rules: MatchingSection,
    candidates: ScoredPairs | None = None,
) -> Matching:
    """Match two hospitals' lists.

    Parameters
    ----------
    left, right : SiteList
        Encoded with the same schema and keys.
    rules : MatchingSection
        Thresholds.
    candidates : ScoredPairs, optional
        Pairs from ``rules.review_from`` on, where blocking has found them; default: all pairs
        are compared.

    Returns
    -------
    Matching
        Row numbers and scores.

    Raises
    ------
    LinkageError
        If the lists cannot be compared.
    """
    exact = _same_identifier(left, right)
    if left.bits is None or right.bits is None:
        return Matching(exact, len(exact), NO_PAIRS, np.zeros(0, np.uint8))
    require_comparable(left.bits, right.bits)
    if candidates is None:
        candidates = pairs_from(left.bits, right.bits, rules.review_from)
    is_free = ~np.isin(candidates.left, exact.left) & ~np.isin(candidates.right, exact.right)
    late = candidates.take(~is_free & (candidates.scores >= rules.threshold))
    late = late.take(~_numbers_differ(left, right, late))
    free = candidates.take(is_free & (candidates.scores >= rules.review_from))
    conflict = _numbers_differ(left, right, free)
    is_candidate = (free.scores >= rules.threshold) & ~conflict
    places = np.flatnonzero(is_candidate)
    fuzzy = places[assign_one_to_one(free.take(is_candidate))]
    return _with_rivals(_sorted_out(exact, free, fuzzy, conflict, is_candidate), late)


def _sorted_out(
    exact: ScoredPairs, free: ScoredPairs, fuzzy: Rows,
    conflict: NDArray[np.bool_], is_candidate: NDArray[np.bool_],
) -> Matching:  # fmt: skip
    """Put matches together, and what is left for a person to decide."""
    matches = joined([exact, free.take(fuzzy)])
    is_matched = np.zeros(len(free), dtype=np.bool_)
    is_matched[fuzzy] = True
    settled = np.isin(free.left, matches.left) | np.isin(free.right, matches.right)
    is_rival = is_candidate & ~is_matched
    # A pair below the threshold matters only where neither record has found its partner.
    undecided = (~settled & ~is_candidate) | is_rival | (conflict & ~is_matched)
    reasons = np.where(conflict, 2, np.where(is_rival, 1, 0)).astype(np.uint8)
    places = np.flatnonzero(undecided)
    places = places[np.argsort(-free.scores[places], kind="stable")]
    return Matching(matches, len(exact), free.take(places), reasons[places])


def _with_rivals(found: Matching, late: ScoredPairs) -> Matching:
    """Add pairs in which one record has its partner by number and the other has no number.

    It may be the same person once more, as one who stands in a list twice.
    """
    review = joined([found.review, late])
    reasons = np.concatenate([found.review_reasons, np.full(len(late), 1, dtype=np.uint8)])
    order = np.argsort(-review.scores, kind="stable")
    return Matching(found.matches, found.n_exact, review.take(order), reasons[order])


def _same_identifier(left: SiteList, right: SiteList) -> ScoredPairs:
    if left.global_ids is None or right.global_ids is None:
        return NO_PAIRS
    rows = {each: row for row, each in enumerate(right.global_ids) if each}
    pairs = [(i, rows[each]) for i, each in enumerate(left.global_ids) if each and each in rows]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return ScoredPairs(found[:, 0], found[:, 1], np.ones(len(found)))


def _numbers_differ(left: SiteList, right: SiteList, pairs: ScoredPairs) -> NDArray[np.bool_]:
    """Pairs of which both have a number: equal ones were matched before, so these differ."""
    if left.global_ids is None or right.global_ids is None:
        return np.zeros(len(pairs), dtype=np.bool_)
    has_number = [np.array([bool(each) for each in ids], dtype=np.bool_)
                  for ids in (left.global_ids, right.global_ids)]  # fmt: skip
    return has_number[0][pairs.left] & has_number[1][pairs.right]


def assign_one_to_one(pairs: ScoredPairs) -> Rows:
    """Choose pairs so that no record stands in two, with the largest sum of scores.

    Parameters
    ----------
    pairs : ScoredPairs
        Candidates, each pair once.

    Returns
    -------
    ndarray of int64, shape (n_chosen,)
        Places of the chosen pairs, in rising order. Records that only meet each other are
        settled at once; each larger group is an assignment problem of its own.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(pairs):
        return np.zeros(0, dtype=np.int64)
    left, left_index = np.unique(pairs.left, return_inverse=True)
    _, right_index = np.unique(pairs.right, return_inverse=True)
    size = len(left) + int(right_index.max()) + 1
    graph = coo_array((np.ones(len(pairs)), (left_index, right_index + len(left))), (size, size))
    component = connected_components(graph, directed=False)[1][left_index]
    order = np.argsort(component, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    chosen = [group if len(group) == 1 else _best(pairs, group) for group in groups]
    return np.sort(np.concatenate(chosen)).astype(np.int64)


def _best(pairs: ScoredPairs, group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Solve one group of records that meet each other."""
    from scipy.optimize import linear_sum_assignment

    rows, i = np.unique(pairs.left[group], return_inverse=True)
    columns, j = np.unique(pairs.right[group], return_inverse=True)
    if max(len(rows), len(columns)) > _LARGEST_COMPONENT:
        raise LinkageError(
            "matching.threshold", "a threshold that tells people apart",
            f"a group of more than {_LARGEST_COMPONENT} records that all look alike",
            "Learn the threshold for this schema and hardening, and raise it.",
        )  # fmt: skip
    scores = np.zeros((len(rows), len(columns)))
    place = np.full((len(rows), len(columns)), -1, dtype=np.intp)
    scores[i, j], place[i, j] = pairs.scores[group], group
    taken = place[linear_sum_assignment(scores, maximize=True)]
    return taken[taken >= 0]
