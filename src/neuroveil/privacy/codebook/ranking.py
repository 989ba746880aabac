"""The K codewords that are closest to each row, for codebooks of any size.

Inner products are sums of whole numbers below 2^53, which doubles carry without rounding in
any order of summation. So a row's ranking depends on that row and the codebook alone: not on
the rows beside it, the number of threads or the machine. Privacy would survive any ranking;
this makes releases repeatable.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.vectors import Codebook, direction_norms
from neuroveil.types.recording import FloatArray

_BLOCK_BYTES = 1 << 24
_SCORE_BYTES = 1 << 23
_STATE_BYTES = 1 << 27

BoolArray = npt.NDArray[np.bool_]


def top_mask(scores: FloatArray, top: int) -> BoolArray:
    """Mark exactly ``top`` entries of each row: the largest, of equal ones the first.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_rows, n_candidates)
        Any values; NaN counts as smaller than everything.
    top : int
        How many to mark, from 1 to ``n_candidates``.

    Returns
    -------
    ndarray of bool, shape (n_rows, n_candidates)
        True for exactly ``top`` entries of each row.

    Raises
    ------
    ChainError
        If there are fewer candidates than that.
    """
    n_candidates = scores.shape[1]
    if not 1 <= top <= n_candidates:
        raise ChainError(
            "mechanism.codebook_top", f"1 to {n_candidates}", f"{top}",
            "Ask for no more codewords than there are.",
        )  # fmt: skip
    scores = np.where(np.isnan(scores), -np.inf, scores)
    threshold = np.partition(scores, n_candidates - top, axis=1)[:, n_candidates - top, None]
    above = scores > threshold
    missing = top - above.sum(axis=1, keepdims=True)
    equal = scores == threshold
    first_ones: BoolArray = equal & (np.cumsum(equal, axis=1, dtype=np.int32) <= missing)
    return above | first_ones


def closest_codewords(lifted: IntArray, codebook: Codebook, top: int) -> IntArray:
    """Find the codewords with the largest inner products with each row.

    The codebook is made block by block and never held as a whole.

    Parameters
    ----------
    lifted : ndarray of int64, shape (n_patients, sphere_dimension)
        Lifted rows in units of the grid, of norm at most 2^31.
    codebook : Codebook
        Public codewords.
    top : int
        Number K of codewords a row.

    Returns
    -------
    ndarray of int64, shape (n_patients, top)
        Numbers of the K closest codewords of each row, in increasing order.

    Raises
    ------
    ChainError
        If the rows do not fit the codebook, or K is out of range.
    """
    if lifted.ndim != 2 or lifted.shape[1] != codebook.sphere_dimension:
        raise ChainError(
            "rows", f"{codebook.sphere_dimension} columns with the lifted one",
            f"shape {lifted.shape}", "Use the codebook that was made for these columns.",
        )  # fmt: skip
    if not 1 <= top <= codebook.size:
        raise ChainError(
            "mechanism.codebook_top", f"1 to {codebook.size}", f"{top}",
            "Ask for no more codewords than there are.",
        )  # fmt: skip
    n_together = max(1, _STATE_BYTES // (16 * top))
    groups = [
        _rank_group(lifted[start : start + n_together].astype(np.float64), codebook, top)
        for start in range(0, lifted.shape[0], n_together)
    ]
    return np.concatenate([np.empty((0, top), dtype=np.int64), *groups])


def _rank_group(lifted: FloatArray, codebook: Codebook, top: int) -> IntArray:
    """Rank rows whose running results fit into memory, in one pass over the codebook."""
    n_rows = lifted.shape[0]
    block = min(codebook.size, max(1, _BLOCK_BYTES // (8 * codebook.sphere_dimension)))
    chunk = max(1, _SCORE_BYTES // (8 * (block + top)))
    best_score = np.empty((n_rows, 0))
    best_number = np.empty((n_rows, 0), dtype=np.int64)
    for start in range(0, codebook.size, block):
        stop = min(start + block, codebook.size)
        directions = codebook.directions(start, stop).astype(np.float64)
        norms = direction_norms(directions)
        kept = min(top, stop)
        score, number = np.empty((n_rows, kept)), np.empty((n_rows, kept), dtype=np.int64)
        for first in range(0, n_rows, chunk):
            rows = slice(first, first + chunk)
            found = (lifted[rows] @ directions.T) / norms
            score[rows], number[rows] = _merge(
                best_score[rows], best_number[rows], found, start, kept
            )
        best_score, best_number = score, number
    return best_number


def _merge(
    best_score: FloatArray, best_number: IntArray, found: FloatArray, start: int, kept: int
) -> tuple[FloatArray, IntArray]:
    """Keep the best of earlier codewords and of a new block; numbers stay in order."""
    if best_score.shape[1] < kept:
        changed = np.ones(found.shape[0], dtype=np.bool_)
        score = np.empty((found.shape[0], kept))
        number = np.empty((found.shape[0], kept), dtype=np.int64)
    else:
        # Of equal scores the earlier codeword stays, so only larger ones can enter.
        changed = (found > best_score.min(axis=1, keepdims=True)).any(axis=1)
        score, number = best_score, best_number
    if changed.any():
        candidates = np.concatenate([best_score[changed], found[changed]], axis=1)
        mask = top_mask(candidates, kept)
        new = np.broadcast_to(
            np.arange(start, start + found.shape[1]), (candidates.shape[0], found.shape[1])
        )
        numbers = np.concatenate([best_number[changed], new], axis=1)
        score[changed] = candidates[mask].reshape(-1, kept)
        number[changed] = numbers[mask].reshape(-1, kept)
    return score, number
