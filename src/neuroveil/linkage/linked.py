"""Any number of encoded lists, put together: who is one person, and what nobody has decided.

The linkage unit does this. It sees encodings, GlobalIDs and row numbers, and nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.dice import NO_PAIRS, Rows, ScoredPairs, joined
from neuroveil.linkage.encoded_list import EncodedList, require_alike
from neuroveil.linkage.long_lists import pairs_of_long_lists
from neuroveil.linkage.matching import REASONS, match_lists
from neuroveil.linkage.people import People, find_duplicates, join_people
from neuroveil.linkage.schema import LinkageSchema

ALL_PAIRS_UP_TO = 400_000_000
"""Pairs of two lists that are compared in one go; of longer lists, part by part."""

Place = tuple[int, int]
"""Numbers of two lists, from 0; the same twice for pairs inside one list."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class MatchedLists:
    """Pairs that were found. Inside the trusted environment only.

    Parameters
    ----------
    matches : dict of (int, int) to ScoredPairs
        Pairs of the same person, by the numbers of the two lists.
    review : dict of (int, int) to ScoredPairs
        Pairs that a person should decide.
    reasons : dict of (int, int) to sequence of str
        Why, pair by pair.
    n_exact : int
        How many matches rest on equal GlobalIDs.
    """

    matches: dict[Place, ScoredPairs]
    review: dict[Place, ScoredPairs]
    reasons: dict[Place, list[str]]
    n_exact: int

    def counts(self) -> dict[str, int]:
        """Count what was found.

        Returns
        -------
        dict of str to int
            Matches, those by GlobalID, and pairs to review.
        """
        return {
            "matches": sum(map(len, self.matches.values())),
            "exact": self.n_exact,
            "review": sum(map(len, self.review.values())),
        }


@dataclass(frozen=True, eq=False)
class ResolvedLists:
    """Who is one person. Inside the trusted environment only.

    Parameters
    ----------
    people : People
        Number of the person by list and row.
    undecided : tuple of ndarray of int64, shape (n_records,) each
        Number of the group of people who may be one person, from 1; 0 where all is decided.
    """

    people: People
    undecided: tuple[Rows, ...]

    def counts(self) -> dict[str, int]:
        """Count what was found.

        Returns
        -------
        dict of str to int
            Records (n before), people (n after), people who stand twice in a list although
            each should stand once, groups that are undecided, and the most rows that one
            person could then have.
        """
        return {
            "records": self.people.n_records,
            "people": self.people.n_people,
            "conflicts": self.people.n_conflicts,
            "undecided": max((int(rows.max(initial=0)) for rows in self.undecided), default=0),
            "rows_per_person_max": self.people.rows_per_person_max,
        }


def match_all(
    lists: Sequence[EncodedList],
    schema: LinkageSchema,
    progress: Progress | None = None,
    folder: Path | None = None,
    *,
    within: bool = True,
) -> MatchedLists:
    """Match encoded lists, every one with every other.

    Parameters
    ----------
    lists : sequence of EncodedList
        One a hospital. Each is searched for people who stand there twice, too.
    schema : LinkageSchema
        What all of them were made with; its thresholds decide.
    progress : callable, optional
        Called with (done, of how many, what): parts of long lists, and pairs of lists.
    folder : Path, optional
        Where finished parts of long lists are kept, so that an interrupted run goes on where
        it stopped. It holds row numbers and similarities.
    within : bool
        Whether people who stand twice in one of several lists are looked for by likeness.
        Without it, only rows of one GlobalID are put together there.

    Returns
    -------
    MatchedLists
        Row numbers and scores, never an identity.

    Raises
    ------
    LinkageError
        If the lists cannot be compared.
    """
    for other in lists:
        require_alike(lists[0], other, schema)
    found = MatchedLists({}, {}, {}, 0)
    n_exact = 0
    places = places_of(len(lists))
    if len(lists) > 1:
        places = [(number, number) for number in range(len(lists))] + places
    for done, place in enumerate(places, 1):
        long_lists = _LongLists(schema.matching.review_from, place, progress, folder)
        if len(lists) > 1 and place[0] == place[1] and not within:
            pairs, review, reasons, exact = _of_one_number(lists[place[0]], schema)
        else:
            pairs, review, reasons, exact = _pair(lists, place, schema, long_lists)
        if place[0] != place[1] or len(lists) == 1 or len(pairs) or len(review):
            found.matches[place], found.review[place], found.reasons[place] = pairs, review, reasons
        n_exact += exact
        if progress is not None:
            progress(done, len(places), "pairs of lists")
    return _without_settled(replace(found, n_exact=n_exact), [each.n_records for each in lists])


def _without_settled(found: MatchedLists, n_records: Sequence[int]) -> MatchedLists:
    """Leave out what needs no decision: pairs that other pairs have made one person already."""
    person = join_people(n_records, found.matches).of_record
    review, reasons = {}, {}
    for place, pairs in found.review.items():
        is_open = person[place[0]][pairs.left] != person[place[1]][pairs.right]
        review[place] = pairs.take(is_open)
        reasons[place] = list(itertools.compress(found.reasons[place], is_open))
    return replace(found, review=review, reasons=reasons)


