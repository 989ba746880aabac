"""What is made of released values afterwards, by public rules, at no cost.

Each step is a frozen object that says what it does in a certificate, which public inputs it
uses and how it acts on a table. The steps stand in one order, see ``docs/certificate.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.recording import FloatArray

Inputs = Mapping[str, Any]
"""Public inputs by name, as they stand in ``public_inputs.json``."""


class Step(Protocol):
    """One step of post-processing."""

    @property
    def name(self) -> str:
        """Name in the certificate."""
        ...

    @property
    def params(self) -> dict[str, Any]:
        """Public settings, as plain data."""
        ...

    @property
    def inputs(self) -> Inputs:
        """Public inputs that the step uses, as plain data."""
        ...

    def apply(self, table: FloatArray) -> FloatArray:
        """Take the step.

        Parameters
        ----------
        table : ndarray of float64, shape (n_patients, columns before the step)
            What the step before gave.

        Returns
        -------
        ndarray of float64, shape (n_patients, columns after the step)
            A new table.
        """
        ...


def step_facts(step: Step) -> dict[str, Any]:
    """State a step for the certificate.

    Parameters
    ----------
    step : Step
        The step.

    Returns
    -------
    dict
        ``step``, ``params`` and ``public_inputs_digest``.
    """
    return {
        "step": step.name,
        "params": step.params,
        "public_inputs_digest": digest(canonical_json(dict(step.inputs))),
    }


def take_steps(steps: Sequence[Step], table: FloatArray) -> FloatArray:
    """Take steps one after another.

    Parameters
    ----------
    steps : sequence of Step
        In order.
    table : ndarray of float64, shape (n_patients, m)
        Released values.

    Returns
    -------
    ndarray of float64, shape (n_patients, columns after the last step)
        The same table where there is no step.
    """
    for step in steps:
        table = step.apply(table)
    return table


def hexadecimal(values: FloatArray) -> list[str]:
    """Write numbers so that every language reads them back exactly.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Finite numbers.

    Returns
    -------
    list of str
        As ``float.hex`` writes them.
    """
    return [value.hex() for value in values.tolist()]


@dataclass(frozen=True, eq=False)
class Wiener:
    """The best linear estimate of bounded rows from noisy ones, by a public covariance.

    Parameters
    ----------
    basis : ndarray of float64, shape (m, m), optional
        Orthonormal columns in which the covariance is diagonal; none where coordinates are
        the public components already.
    variances : ndarray of float64, shape (m,)
        Public variances of bounded rows along them (no unit).
    noise_variance : float
        Mean square error of a released coordinate (no unit).

    References
    ----------
    Wiener 1949; mean + S (S + v I)^-1 (y - mean) with mean 0, the public centre.
    """

    basis: FloatArray | None
    variances: FloatArray
    noise_variance: float

    name = "wiener"

    @property
    def params(self) -> dict[str, Any]:
        """The noise variance that the estimate reckons with."""
        return {"noise_variance": self.noise_variance}

    @property
    def inputs(self) -> Inputs:
        """Public mean and the lower triangle of the public covariance of bounded rows."""
        covariance = self.covariance
        return {
            "mean": hexadecimal(np.zeros(len(self.variances))),
            "covariance": [hexadecimal(row[: i + 1]) for i, row in enumerate(covariance)],
        }

    @property
    def covariance(self) -> FloatArray:
        """Public covariance of bounded rows, shape (m, m) (no unit)."""
        if self.basis is None:
            return np.diag(self.variances)
        covariance: FloatArray = (self.basis * self.variances) @ self.basis.T
        return (covariance + covariance.T) / 2

    def apply(self, table: FloatArray) -> FloatArray:
        """Estimate bounded rows.

        Parameters
        ----------
        table : ndarray of float64, shape (n_patients, m)
            Noisy rows (no unit).

        Returns
        -------
        ndarray of float64, shape (n_patients, m)
            Estimated rows (no unit).
        """
        gain = self.variances / (self.variances + self.noise_variance)
        if self.basis is None:
            return table * gain
        return ((table @ self.basis) * gain) @ self.basis.T


@dataclass(frozen=True)
class JamesStein:
    """Shrink every row by what its own length says about its noise; nothing else is needed.

    Parameters
    ----------
    noise_variance : float
        Mean square error of a released coordinate (no unit).

    References
    ----------
    James and Stein 1961, positive part; for at least three coordinates.
    """

    noise_variance: float

    name = "james_stein"

    @property
    def params(self) -> dict[str, Any]:
        """The noise variance that the estimate reckons with."""
        return {"noise_variance": self.noise_variance}

    @property
    def inputs(self) -> Inputs:
        """Nothing."""
        return {}

    def apply(self, table: FloatArray) -> FloatArray:
        """Shrink rows towards the public centre.

        Parameters
        ----------
        table : ndarray of float64, shape (n_patients, m)
            Noisy rows (no unit).

        Returns
        -------
        ndarray of float64, shape (n_patients, m)
            Estimated rows (no unit).

        Raises
        ------
        ChainError
            If there are fewer than three coordinates.
        """
        m = table.shape[1]
        if m < 3:
            raise ChainError(
                "postprocessing.james_stein", "at least three coordinates", f"{m}",
                "Leave this step out: it shrinks nothing here.",
            )  # fmt: skip
        squares = np.maximum(np.square(table).sum(axis=1), 1e-300)
        kept: FloatArray = np.maximum(0.0, 1 - (m - 2) * self.noise_variance / squares)
        return table * kept[:, None]


@dataclass(frozen=True, eq=False)
class ProjectionBack:
    """From coordinates of the public basis back to columns.

    Parameters
    ----------
    basis : ndarray of float64, shape (n_features, m)
        Orthonormal columns (no unit).
    """

    basis: FloatArray

    name = "projection_back"

    @property
    def params(self) -> dict[str, Any]:
        """Number of components."""
        return {"components": self.basis.shape[1]}

    @property
    def inputs(self) -> Inputs:
        """The basis, one list a component."""
        return {"basis": basis_rows(self.basis)}

    def apply(self, table: FloatArray) -> FloatArray:
        """Add up components.

        Parameters
        ----------
        table : ndarray of float64, shape (n_patients, m)
            Coordinates (no unit).

        Returns
        -------
        ndarray of float64, shape (n_patients, n_features)
            Rows on the scaled axis (no unit).
        """
        rows: FloatArray = table @ self.basis.T
        return rows


def basis_rows(basis: FloatArray) -> list[list[str]]:
    """Write a basis for ``public_inputs.json``.

    Parameters
    ----------
    basis : ndarray of float64, shape (n_features, m)
        Orthonormal columns (no unit).

    Returns
    -------
    list of list of str
        m lists of ``n_features`` numbers.
    """
    return [hexadecimal(component) for component in basis.T]


@dataclass(frozen=True)
class Unclipping:
    """Lengthen all rows by one public factor, by which clipping shortens rows on average.

    Parameters
    ----------
    factor : float
        At least 1 (no unit).
    """

    factor: float

    name = "unclipping"

    @property
    def params(self) -> dict[str, Any]:
        """The factor."""
        return {"factor": self.factor}

    @property
    def inputs(self) -> Inputs:
        """Nothing."""
        return {}

    def apply(self, table: FloatArray) -> FloatArray:
        """Multiply by the factor.

        Parameters
        ----------
        table : ndarray of float64, shape (n_patients, n_features)
            Rows on the scaled axis (no unit).

        Returns
        -------
        ndarray of float64, shape (n_patients, n_features)
            Longer rows (no unit).
        """
        return table * self.factor


@dataclass(frozen=True)
class Clamp:
    """Keep every value within a public range.

    Parameters
    ----------
    limit : float
        Largest absolute value on the scaled axis, in public spreads (no unit).
    """

    limit: float

    name = "clamp"

    @property
    def params(self) -> dict[str, Any]:
        """Both ends of the range."""
        return {"low": -self.limit, "high": self.limit}

    @property
    def inputs(self) -> Inputs:
        """Nothing."""
        return {}

    def apply(self, table: FloatArray) -> FloatArray:
        """Clamp.

        Parameters
        ----------
        table : ndarray of float64, shape (n_patients, n_features)
            Rows on the scaled axis (no unit).

        Returns
        -------
        ndarray of float64, shape (n_patients, n_features)
            Rows within the range (no unit).
        """
        clamped: FloatArray = np.clip(table, -self.limit, self.limit)
        return clamped


@dataclass(frozen=True, eq=False)
class InverseScaling:
    """From the scaled axis to features in their own units.

    Parameters
    ----------
    centre, spread : ndarray of float64, shape (n_features,)
        Public constants, on the columns' scale.
    log10 : ndarray of bool, shape (n_features,)
        Columns whose scale is log10 of their unit.
    """

    centre: FloatArray
    spread: FloatArray
    log10: np.ndarray

    name = "inverse_scaling"

    @property
    def params(self) -> dict[str, Any]:
        """How many columns are on a log10 scale."""
        return {"log10_columns": int(self.log10.sum())}

    @property
    def inputs(self) -> Inputs:
        """Public centre and spread."""
        return {"centre": hexadecimal(self.centre), "spread": hexadecimal(self.spread)}

    def apply(self, table: FloatArray) -> FloatArray:
        """Give features back in their units.

        Parameters
        ----------
        table : ndarray of float64, shape (n_patients, n_features)
            Rows on the scaled axis (no unit).

        Returns
        -------
        ndarray of float64, shape (n_patients, n_features)
            Features in their columns' units. Powers that no double can hold stay at its ends.
        """
        features = self.centre + self.spread * table
        with np.errstate(over="ignore"):
            features[:, self.log10] = np.power(10.0, features[:, self.log10])
        return np.minimum(features, np.finfo(np.float64).max)
