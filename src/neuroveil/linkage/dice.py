"""Dice similarities of packed encodings, many at a time.

With ``|x|`` for the number of set bits, Dice is ``2 |a & b| / (|a| + |b|)``. For all pairs of two
lists of 10,000 records of 1024 bits this module takes under 2 s of processor time where the
processor counts bits in vectors, in tiles that stay in its cache (8 x 4096 pairs); a product of
matrices (BLAS) takes half as long again (``benchmarks/linkage.py`` measures both). A binary
index, faiss-cpu, would gain little and is a package of 65 MB.
Threads share the work: numpy lets go of the interpreter's lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import BitArray

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]

_TILE_ROWS = 8
_TILE_COLUMNS = 4096
_STRIPE = 512  # rows of the left list that one task takes


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs of records and how alike they are.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n_pairs,)
        Row numbers in the two lists.
    scores : ndarray of float64, shape (n_pairs,)
        Dice similarity, 0 to 1.
    """

    left: Rows
    right: Rows
    scores: Scores

    def __len__(self) -> int:
        return len(self.left)

    def take(self, chosen: NDArray[np.bool_] | Rows) -> ScoredPairs:
        """Select pairs.

        Parameters
        ----------
        chosen : ndarray of bool or int64, shape (n_pairs,) or (n_chosen,)
            Mask or places.

        Returns
        -------
        ScoredPairs
            Those pairs, in the order given.
        """
        return ScoredPairs(self.left[chosen], self.right[chosen], self.scores[chosen])


NO_PAIRS = ScoredPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
"""An empty set of pairs."""


def joined(parts: list[ScoredPairs]) -> ScoredPairs:
    """Put several sets of pairs together.

    Parameters
    ----------
    parts : list of ScoredPairs
        In order.

    Returns
    -------
    ScoredPairs
        All pairs.
    """
    if not parts:
        return NO_PAIRS
    return ScoredPairs(
        np.concatenate([part.left for part in parts]),
        np.concatenate([part.right for part in parts]),
        np.concatenate([part.scores for part in parts]),
    )


def require_comparable(left: BitArray, right: BitArray) -> None:
    """Refuse encodings that cannot be compared.

    Parameters
    ----------
    left, right : ndarray of uint8, shape (n_records, n_bytes)
        Packed bits.

    Raises
    ------
    LinkageError
        If their lengths differ, are no multiple of 64 bits, or a record sets no bit at all.
    """
    for name, bits in (("left", left), ("right", right)):
        if bits.ndim != 2 or bits.dtype != np.uint8 or bits.shape[1] % 8 or not bits.shape[1]:
            raise LinkageError(
                f"encodings of the {name} list", "packed bits, a multiple of 64 a record",
                f"shape {bits.shape} of {bits.dtype}", "Encode the list again.",
            )  # fmt: skip
        empty = int((~bits.any(axis=1)).sum())
        if empty:
            raise LinkageError(
                f"encodings of the {name} list", "at least one set bit a record",
                f"{empty} records without any",
                "These patients have no value in any field: take them out of approximate linkage.",
            )  # fmt: skip
    if left.shape[1] != right.shape[1]:
        raise LinkageError(
            "encodings", "the same length at every site",
            f"{8 * left.shape[1]} and {8 * right.shape[1]} bits",
            "Encode both lists with the same schema.",
        )  # fmt: skip


def pairs_from(
    left: BitArray, right: BitArray, lowest: float, n_threads: int | None = None
) -> ScoredPairs:
    """Find all pairs that are at least so much alike, among all pairs of two lists.

    Parameters
    ----------
    left, right : ndarray of uint8, shape (n_records, n_bytes)
        Packed bits.
    lowest : float
        Lowest Dice similarity of interest, above 0.
    n_threads : int, optional
        Default: one a core.

    Returns
    -------
    ScoredPairs
        By row of the left list, then of the right list.

    Raises
    ------
    LinkageError
        If the encodings cannot be compared, or ``lowest`` is not in (0, 1].
    """
    require_comparable(left, right)
    if not 0 < lowest <= 1:
        raise LinkageError(
            "lowest similarity", "a number above 0 and at most 1", f"{lowest:g}", "Change it."
        )
    words = [_words(left), _words(right)]
    counts = [bit_counts(left), bit_counts(right)]
    starts = range(0, len(left), _STRIPE)
    with ThreadPoolExecutor(n_threads or os.cpu_count() or 1) as pool:
        stripes = pool.map(
            lambda start: _stripe(words, counts, lowest, slice(start, start + _STRIPE)), starts
        )
        return joined([part for stripe in stripes for part in stripe])


