"""Candidates among millions of pairs, by locality-sensitive hashing of the encodings.

For each of several tables, k places of the encoding are drawn, and two records meet where they
agree in all k (Indyk and Motwani 1998; for encodings of names Durham 2012). Only pairs that
meet are compared. It uses nothing but the encodings that the matching sees anyway, so nothing
further leaks; blocking by postcode or year of birth would hand out a field in the clear.

Two records with n₁ and n₂ set bits and Dice similarity s differ in h = (n₁ + n₂)(1 - s) of L
places. They agree in k places drawn without replacement with probability

    p = C(L - h, k) / C(L, k),

and meet in at least one of T tables with probability 1 - (1 - p)^T.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.dice import (
    Rows,
    ScoredPairs,
    bit_counts,
    dice_of,
    joined,
    require_comparable,
)
from neuroveil.linkage.finished_tables import FinishedTables

MOST_TABLES = 1000
"""More of them take longer than comparing all pairs does, for any list this is meant for."""

_COST_OF_A_PAIR = 0.15  # microseconds: gather, count, compare
_COST_OF_A_RECORD = 0.6  # microseconds a table: gather k bits, sort, look up
_CHUNK = 1 << 21  # pairs compared at a time: bounds the memory
_TYPICAL = 0.9  # quantile of set bits that the plan reckons with; more bits mean more distance

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class BlockingPlan:
    """How candidates are found. Public.

    Parameters
    ----------
    length : int
        Bits of an encoding, L.
    n_places : int
        Places k that records must agree in, in a table.
    n_tables : int
        Tables T.
    lowest : float
        Dice similarity at which the wanted recall is reached, and below which pairs are dropped.
    recall : float
        Probability with which a pair of that similarity is found, by the formula.
    work : float
        Processor time that it should take, in microseconds of a common processor.
    """

    length: int
    n_places: int
    n_tables: int
    lowest: float
    recall: float
    work: float = 0.0

    def places(self, table: int) -> NDArray[np.intp]:
        """Draw the places of one table, always the same ones.

        Parameters
        ----------
        table : int
            Number of the table, from 0.

        Returns
        -------
        ndarray of intp, shape (n_places,)
            Different places of the encoding.
        """
        message = f"neuroveil blocking\x1f{self.length}\x1f{table}".encode()
        stream = hashlib.shake_256(message).digest(8 * self.length)
        return np.argsort(np.frombuffer(stream, dtype=">u8"), kind="stable")[: self.n_places]


def meeting_probability(length: int, distance: float, n_places: int, n_tables: int) -> float:
    """Say how probable it is that two records meet.

    Parameters
    ----------
    length : int
        Bits of an encoding.
    distance : float
        Places in which the two differ (Hamming distance).
    n_places, n_tables : int
        As in :class:`BlockingPlan`.

    Returns
    -------
    float
        1 - (1 - p)^T with p as in the module's text.
    """
    if length - distance < n_places:
        return 0.0
    log_p = sum(
        math.log((length - distance - place) / (length - place)) for place in range(n_places)
    )
    p = math.exp(log_p)
    return 1.0 if p >= 1 else -math.expm1(n_tables * math.log1p(-p))


def plan_blocking(
    left: BitArray, right: BitArray, lowest: float, recall: float = 0.99
) -> BlockingPlan:
    """Choose places and tables with the least work at the wanted recall.

    Parameters
    ----------
    left, right : ndarray of uint8, shape (n_records, n_bytes)
        Packed bits. Their numbers and how many bits they set are all that is used.
    lowest : float
        Dice similarity of interest, for instance the threshold, between 0 and 1.
    recall : float
        Wanted probability of finding a pair that is just so alike, between 0 and 1.

    Returns
    -------
    BlockingPlan
        With k from the sizes of the lists, and T from k and the recall.

    Raises
    ------
    LinkageError
        If it would take too many tables: pairs at this similarity differ too much.
    """
    require_comparable(left, right)
    for name, value in (("lowest similarity", lowest), ("recall", recall)):
        if not 0 < value < 1:
            raise LinkageError(name, "a number between 0 and 1", f"{value:g}", "Change it.")
    length = 8 * left.shape[1]
    typical = [float(np.quantile(bit_counts(bits), _TYPICAL)) for bits in (left, right)]
    fill = [float(bit_counts(bits).mean()) / length for bits in (left, right)]
    agree_by_chance = fill[0] * fill[1] + (1 - fill[0]) * (1 - fill[1])
    distance = sum(typical) * (1 - lowest)
    plans = []
    for n_places in range(8, min(64, length) + 1):
        p = meeting_probability(length, distance, n_places, 1)
        n_tables = 1 if p >= recall else _tables_for(p, recall)
        work = n_tables * (
            _COST_OF_A_RECORD * (len(left) + len(right))
            + _COST_OF_A_PAIR * len(left) * len(right) * agree_by_chance**n_places
        )
        plans.append((work, n_places, n_tables))
    work, n_places, n_tables = min(plans)
    if n_tables > MOST_TABLES:
        raise LinkageError(
            "blocking", f"at most {MOST_TABLES} tables for this recall", "more",
            "Records this far apart look like strangers: raise the lowest similarity, choose less "
            "hardening, or compare all pairs.",
        )  # fmt: skip
    reached = meeting_probability(length, distance, n_places, n_tables)
    return BlockingPlan(length, n_places, n_tables, lowest, reached, work)


def _tables_for(p: float, recall: float) -> int:
    """Give the smallest T with 1 - (1 - p)^T >= recall; past any limit where p vanishes."""
    if p <= 1e-9:
        return 10 * MOST_TABLES
    return math.ceil(math.log1p(-recall) / math.log1p(-p))


def blocked_pairs(
    left: BitArray,
    right: BitArray,
    plan: BlockingPlan,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> ScoredPairs:
    """Find the pairs that meet in some table and are alike enough.

    Parameters
    ----------
    left, right : ndarray of uint8, shape (n_records, n_bytes)
        Packed bits.
    plan : BlockingPlan
        From :func:`plan_blocking`.
    folder : Path, optional
        Where finished tables are kept, so that an interrupted run goes on where it stopped. It
        lies inside the trusted environment: it holds row numbers and similarities.
    progress : callable, optional
        Called with (tables done, tables).

    Returns
    -------
    ScoredPairs
        Each pair once, by row of the left list, then of the right list.

    Raises
    ------
    LinkageError
        If the folder holds another run's tables, or the encodings do not fit the plan.
    MachineError
        If there is no room for a finished table; those before it are kept.
    """
    require_comparable(left, right)
    if 8 * left.shape[1] != plan.length:
        raise LinkageError(
            "blocking plan", f"encodings of {plan.length} bits", f"{8 * left.shape[1]} bits",
            "Plan again for these lists.",
        )  # fmt: skip
    finished = FinishedTables(folder, asdict(plan), (left, right))
    columns = None
    found: list[ScoredPairs] = []
    for table in range(plan.n_tables):
        part = finished.read(table)
        if part is None:
            if columns is None:
                columns = _by_place(left), _by_place(right)
            part = _one_table(left, right, columns, plan, plan.places(table))
            finished.keep(table, part)
        found = [_each_once(joined([*found, part]))]
        if progress is not None:
            progress(table + 1, plan.n_tables)
    return joined(found)


Columns = NDArray[np.uint8]
"""Packed bits place by place, shape (length, n_records / 8 rounded up)."""


def _by_place(bits: BitArray) -> Columns:
    blocks = [
        np.packbits(np.unpackbits(bits[start : start + (1 << 16)], axis=1).T, axis=1)
        for start in range(0, len(bits), 1 << 16)
    ]
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((8 * bits.shape[1], 0), np.uint8)


def _keys(columns: Columns, places: NDArray[np.intp], n_records: int) -> NDArray[np.uint64]:
    keys = np.zeros(n_records, dtype=np.uint64)
    for place in places:
        keys <<= np.uint64(1)
        keys |= np.unpackbits(columns[place], count=n_records)
    return keys


def _one_table(
    left: BitArray, right: BitArray, columns: tuple[Columns, Columns],
    plan: BlockingPlan, places: NDArray[np.intp],
) -> ScoredPairs:  # fmt: skip
    keys = _keys(columns[0], places, len(left)), _keys(columns[1], places, len(right))
    found = []
    for pairs in _meetings(*keys):
        scores = dice_of(left, right, pairs)
        enough = scores >= plan.lowest - 1e-12
        found.append(ScoredPairs(pairs[0][enough], pairs[1][enough], scores[enough]))
    return joined(found)


def _meetings(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> Iterator[tuple[Rows, Rows]]:
    """List the pairs with equal keys, a bounded number at a time; no bucket is left out."""
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    by_key = np.argsort(left, kind="stable")  # neighbours in memory look up neighbours
    first = np.searchsorted(ordered, left[by_key], "left")
    counts = np.searchsorted(ordered, left[by_key], "right") - first
    met = np.flatnonzero(counts)
    by_key, first, counts = by_key[met], first[met], counts[met]
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _CHUNK, "right")))
        some = counts[start:stop]
        within = np.arange(int(some.sum())) - np.repeat(np.cumsum(some) - some, some)
        places = np.repeat(first[start:stop], some) + within
        yield np.repeat(by_key[start:stop], some).astype(np.int64), order[places].astype(np.int64)
        start = stop


def _each_once(pairs: ScoredPairs) -> ScoredPairs:
    order = np.lexsort((pairs.right, pairs.left))
    pairs = pairs.take(order)
    is_new = np.ones(len(pairs), dtype=np.bool_)
    is_new[1:] = (np.diff(pairs.left) != 0) | (np.diff(pairs.right) != 0)
    return pairs.take(is_new)
