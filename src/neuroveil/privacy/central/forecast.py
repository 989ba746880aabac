"""What a central release will leave, from public numbers alone.

The public spectrum says how the variance of scaled rows spreads over directions. Everything
else follows from n, d, epsilon, delta and the clipping norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.central.calibration import MomentCalibration
from neuroveil.privacy.central.covariance import noise_level
from neuroveil.privacy.central.spectrum import clipped_energies
from neuroveil.privacy.prediction import Utility
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True)
class MomentForecast:
    """How close a released mean and covariance will be to the clipped cohort's own.

    Parameters
    ----------
    covariance_correlation : float
        Correlation of covariance entries.
    n_directions : int
        Number of directions that will stand out of the noise.
    mean_rmse : float, optional
        Root mean square error of an entry of the mean row before it is shrunk, on the scaled
        axis (no unit); nothing where the mean is left out.
    """

    covariance_correlation: float
    n_directions: int
    mean_rmse: float | None


def squared_cosines(energies: FloatArray, level: float) -> FloatArray:
    """Predict how well noisy directions match the true ones.

    Parameters
    ----------
    energies : ndarray of float64, shape (dimension,)
        True eigenvalues (no unit).
    level : float
        From :func:`~neuroveil.privacy.central.covariance.noise_level`.

    Returns
    -------
    ndarray of float64, shape (dimension,)
        1 - level^2 / energy^2 where an energy is above the level, 0 where it drowns
        (Benaych-Georges and Nadakuditi 2011).
    """
    ratio = np.divide(level, energies, out=np.full(energies.shape, np.inf), where=energies > level)
    return np.where(energies > level, 1 - np.minimum(ratio, 1.0) ** 2, 0.0)


def covariance_correlation(energies: FloatArray, cosines: FloatArray) -> float:
    """Predict the correlation of cleaned covariance entries with the true ones.

    Parameters
    ----------
    energies : ndarray of float64, shape (dimension,)
        True eigenvalues (no unit).
    cosines : ndarray of float64, shape (dimension,)
        Squared cosines between noisy and true directions (no unit).

    Returns
    -------
    float
        sqrt(sum of (e c^2)^2 / sum of e^2) with the squared cosines c^2: the estimate is the
        projection of the truth on what is seen of it, so this is their cosine over entries,
        whose mean is close to zero.
    """
    kept = energies * cosines
    return float(np.sqrt((kept**2).sum() / (energies**2).sum()))


def predict_moments(calibration: MomentCalibration, spectrum: FloatArray) -> MomentForecast:
    """Predict what a release of mean and covariance leaves.

    Parameters
    ----------
    calibration : MomentCalibration
        Public noise scales.
    spectrum : ndarray of float64, shape (dimension,)
        Public eigenvalues of the covariance of scaled columns (no unit).

    Returns
    -------
    MomentForecast
        Against mean and covariance of the cohort's own clipped rows.

    Raises
    ------
    ChainError
        If the spectrum has another number of columns.
    """
    spec = calibration.spec
    energies = clipped_energies(spectrum, spec.clip_norm)
    if energies.size != spec.dimension:
        raise ChainError(
            "reference.spectrum", f"{spec.dimension} eigenvalues", f"{energies.size}",
            "Take the spectrum of the columns that are released.",
        )  # fmt: skip
    level = noise_level(calibration.second_moment_noise_std, spec.dimension)
    return MomentForecast(
        covariance_correlation(energies, squared_cosines(energies, level)),
        int(np.count_nonzero(energies > level)),
        calibration.mean_noise_std if spec.mean_share else None,
    )


def row_covariance_correlation(utility: Utility, energies: FloatArray, n_patients: int) -> float:
    """Predict how well covariances can be read off a release of single rows.

    Parameters
    ----------
    utility : Utility
        Forecast of the row mechanism.
    energies : ndarray of float64, shape (dimension,)
        Mean square of clipped rows along the public directions (no unit).
    n_patients : int
        Number of rows.

    Returns
    -------
    float
        Correlation of covariance entries after the best cleaning of eigenvalues. With the
        error v of a cell, g = d / n and t = energy / v, a direction is seen from t > sqrt(g) on,
        with the squared cosine (1 - g / t^2) / (1 + g / t) (Paul 2007).
    """
    aspect = energies.size / n_patients
    signal = energies / utility.rmse**2
    seen = signal > math.sqrt(aspect)
    t = np.where(seen, signal, 1.0)
    cosines = np.where(seen, (1 - aspect / t**2) / (1 + aspect / t), 0.0)
    return covariance_correlation(energies, cosines)
