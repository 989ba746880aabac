"""The integer grid that rows and noise share.

Rows are clipped in floating point and then truncated towards zero onto a grid of integers,
where the norm is checked exactly. Truncation towards zero never leaves the clipping ball,
so two patients stay within its diameter whatever the rounding.
"""

from __future__ import annotations

import math

import numpy as np

from neuroveil.privacy.bounds import Clip, IntArray, check_rows
from neuroveil.types.recording import FloatArray

ORDINARY_GRID_LOG2 = -40
LARGEST_SCALE_LOG2 = 57
"""Integer noise scales stay below 2**57, so that 64-bit samples never saturate unseen."""

_LARGEST_BOUND_LOG2 = 60
_SMALLEST_SCALE_LOG2 = 30


def choose_grid_log2(noise_scale: float, clip_norm: float) -> int:
    """Choose the grid's step, a power of two, from public numbers alone.

    2^-40 at ordinary scales; coarser where the noise scale in units of the grid would pass
    2^57 or the clipping norm 2^60 (64-bit integers must not overflow); finer where it would
    fall below 2^30 (integer noise must stay close to continuous noise).

    Parameters
    ----------
    noise_scale : float
        Scale of the noise, on the scaled axis (no unit).
    clip_norm : float
        Clipping norm, on the scaled axis (no unit).

    Returns
    -------
    int
        Binary logarithm of the step.
    """
    scale_log2 = math.frexp(noise_scale)[1]  # noise_scale < 2**scale_log2
    bound_log2 = math.frexp(clip_norm)[1]
    grid_log2 = ORDINARY_GRID_LOG2
    if scale_log2 - 1 - grid_log2 < _SMALLEST_SCALE_LOG2:
        grid_log2 = scale_log2 + ORDINARY_GRID_LOG2
    return max(grid_log2, scale_log2 - LARGEST_SCALE_LOG2, bound_log2 - _LARGEST_BOUND_LOG2)


def quantise(rows: FloatArray, clip: Clip, grid_log2: int, dimension: int) -> IntArray:
    """Clip rows, put them on the integer grid and make sure of their norm exactly.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, dimension)
        Scaled rows (no unit), finite.
    clip : ClipL2 or ClipL1
        The bound.
    grid_log2 : int
        Binary logarithm of the grid's step.
    dimension : int
        Number of columns that the rows must have.

    Returns
    -------
    ndarray of int64, shape (n_patients, dimension)
        Rows in units of the grid, each of norm at most ``clip_norm / 2**grid_log2``.

    Raises
    ------
    ChainError
        If the shape is wrong or a value is not finite.
    """
    check_rows(rows, dimension)
    units = np.trunc(np.ldexp(clip.apply(rows), -grid_log2)).astype(np.int64)
    for index, row in enumerate(units.tolist()):
        if clip.exceeds(row, grid_log2):
            units[index] = _shrink(row, clip, grid_log2)
    return units


def _shrink(row: list[int], clip: Clip, grid_log2: int) -> list[int]:
    """Bring a row back that floating-point clipping left a rounding error outside."""
    while clip.exceeds(row, grid_log2):
        row = [_step_inwards(value) for value in row]
    return row


def _step_inwards(value: int) -> int:
    """Move a grid value towards zero, by one unit and at least a relative 2^-50."""
    step = min(abs(value), 1 + (abs(value) >> 50))
    return value - step if value > 0 else value + step
