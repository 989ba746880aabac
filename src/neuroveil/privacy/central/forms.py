"""The forms that a release can take, each with its forecast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from neuroveil.privacy.central.calibration import MomentSpec, calibrate_moments
from neuroveil.privacy.central.covariance import noise_level
from neuroveil.privacy.central.forecast import (
    covariance_correlation,
    row_covariance_correlation,
    squared_cosines,
)
from neuroveil.privacy.central.pca import best_rank, projected_correlation
from neuroveil.privacy.codebook.design import affordable_codewords, choose_codebook
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.prediction import Utility
from neuroveil.privacy.validate import EPSILON_RANGE
from neuroveil.types.recording import FloatArray

Aim = Literal["patients", "population", "either"]
Form = Literal["plain", "shrunk", "public_basis", "private_basis", "aggregate"]

ROW_MECHANISMS = ("gaussian", "laplace", "privunit")
PURE_MECHANISMS = ("laplace", "privunit")
BASIS_SHARES = (0.05, 0.1, 0.2, 0.4)
"""Parts of epsilon that a private basis may take."""

_LABELS: dict[Form, str] = {
    "plain": "{} rows",
    "shrunk": "{} rows with public shrinkage",
    "public_basis": "{} rows in a public basis",
    "private_basis": "{} rows in a basis learnt under the budget",
    "aggregate": "the mean and covariance of all patients",
}


@dataclass(frozen=True)
class Candidate:
    """A release that could be made.

    Parameters
    ----------
    mechanism : str
        A row mechanism, or ``"mean_covariance"``.
    form : {"plain", "shrunk", "public_basis", "private_basis", "aggregate"}
        What stands around it.
    """

    mechanism: str
    form: Form

    @property
    def label(self) -> str:
        """Name for a reader."""
        return _LABELS[self.form].format(self.mechanism)

    @property
    def is_about_patients(self) -> bool:
        """Whether it is a release of rows, each about one patient."""
        return self.form != "aggregate"

    @property
    def is_central(self) -> bool:
        """Whether somebody has to see all rows as they are."""
        return self.form in ("private_basis", "aggregate")

    @property
    def is_pure(self) -> bool:
        """Whether it works with ``delta = 0``."""
        return self.mechanism in PURE_MECHANISMS and not self.is_central


@dataclass(frozen=True)
class Forecast:
    """What a candidate is predicted to leave.

    Parameters
    ----------
    candidate : Candidate
        The release.
    patient_correlation : float
        Correlation of its cells with each patient's own clipped values; 0 for a release that
        is about nobody in particular.
    covariance_correlation : float, optional
        Correlation of the covariance entries that can be read off it with the cohort's;
        nothing where they would mostly be those of a public basis, known beforehand.
    rank : int, optional
        Number of directions of its basis.
    basis_epsilon : float, optional
        Part of epsilon that its basis takes.
    """

    candidate: Candidate
    patient_correlation: float
    covariance_correlation: float | None = None
    rank: int | None = None
    basis_epsilon: float | None = None

    def score(self, aim: Aim) -> float:
        """Give the correlation that counts.

        Parameters
        ----------
        aim : {"patients", "population", "either"}
            What the release is for.

        Returns
        -------
        float
            A correlation; under ``"either"`` that of patients' values for rows and that of
            covariances for aggregates.
        """
        if self._counts_patients(aim):
            return self.patient_correlation
        return self.covariance_correlation or 0.0

    def describe(self, aim: Aim) -> str:
        """Say what is left, in words.

        Parameters
        ----------
        aim : {"patients", "population", "either"}
            What the release is for.

        Returns
        -------
        str
            Part of a sentence.
        """
        patients = self._counts_patients(aim)
        what = "values that correlate" if patients else "covariances that correlate"
        whose = "each patient's own" if patients else "those of the cohort"
        return f"{what} {self.score(aim):.2f} with {whose}"

    def _counts_patients(self, aim: Aim) -> bool:
        return aim == "patients" or (aim == "either" and self.candidate.is_about_patients)


@dataclass(frozen=True, eq=False)
class Setting:
    """Public numbers that forecasts are made from.

    Parameters
    ----------
    energies : ndarray of float64, shape (dimension,)
        Mean square of clipped rows along the public directions (no unit).
    n_patients : int
        Roster size.
    epsilon, delta : float
        Guarantee.
    clip_norm : float
        Largest L2 norm of a scaled row (no unit).
    row_epsilon : float, optional
        Epsilon of a single row where a trusted shuffler brings it down.
    """

    energies: FloatArray
    n_patients: int
    epsilon: float
    delta: float
    clip_norm: float
    row_epsilon: float | None = None

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return self.energies.size

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
            mechanism, epsilon, 0.0 if pure else self.delta, self.clip_norm, "l2", dimension
        )
        return row_utility(spec, affordable_codewords(self.n_patients, dimension))


@lru_cache(maxsize=4096)
def row_utility(spec: MechanismSpec, codewords: int) -> Utility:
    """Forecast a row mechanism from its specification.

    Parameters
    ----------
    spec : MechanismSpec
        Public specification.
    codewords : int
        Largest codebook that privunit may use.

    Returns
    -------
    Utility
        For rows of exactly the clipping norm.
    """
    if spec.name == "privunit":
        design = choose_codebook(spec.epsilon, spec.dimension, codewords)
        return PrivUnit(spec, design, None).predict()
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
    def noise_variance(rank: int) -> float:
        return setting.row_utility(candidate.mechanism, rank).rmse ** 2

    rank = best_rank(setting.energies, noise_variance)
    kept = setting.energies[:rank]
    values = projected_correlation(kept, setting.total, noise_variance(rank))
    return Forecast(candidate, values, rank=rank)


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
        setting.energies, setting.n_patients, setting.epsilon - basis_epsilon,
        setting.delta - delta, setting.clip_norm,
    )  # fmt: skip

    def noise_variance(rank: int) -> float:
        return rows.row_utility(candidate.mechanism, rank).rmse ** 2

    cosines = squared_cosines(setting.energies, _basis_level(setting, basis_epsilon, delta))
    seen = (setting.energies * cosines)[cosines > 0]
    if not seen.size:  # a direction of pure noise carries an average column's share
        seen = np.array([setting.total / setting.dimension])
    rank = best_rank(seen, noise_variance)
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
