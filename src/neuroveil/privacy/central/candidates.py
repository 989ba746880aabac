"""Releases that could be made, and what each is predicted to leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Aim = Literal["patients", "population", "either"]
Form = Literal["plain", "shrunk", "public_basis", "private_basis", "aggregate"]

ROW_MECHANISMS = ("gaussian", "laplace", "privunit")
PURE_MECHANISMS = ("laplace", "privunit")
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
