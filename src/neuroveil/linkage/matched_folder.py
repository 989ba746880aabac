"""The folder of a matching: pairs, a person's decisions about them, and what they are bound to.

Row numbers mean something for the very lists that were matched and for no others: encoding a
list again puts its rows in another order. And a pair that is lost from the review list would
silently become two people. So the folder says which lists and which pairs it is about, and
whatever does not fit is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.errors import LinkageError
from neuroveil.linkage.dice import ScoredPairs
from neuroveil.linkage.encoded_list import EncodedList
from neuroveil.linkage.linked import MatchedLists, Place
from neuroveil.linkage.private_files import read_table, write_private, write_table

PAIR_COLUMNS = ("left", "left_row", "right", "right_row", "score")
"""Columns of both tables: the folders of two hospitals, rows of theirs, and the similarity."""

MATCHES_FILE, REVIEW_FILE, ABOUT_FILE = "matches.csv", "review.csv", "match.json"

_FORMAT, _FORMAT_VERSION = "neuroveil-matched-lists", 1
_ANSWERS = {"": "undecided", "yes": "same", "no": "different"}
_Pair = tuple[str, int, str, int]


@dataclass(frozen=True, eq=False)
class DecidedPairs:
    """Pairs of a matching after a person has looked at them.

    Parameters
    ----------
    same : dict of (int, int) to ScoredPairs
        Pairs of the same person, by the numbers of the two lists.
    undecided : dict of (int, int) to ScoredPairs
        Pairs that nobody has decided.
    """

    same: dict[Place, ScoredPairs]
    undecided: dict[Place, ScoredPairs]


def write_matched(folder: Path, matched: MatchedLists, lists: Mapping[str, EncodedList]) -> None:
    """Write what a matching found to new files that only their owner can read.

    Parameters
    ----------
    folder : Path
        An existing folder.
    matched : MatchedLists
        What was found.
    lists : mapping of str to EncodedList
        The lists that were matched, by name, in their order.

    Raises
    ------
    LinkageError
        If one of the files exists or cannot be written.
    """
    names = tuple(lists)
    places = sorted(matched.matches)
    matches, review = (
        [line for place in places for line in _lines(names, place, pairs[place])]
        for pairs in (matched.matches, matched.review)
    )
    reasons = [reason for place in places for reason in matched.reasons[place]]
    open_pairs = [(*pair, reason, "") for pair, reason in zip(review, reasons, strict=True)]
    write_table(folder / MATCHES_FILE, PAIR_COLUMNS, matches, "matches")
    write_table(folder / REVIEW_FILE, (*PAIR_COLUMNS, "reason", "same"), open_pairs, "review list")
    about = {
        "format": _FORMAT, "format_version": _FORMAT_VERSION,
        "lists": {name: each.digest for name, each in lists.items()},
        "matches": _digest(line[:4] for line in matches),
        "review": _digest(line[:4] for line in review),
    }  # fmt: skip
    data = json.dumps(about, indent=1).encode() + b"\n"
    write_private(folder / ABOUT_FILE, data, "description of the matching")


def read_decided(folder: Path, lists: Mapping[str, EncodedList]) -> DecidedPairs:
    """Read the pairs of a matching and what a person has said about them.

    Parameters
    ----------
    folder : Path
        As :func:`write_matched` filled it; the column ``same`` of the review list says ``yes``,
        ``no``, or nothing yet.
    lists : mapping of str to EncodedList
        The lists that were matched, by name, in any order.

    Returns
    -------
    DecidedPairs
        By the numbers of the lists as they are given here.

    Raises
    ------
    LinkageError
        If these are other lists than the ones that were matched, a pair was added, changed or
        lost, or an answer is something else.
    """
    about = _read_about(folder / ABOUT_FILE)
    if about.get("lists") != {name: each.digest for name, each in lists.items()}:
        raise LinkageError(
            "matched lists", "the very lists that were matched, under their names",
            "other lists, or lists that were encoded again",
            "Name the folders as for `neuroveil link match`, or match these lists.",
        )  # fmt: skip
    rows = {
        name: _read_pairs(folder / file, name == "review", about.get(name))
        for name, file in (("matches", MATCHES_FILE), ("review", REVIEW_FILE))
    }
    said = [*((pair, score, "same") for pair, score, _ in rows["matches"]), *rows["review"]]
    return DecidedPairs(
        *(_by_place((each for each in said if each[2] == wanted), tuple(lists))
          for wanted in ("same", "undecided"))
    )  # fmt: skip


def _lines(names: Sequence[str], place: Place, pairs: ScoredPairs) -> Iterable[tuple[Any, ...]]:
    columns = (pairs.left.tolist(), pairs.right.tolist(), pairs.scores.tolist())
    for left, right, score in zip(*columns, strict=True):
        yield names[place[0]], left, names[place[1]], right, f"{score:.4f}"


def _digest(pairs: Iterable[Sequence[Any]]) -> str:
    """Digest pairs whatever order somebody has sorted them in; scores may be rounded."""
    lines = sorted(json.dumps(list(pair), ensure_ascii=True) for pair in pairs)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _read_about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_bytes())
        if about["format"] != _FORMAT or about["format_version"] != _FORMAT_VERSION:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise LinkageError(
            "matched lists", f"a folder as `neuroveil link match` fills it, with {ABOUT_FILE}",
            "another folder, or one of which a file is missing",
            "Name the folder that was given to `neuroveil link match` as --out.",
        ) from None  # fmt: skip
    return dict(about)


def _read_pairs(path: Path, is_review: bool, digest: object) -> list[tuple[_Pair, float, str]]:
    columns = (*PAIR_COLUMNS, "same") if is_review else PAIR_COLUMNS
    found = []
    for line, row in enumerate(read_table(path, columns, path.name), 2):
        try:
            pair = (row["left"], int(row["left_row"]), row["right"], int(row["right_row"]))
            score = float(row["score"].replace(",", "."))
            said = _ANSWERS[row["same"].strip().lower()] if is_review else "same"
        except (KeyError, ValueError):
            raise LinkageError(
                f"{path.name}, line {line}", "a pair of these lists, with yes, no or nothing",
                "something else", "Fill in the column 'same' and change nothing else.",
            ) from None  # fmt: skip
        found.append((pair, score, said))
    if _digest(pair for pair, _, _ in found) != digest:
        raise LinkageError(
            path.name, "every pair that was found, each once", "pairs that were added, changed "
            "or lost", "Match the lists again; fill in the column 'same' and change nothing else.",
        )  # fmt: skip
    return found


def _by_place(
    pairs: Iterable[tuple[_Pair, float, str]], names: Sequence[str]
) -> dict[Place, ScoredPairs]:
    numbers = {name: number for number, name in enumerate(names)}
    found: dict[Place, list[tuple[int, int, float]]] = {}
    for (left, left_row, right, right_row), score, _ in pairs:
        one, other = (numbers[left], left_row), (numbers[right], right_row)
        if one[0] > other[0]:  # the lists are named in another order than before
            one, other = other, one
        found.setdefault((one[0], other[0]), []).append((one[1], other[1], score))
    return {
        place: ScoredPairs(*(np.array(column) for column in zip(*each, strict=True)))
        for place, each in found.items()
    }
