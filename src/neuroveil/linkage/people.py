"""From pairs to people: who is one person, over any number of lists."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.dice import NO_PAIRS, Rows, ScoredPairs, joined, pairs_from
from neuroveil.linkage.schema import MatchingSection


@dataclass(frozen=True, eq=False)
class People:
    """Who is one person, over all lists. Inside the trusted environment only.

    Parameters
    ----------
    of_record : tuple of ndarray of int64, shape (n_records,) each
        Number of the person, by list and row.
    n_people : int
        How many people there are: n after resolution.
    n_conflicts : int
        People with two records of a list in which each person should stand once.
    rows_per_person_max : int
        Rows that one person may have in the resolved table if every undecided pair were the
        same person; 1 where nothing is undecided.
    """

    of_record: tuple[Rows, ...]
    n_people: int
    n_conflicts: int
    rows_per_person_max: int

    @property
    def n_records(self) -> int:
        """Number of records in all lists: n before resolution."""
        return sum(len(rows) for rows in self.of_record)

    def require_settled(self) -> None:
        """Refuse to go on while it is not known who is who.

        Raises
        ------
        LinkageError
            If a pair is undecided, or a person stands twice in one list.
        """
        if self.n_conflicts:
            raise LinkageError(
                "linked lists", "each person once in each hospital's list",
                f"{self.n_conflicts} people with two records in one list",
                "Resolve the duplicates inside that hospital first, or raise the threshold.",
            )  # fmt: skip
        if self.rows_per_person_max > 1:
            raise LinkageError(
                "review list", "a decision for each pair",
                f"undecided pairs that could give one person {self.rows_per_person_max} rows",
                "Decide the pairs, or put them together as if each were one person.",
            )  # fmt: skip


def join_people(
    n_records: Sequence[int],
    matches: Mapping[tuple[int, int], ScoredPairs],
    undecided: Mapping[tuple[int, int], ScoredPairs] | None = None,
) -> People:
    """Put pairs of any number of lists together.

    Parameters
    ----------
    n_records : sequence of int
        Length of each list.
    matches : mapping of (int, int) to ScoredPairs
        Pairs of the same person, by the numbers of the two lists; the same number twice for
        duplicates inside one list, which are then expected.
    undecided : mapping of (int, int) to ScoredPairs, optional
        Pairs that nobody has decided.

    Returns
    -------
    People
        Numbered in the order of their first record.

    Raises
    ------
    LinkageError
        If a pair names a row that does not exist.
    """
    starts = np.concatenate([[0], np.cumsum(n_records)]).astype(np.int64)
    person = _groups(int(starts[-1]), _edges(matches, n_records, starts))
    n_people = int(person.max(initial=-1)) + 1
    of_record = tuple(person[a:b] for a, b in itertools.pairwise(starts))
    conflicts = {
        int(each)
        for number, rows in enumerate(of_record)
        if (number, number) not in matches
        for each in np.flatnonzero(np.bincount(rows, minlength=n_people) > 1)
    }
    edges = _edges(undecided or {}, n_records, starts)
    together = _groups(n_people, (person[edges[0]], person[edges[1]]))
    rows_max = int(np.bincount(together).max(initial=1)) if n_people else 1
    return People(of_record, n_people, len(conflicts), rows_max)


def _edges(
    pairs: Mapping[tuple[int, int], ScoredPairs], n_records: Sequence[int], starts: Rows
) -> tuple[Rows, Rows]:
    for (one, other), found in pairs.items():
        for rows, number in ((found.left, one), (found.right, other)):
            if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < n_records[number]:
                raise LinkageError(
                    "matches", f"rows of list {number + 1}", "a row that it does not have",
                    "Match these very lists again.",
                )  # fmt: skip
    left = [found.left + starts[one] for (one, _), found in pairs.items()]
    right = [found.right + starts[other] for (_, other), found in pairs.items()]
    empty = np.zeros(0, np.int64)
    return np.concatenate([empty, *left]), np.concatenate([empty, *right])


def _groups(size: int, edges: tuple[Rows, Rows]) -> Rows:
    """Number connected records in the order of their first one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not size:
        return np.zeros(0, np.int64)
    graph = coo_array((np.ones(len(edges[0])), edges), (size, size))
    labels = connected_components(graph, directed=False)[1]
    _, first, index = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[index].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Pairs inside one list. Inside the hospital only.

    Parameters
    ----------
    same : ScoredPairs
        The same person under two local keys, the earlier row left.
    review : ScoredPairs
        Pairs that a person should decide.
    """

    same: ScoredPairs
    review: ScoredPairs


def find_duplicates(
    rules: MatchingSection,
    bits: BitArray | None = None,
    global_ids: Sequence[str] | None = None,
    candidates: ScoredPairs | None = None,
) -> Duplicates:
    """Find people who stand in one hospital's list under several local keys.

    Parameters
    ----------
    rules : MatchingSection
        Thresholds.
    bits : ndarray of uint8, shape (n_records, n_bytes), optional
        Hardened record encodings.
    global_ids : sequence of str, optional
        Keyed identifiers, empty where a patient has no number.
    candidates : ScoredPairs, optional
        Pairs from ``rules.review_from`` on, where blocking has found them; default: all pairs
        are compared.

    Returns
    -------
    Duplicates
        A person may stand there more than twice, so pairs are not one to one. Pairs that look
        alike although their numbers differ are for a person to decide.
    """
    exact = _repeated(global_ids or ())
    if bits is None:
        return Duplicates(exact, NO_PAIRS)
    near = pairs_from(bits, bits, rules.review_from) if candidates is None else candidates
    near = near.take(near.left < near.right)
    numbers = list(global_ids or [""] * len(bits))
    twins = [(numbers[i], numbers[j]) for i, j in zip(near.left, near.right, strict=True)]
    known = np.array([bool(one and other) for one, other in twins], dtype=np.bool_)
    equal = known & np.array([one == other for one, other in twins], dtype=np.bool_)
    is_same = (near.scores >= rules.threshold) & ~known
    review = near.take(~is_same & ~equal)
    return Duplicates(joined([exact, near.take(is_same)]), review)


def _repeated(global_ids: Sequence[str]) -> ScoredPairs:
    first: dict[str, int] = {}
    pairs = [
        (first[each], row)
        for row, each in enumerate(global_ids)
        if each and first.setdefault(each, row) != row
    ]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return ScoredPairs(found[:, 0], found[:, 1], np.ones(len(found)))
