"""What linkage should come to in textbook cases, to print beside what is measured."""

from __future__ import annotations

import numpy as np

from neuroveil.types.recording import FloatArray

_POINTS = 20_001


def gaussian_rank_one(clip_norm: float, noise_std: float, n: int) -> float:
    """Give the chance that the right one of n people is the likeliest under Gaussian noise.

    E[Phi(C / sigma + Z)^(n - 1)] for orthogonal rows of norm C, by integration over Z. A
    yardstick and no ceiling: rows in the corners of a simplex are a little farther apart.

    Parameters
    ----------
    clip_norm : float
        Norm C of all rows (no unit).
    noise_std : float
        Standard deviation sigma of the noise in a cell (no unit).
    n : int
        Number of people.

    Returns
    -------
    float
        Between 1 / n and 1.
    """
    from scipy.special import log_ndtr

    z = np.linspace(-12.0, 12.0, _POINTS)
    density = np.exp(-0.5 * z**2)
    chance: FloatArray = np.exp((n - 1) * log_ndtr(clip_norm / noise_std + z))
    return float(chance @ density / density.sum())