def dice_of(left: BitArray, right: BitArray, pairs: tuple[Rows, Rows]) -> Scores:
    """Compare given pairs only.

    Parameters
    ----------
    left, right : ndarray of uint8, shape (n_records, n_bytes)
        Packed bits.
    pairs : tuple of ndarray of int64, shape (n_pairs,) each
        Row numbers in the two lists.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        Dice similarities.
    """
    one, other = pairs
    scores = np.empty(len(one))
    words = left.view(np.uint64), right.view(np.uint64)
    counts = bit_counts(left), bit_counts(right)
    for start in range(0, len(one), 1 << 16):
        i, j = one[start : start + (1 << 16)], other[start : start + (1 << 16)]
        shared = np.bitwise_count(words[0][i] & words[1][j]).sum(axis=1, dtype=np.int64)
        scores[start : start + len(i)] = 2.0 * shared / (counts[0][i] + counts[1][j])
    return scores


def bit_counts(bits: BitArray) -> Rows:
    """Count the set bits of each record.

    Parameters
    ----------
    bits : ndarray of uint8, shape (n_records, n_bytes)
        Packed bits.

    Returns
    -------
    ndarray of int64, shape (n_records,)
        Set bits.
    """
    counts: Rows = np.bitwise_count(np.ascontiguousarray(bits)).sum(axis=1, dtype=np.int64)
    return counts


def _words(bits: BitArray) -> NDArray[np.uint64]:
    """Word by word instead of record by record, so that inner loops run over records."""
    return np.ascontiguousarray(np.ascontiguousarray(bits).view(np.uint64).T)


def _stripe(
    words: list[NDArray[np.uint64]], counts: list[Rows], lowest: float, rows: slice
) -> list[ScoredPairs]:
    """Compare some rows of the left list with the whole right list."""
    found = []
    both = np.empty((_TILE_ROWS, _TILE_COLUMNS), dtype=np.uint64)
    bits = np.empty((_TILE_ROWS, _TILE_COLUMNS), dtype=np.uint8)
    shared = np.empty((_TILE_ROWS, _TILE_COLUMNS), dtype=np.uint16)
    for i, j in _tiles(range(*rows.indices(len(counts[0]))), len(counts[1])):
        a, b = words[0][:, i], words[1][:, j]
        shape = (slice(a.shape[1]), slice(b.shape[1]))
        total = shared[shape]
        total[...] = 0
        for word in range(len(a)):
            np.bitwise_and(a[word, :, None], b[word, None, :], out=both[shape])
            np.bitwise_count(both[shape], out=bits[shape])
            np.add(total, bits[shape], out=total)
        sums = counts[0][i, None] + counts[1][None, j]
        # A hair below, so that rounding never loses a pair that lies on the threshold.
        row, column = np.nonzero(2.0 * total >= (lowest - 1e-12) * sums)
        if len(row):
            scores = 2.0 * total[row, column] / sums[row, column]
            found.append(ScoredPairs(row + i.start, column + j.start, scores))
    return [_in_order(joined(found))] if found else []


def _tiles(rows: range, n_columns: int) -> Iterator[tuple[slice, slice]]:
    for start in range(rows.start, rows.stop, _TILE_ROWS):
        for column in range(0, n_columns, _TILE_COLUMNS):
            yield (
                slice(start, min(start + _TILE_ROWS, rows.stop)),
                slice(column, min(column + _TILE_COLUMNS, n_columns)),
            )


def _in_order(pairs: ScoredPairs) -> ScoredPairs:
    return pairs.take(np.lexsort((pairs.right, pairs.left)))
