"""From noisy moments to a valid mean and covariance. Post-processing: it costs nothing.

The noise of a second moment is a symmetric matrix of independent normal entries, whose
eigenvalues fill a half-circle of known radius. What stands out of it is signal, and how far
noise has lifted and turned it is known too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neuroveil.privacy.central.noisy_moments import NoisyMoments
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False)
class CovarianceEstimate:
    """Mean and covariance made of a release; may be published with it.

    Parameters
    ----------
    mean : ndarray of float64, shape (dimension,)
        Mean row, on the scaled axis (no unit); zeros where it was left out.
    eigenvalues : ndarray of float64, shape (dimension,)
        Eigenvalues of the covariance from the largest on, none negative (no unit).
    vectors : ndarray of float64, shape (dimension, dimension)
        Orthonormal eigenvectors, one a column.
    n_directions : int
        Number of directions that stand out of the noise; the others share one eigenvalue.
    """

    mean: FloatArray
    eigenvalues: FloatArray
    vectors: FloatArray
    n_directions: int

    @property
    def covariance(self) -> FloatArray:
        """The covariance, positive semidefinite, shape (dimension, dimension) (no unit)."""
        matrix: FloatArray = (self.vectors * self.eigenvalues) @ self.vectors.T
        return (matrix + matrix.T) / 2


def noise_level(entry_noise_std: float, dimension: int) -> float:
    """Give half the radius of the half-circle of noise eigenvalues.

    Parameters
    ----------
    entry_noise_std : float
        Standard deviation of noise in an off-diagonal entry (no unit).
    dimension : int
        Number of columns.

    Returns
    -------
    float
        ``entry_noise_std * sqrt(dimension)``: the eigenvalues lie within twice this value
        (Wigner 1955).
    """
    return entry_noise_std * math.sqrt(dimension)


def shrink_eigenvalues(eigenvalues: FloatArray, level: float) -> FloatArray:
    """Take the noise out of eigenvalues.

    Parameters
    ----------
    eigenvalues : ndarray of float64, shape (dimension,)
        Of signal plus noise (no unit).
    level : float
        From :func:`noise_level`.

    Returns
    -------
    ndarray of float64, shape (dimension,)
        sqrt(y^2 - 4 level^2) where an eigenvalue y is above twice the level, 0 elsewhere: of
        all functions of the eigenvalues the one with the least squared error of the matrix.

    References
    ----------
    Benaych-Georges and Nadakuditi 2011: a signal eigenvalue t above the level is seen at
    y = t + level^2 / t, and its direction keeps a squared cosine of 1 - level^2 / t^2. The
    product of t and that cosine is the formula above.
    """
    above = eigenvalues > 2 * level
    cleaned = np.sqrt(np.where(above, eigenvalues**2 - 4 * level**2, 0.0))
    return np.asarray(cleaned)


def estimate_covariance(moments: NoisyMoments) -> CovarianceEstimate:
    """Make a valid mean and covariance of noisy moments, by a public rule.

    The mean is shrunk (James and Stein 1961, positive part). Eigenvalues of the second moment
    about it are kept where they stand out of the noise, and cleaned. The rest of the trace,
    which is at most the squared clipping norm, is shared equally by the other directions.

    Parameters
    ----------
    moments : NoisyMoments
        A release.

    Returns
    -------
    CovarianceEstimate
        Without negative eigenvalues.
    """
    spec = moments.calibration.spec
    mean = _shrunk_mean(moments)
    about_mean = moments.second_moment - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(about_mean)
    values, vectors = values[::-1], vectors[:, ::-1]
    level = noise_level(moments.calibration.second_moment_noise_std, spec.dimension)
    kept = shrink_eigenvalues(values, level)
    largest_trace = spec.clip_norm**2
    kept *= min(1.0, largest_trace / kept.sum()) if kept.any() else 1.0
    n_directions = int(np.count_nonzero(kept))
    if n_directions < spec.dimension:
        trace = min(max(float(np.trace(about_mean)), 0.0), largest_trace)
        rest = max(trace - float(kept.sum()), 0.0) / (spec.dimension - n_directions)
        kept[n_directions:] = min(rest, kept[n_directions - 1]) if n_directions else rest
    return CovarianceEstimate(mean, kept, np.ascontiguousarray(vectors), n_directions)


def _shrunk_mean(moments: NoisyMoments) -> FloatArray:
    dimension = moments.calibration.spec.dimension
    if moments.mean is None:
        return np.zeros(dimension)
    length = float(moments.mean @ moments.mean)
    noise = (dimension - 2) * moments.calibration.mean_noise_std**2
    factor = max(0.0, 1 - noise / length) if length > 0 else 0.0
    return moments.mean * (factor if dimension > 2 else 1.0)
