"""One simulated draw of a mechanism, as fast as figures over many draws need it.

A codebook of half a million codewords takes seconds to make and to rank, and a figure over
twenty draws needs twenty of them. What a row is released as depends on the codebook through one
number only, the inner product of the row with the codeword that was picked: an order statistic
of known distribution. So for large codebooks that number is drawn, and no codebook is made.
"""

from __future__ import annotations

import numpy as np

from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.codebook.caps import cap_margin
from neuroveil.privacy.codebook.design import CodebookDesign
from neuroveil.privacy.mechanisms.contract import RowMechanism
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray

LARGEST_WORK = 1 << 30
"""Multiplications a draw from which on a codebook is not made: about a second."""

_MAKING = 200  # making a codeword costs as much as ranking it for so many rows
_SMALL_BIAS = 0.05
_MANY_CODEWORDS = 1 << 18
_SEED_BITS = 128


def simulated_draw(
    mechanism: RowMechanism, rows_int: IntArray, source: SimulationRandomness
) -> FloatArray:
    """Draw what a mechanism would release of bounded rows.

    Parameters
    ----------
    mechanism : RowMechanism
        Calibrated.
    rows_int : ndarray of int64, shape (n_patients, dimension)
        Bounded rows in units of the grid. Private.
    source : SimulationRandomness
        Seeded: this is for evaluation and never for a release.

    Returns
    -------
    ndarray of float64, shape (n_patients, dimension)
        Values on the scaled axis (no unit). A codebook is drawn anew each time. Where it would
        take more than :data:`LARGEST_WORK`, every row is drawn as with a codebook of its own: each
        row has the same distribution, but two rows that are nearly equal are no longer likely to
        be given the same codeword. A codebook whose rows would share many is made all the same.
    """
    n_rows = rows_int.shape[0]
    if isinstance(mechanism, PrivUnit) and not makes_codebook(mechanism.design, n_rows):
        generator = np.random.default_rng(source.below(1 << _SEED_BITS))
        return decoded_alone(mechanism, rows_int, generator)
    drawn = mechanism.renewed(source)
    return drawn.apply(rows_int, drawn.draw(n_rows, source))


def makes_codebook(design: CodebookDesign, n_rows: int) -> bool:
    """Say whether a simulated draw makes the codebook.

    Parameters
    ----------
    design : CodebookDesign
        Sizes of the codebook.
    n_rows : int
        Number of rows.

    Returns
    -------
    bool
        True where that is little work, and where a part of the error that matters is common to
        rows of one codebook: of few codewords, with a bias above 5 % of the squared error.
    """
    if (n_rows + _MAKING) * design.size * design.sphere_dimension <= LARGEST_WORK:
        return True
    error, bias = design.mse_over_clip_norm_squared, design.bias_over_clip_norm_squared
    return design.size < _MANY_CODEWORDS and bias > _SMALL_BIAS * error


def decoded_alone(
    mechanism: PrivUnit, rows_int: IntArray, generator: np.random.Generator
) -> FloatArray:
    """Draw decoded codewords for rows with a codebook each, without making the codebooks.

    Parameters
    ----------
    mechanism : PrivUnit
        Calibrated.
    rows_int : ndarray of int64, shape (n_patients, dimension)
        Bounded rows in units of the grid.
    generator : numpy.random.Generator
        Source of the simulated randomness.

    Returns
    -------
    ndarray of float64, shape (n_patients, dimension)
        Values on the scaled axis (no unit).

    Notes
    -----
    The codeword that is picked has rank r among N, uniform from 1 to K with probability p and
    from K + 1 to N otherwise. The share of the sphere that is closer to the row than the r-th
    closest of N uniform points follows Beta(r, N - r + 1), and across the row's direction the
    point is uniform.
    """
    design, n_rows = mechanism.design, rows_int.shape[0]
    lifted = mechanism.lift(rows_int).astype(np.float64)
    unit = lifted / np.linalg.norm(lifted, axis=1, keepdims=True)
    is_close = generator.random(n_rows) < design.probability
    inside = generator.integers(1, design.top + 1, n_rows)
    outside = generator.integers(design.top + 1, design.size + 1, n_rows)
    rank = np.where(is_close, inside, outside).astype(np.float64)
    closer = generator.beta(rank, design.size - rank + 1)
    margin = cap_margin(closer, design.sphere_dimension)[:, None]
    across = generator.standard_normal(unit.shape)
    across -= np.einsum("ij,ij->i", across, unit)[:, None] * unit
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    codewords = (1 - 2 * margin) * unit + 2 * np.sqrt(margin * (1 - margin)) * across
    decoded: FloatArray = codewords[:, : design.dimension] * mechanism.decoding_scale
    return decoded
