"""What the paper's settings really promise, from theory alone."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from neuroveil.evaluate.reproduction.printed import CLIP_NORM, DELTA, DIMENSION, N_PATIENTS
from neuroveil.privacy.bounds import ClipL2
from neuroveil.privacy.calibration import gaussian_epsilon, gaussian_sigma
from neuroveil.privacy.mechanisms.contract import MechanismSpec, RowMechanism
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.types.recording import FloatArray

_STEPS = 250
"""Steps of the loss of one coordinate on either side of zero."""


def sensitivity(norm: str) -> float:
    """Give the paper's sensitivity bound, Equation 6 or 8.

    Parameters
    ----------
    norm : {"l1", "l2"}
        Norm in which a patient's influence is measured.

    Returns
    -------
    float
        On the scaled axis (no unit).
    """
    return ClipL2(CLIP_NORM).sensitivity("replace_one", "l1" if norm == "l1" else "l2", DIMENSION)


def paper_mechanism(name: str, epsilon: float) -> RowMechanism:
    """Give a mechanism at the paper's dimension and clipping norm.

    Parameters
    ----------
    name : str
        ``"gaussian"``, ``"laplace"`` or ``"paper_laplace"``.
    epsilon : float
        What is claimed.

    Returns
    -------
    RowMechanism
        Calibrated.
    """
    delta = DELTA if name == "gaussian" else 0.0
    return make_mechanism(MechanismSpec(name, epsilon, delta, CLIP_NORM, "l2", DIMENSION))


def epsilon_with_private_scaling(epsilon: float) -> float:
    """Give the epsilon that the paper's Gaussian has if its scaling is counted.

    Median and interquartile range of the cohort itself change for everybody when one patient
    is replaced. Then every row can move, and the table by as much as C sqrt(2 (n + 1)) where
    2C was claimed; two cohorts of 17 that differ in one patient attain it.

    Parameters
    ----------
    epsilon : float
        What is claimed.

    Returns
    -------
    float
        The smallest epsilon at delta = 1e-5 that covers these two cohorts.
    """
    moved = CLIP_NORM * math.sqrt(2 * (N_PATIENTS + 1))
    return gaussian_epsilon(moved, gaussian_sigma(sensitivity("l2"), epsilon, DELTA), DELTA)


@lru_cache(maxsize=16)
def epsilon_of_paper_laplace(epsilon: float, delta: float = DELTA) -> float:
    """Give the epsilon that Laplace noise of the paper's scale has at a delta.

    For two rows of norm C with equal entries of opposite sign. The loss of one coordinate,
    whose rows are a scales apart, is a with probability 1/2, -a with probability e^-a / 2 and
    has the density e^(-(a - l) / 2) / 4 in between; the losses of all coordinates add up. Their
    distribution is taken on a grid and convolved.

    Parameters
    ----------
    epsilon : float
        What is claimed.
    delta : float
        Chance with which the guarantee may fail.

    Returns
    -------
    float
        Epsilon, to about one part in a thousand.
    """
    apart = 2 * CLIP_NORM / math.sqrt(DIMENSION)
    a = apart / paper_scale(epsilon)
    step = a / _STEPS
    edges = (np.arange(-_STEPS, _STEPS) + 0.5) * step
    below = np.exp(-(a - edges) / 2) / 2  # P(loss <= edge), also at both ends
    one = np.diff(np.concatenate([[0.0], below, [1.0]]))
    masses = _power(one, DIMENSION)
    losses: FloatArray = (np.arange(masses.size) - DIMENSION * _STEPS) * np.float64(step)
    return _epsilon_at(losses, masses, delta)


def paper_scale(epsilon: float) -> float:
    """Give the paper's Laplace scale, Equation 11.

    Parameters
    ----------
    epsilon : float
        What is claimed.

    Returns
    -------
    float
        2C / epsilon, on the scaled axis (no unit).
    """
    return 2 * CLIP_NORM / epsilon


def _power(masses: FloatArray, times: int) -> FloatArray:
    """Distribution of a sum of independent losses."""
    from scipy.fft import irfft, next_fast_len, rfft

    length = times * (masses.size - 1) + 1
    padded = next_fast_len(length, real=True)
    summed = irfft(rfft(masses, padded) ** times, padded)[:length]
    return np.asarray(np.clip(summed, 0.0, None), dtype=np.float64)


def _epsilon_at(losses: FloatArray, masses: FloatArray, delta: float) -> float:
    """Solve E[(1 - e^(epsilon - loss))+] = delta, which falls in epsilon."""
    low, high = 0.0, float(losses[-1])
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        above = losses > middle
        if float(masses[above] @ -np.expm1(middle - losses[above])) > delta:
            low = middle
        else:
            high = middle
    return high
