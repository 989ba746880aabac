"""The forms that a release can take, each with its forecast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from neuroveil.privacy.central.calibration import calibrate_moments
from neuroveil.privacy.central.candidates import PURE_MECHANISMS, Candidate, Forecast, Form
from neuroveil.privacy.central.covariance import noise_level
from neuroveil.privacy.central.forecast import (
    covariance_correlation,
    row_covariance_correlation,
    squared_cosines,
)
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.central.rank import best_of, best_rank, projected_correlation
from neuroveil.privacy.central.spectrum import check_spectrum, clipped_energies
from neuroveil.privacy.codebook.design import affordable_codewords
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.prediction import Utility
from neuroveil.privacy.public_model import PublicModel
from neuroveil.privacy.validate import EPSILON_RANGE
from neuroveil.types.recording import FloatArray

BASIS_SHARES = (0.05, 0.1, 0.2, 0.4)
"""Parts of epsilon that a private basis may take."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Public numbers that forecasts are made from.

    Parameters
    ----------
    spectrum : ndarray of float64, shape (dimension,)
        Public eigenvalues of the covariance of scaled columns (no unit).
    n_patients : int
        Roster size.
    epsilon, delta : float
        Guarantee.
    clip_norm : float
        Largest L2 norm of a scaled row (no unit).
    row_epsilon : float, optional
        Epsilon of a single row where a trusted shuffler brings it down.
    """

    spectrum: FloatArray
    n_patients: int
    epsilon: float
    delta: float
    clip_norm: float
    row_epsilon: float | None = None

    @cached_property
    def energies(self) -> FloatArray:
        """Mean square of clipped rows along the public directions, falling (no unit)."""
        return clipped_energies(self.spectrum, self.clip_norm)

    @cached_property
    def model(self) -> PublicModel:
        """Public rows, in the axes of the public directions."""
        return PublicModel(np.diag(check_spectrum(self.spectrum)))

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return self.spectrum.size

    @property
    def total(self) -> float:
        """Mean square norm of clipped rows (no unit)."""
        return float(self.energies.sum())

    def row_utility(self, mechanism: str, dimension: int) -> Utility:
        """Forecast a row mechanism in some number of columns.

        Parameters
        ----------
        mechanism : str
            Name of the mechanism.
        dimension : int
            Number of columns.

        Returns
        -------
        Utility
            From the mechanism itself.
        """
        pure = mechanism in PURE_MECHANISMS
        epsilon = self.row_epsilon if pure and self.row_epsilon is not None else self.epsilon
        spec = MechanismSpec(
            mechanism, epsilon, 0.0 if pure else self.delta, self.clip_norm, "l2", dimension,
            CodebookOptions(affordable_codewords(self.n_patients, dimension)),
        )  # fmt: skip
        return row_utility(spec)


@lru_cache(maxsize=4096)
def row_utility(spec: MechanismSpec) -> Utility:
    """Forecast a row mechanism from its specification.

    Parameters
    ----------
    spec : MechanismSpec
        Public specification.

    Returns
    -------
    Utility
        For rows of exactly the clipping norm.
    """
    return make_mechanism(spec).predict()


def forecast(candidate: Candidate, setting: Setting) -> Forecast:
    """Predict what a candidate leaves.

    Parameters
    ----------
    candidate : Candidate
        The release.
    setting : Setting
        Public numbers.

    Returns
    -------
    Forecast
        Both correlations.
    """
    return _FORECASTS[candidate.form](candidate, setting)


def _plain(candidate: Candidate, setting: Setting) -> Forecast:
    utility = setting.row_utility(candidate.mechanism, setting.dimension)
    covariances = row_covariance_correlation(utility, setting.energies, setting.n_patients)
    return Forecast(candidate, utility.correlation, covariances)


def _shrunk(candidate: Candidate, setting: Setting) -> Forecast:
    utility = setting.row_utility(candidate.mechanism, setting.dimension)
    values = projected_correlation(setting.energies, setting.total, utility.rmse**2)
    return Forecast(candidate, values)


def _public_basis(candidate: Candidate, setting: Setting) -> Forecast:
    def correlation(rank: int) -> float:
        # Rows are projected first and clipped then, so that a short projection is not clipped.
        noise = setting.row_utility(candidate.mechanism, rank).rmse ** 2
        return setting.model.moments(rank, setting.clip_norm).correlation(noise)

    rank = best_of(correlation, setting.dimension)
    return Forecast(candidate, correlation(rank), rank=rank)


def _private_basis(candidate: Candidate, setting: Setting) -> Forecast:
    found = [
        _with_basis(candidate, setting, share * setting.epsilon)
        for share in BASIS_SHARES
        if share * setting.epsilon >= EPSILON_RANGE[0]
    ]
    best = max(found, key=lambda each: each.patient_correlation, default=None)
    return best or Forecast(candidate, 0.0, 0.0)


def _with_basis(candidate: Candidate, setting: Setting, basis_epsilon: float) -> Forecast:
    pure = candidate.mechanism in PURE_MECHANISMS
    delta = setting.delta if pure else setting.delta / 2
    rows = Setting(
        setting.spectrum, setting.n_patients, setting.epsilon - basis_epsilon,
        setting.delta - delta, setting.clip_norm,
    )  # fmt: skip

    def noise_variance(rank: int) -> float:
        return rows.row_utility(candidate.mechanism, rank).rmse ** 2

    cosines = squared_cosines(setting.energies, _basis_level(setting, basis_epsilon, delta))
    seen = (setting.energies * cosines)[cosines > 0]
    if not seen.size:  # a direction of pure noise carries an average column's share
        seen = np.array([setting.total / setting.dimension])
    rank = best_rank(seen, noise_variance)
    # As if rows were clipped before they are projected: no more than is really left.
    values = projected_correlation(seen[:rank], setting.total, noise_variance(rank))
    covariances = covariance_correlation(setting.energies, cosines)
    return Forecast(candidate, values, covariances, rank, basis_epsilon)


def _aggregate(candidate: Candidate, setting: Setting) -> Forecast:
    spec = MomentSpec(
        setting.epsilon, setting.delta, setting.clip_norm, setting.dimension, setting.n_patients
    )
    level = noise_level(calibrate_moments(spec).second_moment_noise_std, setting.dimension)
    cosines = squared_cosines(setting.energies, level)
    return Forecast(candidate, 0.0, covariance_correlation(setting.energies, cosines))


def _basis_level(setting: Setting, epsilon: float, delta: float) -> float:
    d, n = setting.dimension, setting.n_patients
    calibration = calibrate_moments(MomentSpec(epsilon, delta, setting.clip_norm, d, n, 0.0))
    return noise_level(calibration.second_moment_noise_std, d)


_FORECASTS: dict[Form, Callable[[Candidate, Setting], Forecast]] = {
    "plain": _plain,
    "shrunk": _shrunk,
    "public_basis": _public_basis,
    "private_basis": _private_basis,
    "aggregate": _aggregate,
}
