"""How clipped rows spread over directions, from a public spectrum."""

from __future__ import annotations

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.types.recording import FloatArray

_LOW, _HIGH, _POINTS = -40.0, 60.0, 4001


def check_spectrum(spectrum: FloatArray) -> FloatArray:
    """Refuse a spectrum that is none.

    Parameters
    ----------
    spectrum : ndarray of float64, shape (dimension,)
        Public eigenvalues of the covariance of scaled columns, in any order (no unit).

    Returns
    -------
    ndarray of float64, shape (dimension,)
        From the largest to the smallest.

    Raises
    ------
    ChainError
        If it is empty, or holds a value that is negative or not finite, or only zeros.
    """
    good = spectrum.ndim == 1 and spectrum.size > 0 and bool(np.isfinite(spectrum).all())
    if not good or not bool((spectrum >= 0).all() and spectrum.any()):
        raise ChainError(
            "reference.spectrum", "eigenvalues of a covariance, one a column", "something else",
            "Take the eigenvalues of a public reference's covariance.",
        )  # fmt: skip
    return np.sort(spectrum)[::-1]


def clipped_energies(spectrum: FloatArray, clip_norm: float) -> FloatArray:
    """Predict the mean square of clipped rows along the directions of a public spectrum.

    Parameters
    ----------
    spectrum : ndarray of float64, shape (dimension,)
        Public eigenvalues l_j of the covariance of scaled columns (no unit).
    clip_norm : float
        Clipping norm C (no unit).

    Returns
    -------
    ndarray of float64, shape (dimension,)
        From the largest on: for normal rows z of which all are clipped, C^2 E[l_j z_j^2 / sum
        of l_k z_k^2], or l_j where that is smaller, as for rows of which none are (no unit).
        Clipping evens the spectrum out: long rows, which are long along the first directions,
        lose most.
    """
    ordered = check_spectrum(spectrum)
    shares = ordered / ordered.sum()
    # E[l z^2 / Q] = integral of l / (1 + 2 t l) times the product of (1 + 2 t l_k)^(-1/2),
    # from 1 / Q = integral of e^(-t Q); over log t it is smooth and decays on both sides.
    log_t = np.linspace(_LOW, _HIGH, _POINTS)
    t = np.exp(log_t)
    log_product = -0.5 * sum(np.log1p(2 * share * t) for share in shares)
    weight = np.exp(log_product + log_t) * (log_t[1] - log_t[0])
    expected = np.array([float((share * weight / (1 + 2 * share * t)).sum()) for share in shares])
    # A single direction decays slowly in t; what the range cuts off is shared out.
    expected *= clip_norm**2 / expected.sum()
    return np.asarray(np.minimum(expected, ordered))
