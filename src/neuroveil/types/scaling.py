"""Centre and spread of every column, and where they come from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.types.catalogue import Column
from neuroveil.types.recording import FloatArray

FittedOn = Literal["public", "private"]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Constants that make columns comparable: ``(transform(value) - centre) / spread``.

    Parameters
    ----------
    columns : tuple of Column
        What each entry belongs to.
    centre : ndarray of float64, shape (n_features,)
        On the column's scale (log10 of the unit, or the unit).
    spread : ndarray of float64, shape (n_features,)
        On the column's scale; positive.
    fitted_on : {"public", "private"}
        ``"private"`` (statistics of the cohort itself) voids the end-to-end guarantee.
    name : str
        Name and version of the reference, for example ``"eegmat-rest7-harmonised v1"``.
    fallback : tuple of bool
        True where the reference does not cover the column and a documented general
        constant stands in.
    covariance : ndarray of float64, shape (n_features, n_features), optional
        Public covariance of the scaled columns, where the reference carries one.

    Raises
    ------
    ChainError
        If shapes disagree, or a constant is not finite, or a spread is not positive.
    """

    columns: tuple[Column, ...]
    centre: FloatArray
    spread: FloatArray
    fitted_on: FittedOn
    name: str
    fallback: tuple[bool, ...]
    covariance: FloatArray | None = None

    def __post_init__(self) -> None:
        d = len(self.columns)
        shapes = (self.centre.shape, self.spread.shape, (len(self.fallback),))
        if any(shape != (d,) for shape in shapes) or (
            self.covariance is not None and self.covariance.shape != (d, d)
        ):
            raise ChainError(
                "reference constants", f"one constant for each of {d} columns",
                f"shapes {shapes}", "Use a reference that covers the study's columns.",
            )  # fmt: skip
        finite = np.isfinite(self.centre).all() and np.isfinite(self.spread).all()
        if not (bool(finite) and bool((self.spread > 0).all())):
            raise ChainError(
                "reference constants", "finite centres and positive finite spreads",
                "others", "Rebuild the reference.",
            )  # fmt: skip

    @property
    def digest(self) -> str:
        """SHA-256 over columns, centre and spread, as ``sha256:<hex>``.

        Only meaningful outside the hospital when ``fitted_on`` is ``"public"``.
        """
        document = {
            "name": self.name,
            "columns": [column.name for column in self.columns],
            "centre": [value.hex() for value in self.centre.tolist()],
            "spread": [value.hex() for value in self.spread.tolist()],
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
