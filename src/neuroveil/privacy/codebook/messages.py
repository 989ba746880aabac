"""What is published of a row: which codeword of which codebook."""

from __future__ import annotations

import numpy as np

from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.design import CodebookDesign
from neuroveil.privacy.codebook.vectors import Codebook
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray

__all__ = ["Messages", "decode", "pick"]


def pick(close: IntArray, is_close: IntArray, rank: IntArray) -> IntArray:
    """Give the codeword of a rank, by number, among a row's close or other codewords.

    Parameters
    ----------
    close : ndarray of int64, shape (n_patients, K)
        Numbers of close codewords, in increasing order.
    is_close : ndarray of int64, shape (n_patients,)
        1 for a close codeword, 0 for another one.
    rank : ndarray of int64, shape (n_patients,)
        Rank from 0, below K or N - K.

    Returns
    -------
    ndarray of int64, shape (n_patients,)
        Numbers of codewords.
    """
    rows = np.arange(close.shape[0])
    inside = close[rows, np.minimum(rank, close.shape[1] - 1)]
    # The other codeword of rank r follows all close ones that have at most r others before.
    others_before = close - np.arange(close.shape[1])
    outside = rank + (others_before <= rank[:, None]).sum(axis=1)
    chosen: IntArray = np.where(is_close == 1, inside, outside)
    return chosen


def decode(messages: Messages, design: CodebookDesign) -> FloatArray:
    """Give the codewords that messages stand for, the same bits on every machine.

    Parameters
    ----------
    messages : Messages
        Published messages.
    design : CodebookDesign
        Public sizes of the codebooks.

    Returns
    -------
    ndarray of float64, shape (n_patients, dimension + 1)
        Unit vectors.

    Raises
    ------
    ChainError
        If there is no such codeword.
    """
    rows_of: dict[bytes, list[int]] = {}
    for row, seed in enumerate(messages.seeds):
        rows_of.setdefault(seed, []).append(row)
    codewords = np.empty((len(messages.seeds), design.sphere_dimension))
    for seed, rows in rows_of.items():
        codebook = Codebook(seed, design.size, design.sphere_dimension)
        codewords[rows] = codebook.vectors(messages.numbers[rows])
    return codewords
