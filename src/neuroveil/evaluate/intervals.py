"""From figures of single draws to means with intervals."""

from __future__ import annotations

import numpy as np

from neuroveil.types.recording import FloatArray
from neuroveil.types.utility import Estimate

CONFIDENCE = 0.95


def estimate(draws: FloatArray) -> Estimate | None:
    """Give mean, 95 % interval of the mean, and spread of one draw.

    Parameters
    ----------
    draws : ndarray of float64, shape (n_draws,)
        The figure in each draw; at least two draws.

    Returns
    -------
    Estimate or None
        Mean ± t · standard deviation / √n with Student's t for n - 1 degrees of freedom;
        ``None`` if the figure is not defined in some draw.
    """
    if not bool(np.isfinite(draws).all()):
        return None
    from scipy.special import stdtrit

    n_draws = draws.shape[0]
    mean = float(draws.mean())
    one_draw = float(draws.std(ddof=1))
    half = float(stdtrit(n_draws - 1, 0.5 + CONFIDENCE / 2)) * one_draw / float(np.sqrt(n_draws))
    return Estimate(mean, mean - half, mean + half, one_draw)
