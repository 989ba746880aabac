"""Exact sums over rows of integers."""

from __future__ import annotations

import numpy as np

from neuroveil.privacy.bounds import IntArray

_EXACT_ROWS = 512


def sum_of_rows(rows_int: IntArray) -> IntArray:
    """Add up rows.

    Parameters
    ----------
    rows_int : ndarray of int64, shape (n_patients, dimension)
        Rows in units of the grid, less than 2^22 long.

    Returns
    -------
    ndarray of int64, shape (dimension,)
        Sum, exact.
    """
    total: IntArray = rows_int.sum(axis=0)
    return total


def sum_of_products(rows_int: IntArray) -> IntArray:
    """Add up the products x x^T of rows.

    Rows are less than 2^22 long, so that 512 products of their entries, and any part of their
    sum, are whole numbers of at most 2^53: doubles hold them exactly in whatever order a
    matrix product adds them. Blocks of 512 rows are then added as 64-bit integers.

    Parameters
    ----------
    rows_int : ndarray of int64, shape (n_patients, dimension)
        Rows in units of the grid, less than 2^22 long.

    Returns
    -------
    ndarray of int64, shape (dimension, dimension)
        Sum in units of the squared grid, exact and symmetric.
    """
    total = np.zeros((rows_int.shape[1],) * 2, dtype=np.int64)
    for start in range(0, rows_int.shape[0], _EXACT_ROWS):
        block = rows_int[start : start + _EXACT_ROWS].astype(np.float64)
        total += (block.T @ block).astype(np.int64)
    return total


def symmetric(diagonal: IntArray, upper: IntArray) -> IntArray:
    """Fill a symmetric matrix.

    Parameters
    ----------
    diagonal : ndarray of int64, shape (dimension,)
        Entries of the diagonal.
    upper : ndarray of int64, shape (dimension * (dimension - 1) / 2,)
        Entries above it, row by row.

    Returns
    -------
    ndarray of int64, shape (dimension, dimension)
        The matrix.
    """
    dimension = diagonal.size
    matrix = np.zeros((dimension, dimension), dtype=np.int64)
    matrix[np.triu_indices(dimension, 1)] = upper
    matrix += matrix.T
    np.fill_diagonal(matrix, diagonal)
    return matrix