def resolve_people(
    n_records: Sequence[int],
    matches: Mapping[Place, ScoredPairs],
    undecided: Mapping[Place, ScoredPairs],
) -> ResolvedLists:
    """Say who is one person.

    Parameters
    ----------
    n_records : sequence of int
        Length of each list.
    matches : mapping of (int, int) to ScoredPairs
        Pairs of the same person, those that a person decided among them.
    undecided : mapping of (int, int) to ScoredPairs
        Pairs that nobody has decided.

    Returns
    -------
    ResolvedLists
        Numbers of people and of undecided groups.

    Raises
    ------
    LinkageError
        If a pair names a row that does not exist.
    """
    matches = {**dict.fromkeys(places_of(len(n_records)), NO_PAIRS), **matches}
    people = join_people(n_records, matches, undecided)
    either = {
        place: joined([pairs, undecided.get(place, NO_PAIRS)]) for place, pairs in matches.items()
    }
    together = join_people(n_records, either)
    persons, groups = np.concatenate(people.of_record), np.concatenate(together.of_record)
    pairs = np.unique(np.stack([groups, persons]), axis=1)
    is_open = np.bincount(pairs[0], minlength=together.n_people) > 1
    numbers = np.where(is_open, np.cumsum(is_open), 0).astype(np.int64)
    return ResolvedLists(people, tuple(numbers[rows] for rows in together.of_record))


def places_of(n_lists: int) -> list[Place]:
    """List the pairs of lists that are compared.

    Parameters
    ----------
    n_lists : int
        Number of lists.

    Returns
    -------
    list of (int, int)
        Every list with every other; a single one with itself.
    """
    return list(itertools.combinations(range(n_lists), 2)) if n_lists > 1 else [(0, 0)]


@dataclass(frozen=True)
class _LongLists:
    """How candidates of two lists are found where there are very many pairs."""

    lowest: float
    place: Place
    progress: Progress | None
    folder: Path | None

    def candidates(self, left: BitArray | None, right: BitArray | None) -> ScoredPairs | None:
        if left is None or right is None or len(left) * len(right) <= ALL_PAIRS_UP_TO:
            return None
        one, other = (number + 1 for number in self.place)
        folder = None if self.folder is None else self.folder / f"lists-{one}-{other}"

        def tell(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(done, total, f"parts of lists {one} and {other}")

        return pairs_of_long_lists(left, right, self.lowest, folder, tell)


def _of_one_number(
    encoded: EncodedList, schema: LinkageSchema
) -> tuple[ScoredPairs, ScoredPairs, list[str], int]:
    """Rows of one list with the same GlobalID."""
    same = find_duplicates(schema.matching, None, encoded.global_ids).same
    return same, NO_PAIRS, [], len(same)


def _pair(
    lists: Sequence[EncodedList], place: Place, schema: LinkageSchema, long_lists: _LongLists
) -> tuple[ScoredPairs, ScoredPairs, list[str], int]:
    left, right = lists[place[0]], lists[place[1]]
    rules = schema.matching
    if place[0] == place[1]:
        candidates = long_lists.candidates(left.bits, left.bits)
        found = find_duplicates(rules, left.bits, left.global_ids, candidates)
        exact = sum(_same_number(left, found.same))
        reasons = [
            "different_numbers" if numbered else "grey_zone"
            for numbered in _both_numbered(left, found.review)
        ]
        return found.same, found.review, reasons, exact
    rows = _rows_once(left), _rows_once(right)
    one, other = (each.take(kept) for each, kept in zip((left, right), rows, strict=True))
    candidates = long_lists.candidates(one.bits, other.bits)
    matching = match_lists(one.site_list(), other.site_list(), rules, candidates)
    names: list[str] = [REASONS[int(each)] for each in matching.review_reasons]
    matches, review = (
        ScoredPairs(rows[0][pairs.left], rows[1][pairs.right], pairs.scores)
        for pairs in (matching.matches, matching.review)
    )
    return matches, review, names, matching.n_exact


def _rows_once(encoded: EncodedList) -> Rows:
    """Give the rows of a list on which each GlobalID stands for the first time."""
    first: dict[str, int] = {}
    ids = encoded.global_ids or [""] * encoded.n_records
    kept = [row for row, each in enumerate(ids) if not each or first.setdefault(each, row) == row]
    return np.array(kept, dtype=np.int64)


def _ids_of(encoded: EncodedList, pairs: ScoredPairs) -> list[tuple[str, str]]:
    ids = encoded.global_ids or [""] * encoded.n_records
    return [(ids[one], ids[other]) for one, other in zip(pairs.left, pairs.right, strict=True)]


def _same_number(encoded: EncodedList, pairs: ScoredPairs) -> list[bool]:
    return [bool(one) and one == other for one, other in _ids_of(encoded, pairs)]


def _both_numbered(encoded: EncodedList, pairs: ScoredPairs) -> list[bool]:
    return [bool(one and other) for one, other in _ids_of(encoded, pairs)]
