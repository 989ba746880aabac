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

FittedOn = Literal["public", "private", "dp"]


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
    fitted_on : {"public", "private", "dp"}
        ``"private"`` (statistics of the cohort itself) voids the end-to-end guarantee;
        ``"dp"`` (quantiles of the cohort, released under a budget of their own) does not.
    name : str
        Name and version of the reference, for example ``"eegmat-rest7-harmonised v1"``.
    fallback : tuple of bool
        True where the reference does not cover the column and a documented general
        constant stands in.
    covariance : ndarray of float64, shape (n_features, n_features), optional
        Public covariance of the scaled columns, where the reference carries one.
    public : Scaling, optional
        Public constants that quantiles were measured in; there exactly where ``fitted_on`` is
        ``"dp"``.

    Raises
    ------
    ChainError
        If shapes disagree, or a constant is not finite, or a spread is not positive, or the
        public constants behind quantiles are missing.
    """

    columns: tuple[Column, ...]
    centre: FloatArray
    spread: FloatArray
    fitted_on: FittedOn
    name: str
    fallback: tuple[bool, ...]
    covariance: FloatArray | None = None
    public: Scaling | None = None

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
        behind = None if self.public is None else (self.public.fitted_on, self.public.columns)
        if behind != (("public", self.columns) if self.fitted_on == "dp" else None):
            raise ChainError(
                "reference constants", "public constants of the same columns behind quantiles, "
                "and none elsewhere", "others", "Use neuroveil.privacy.central.dp_scaling.",
            )  # fmt: skip

    @property
    def is_published(self) -> bool:
        """Whether centre and spread may be told to everybody."""
        return self.fitted_on != "private"

    @property
    def digest(self) -> str:
        """SHA-256 over columns, centre and spread, as ``sha256:<hex>``.

        Only for use outside the hospital where the constants are published.
        """
        document = {
            "name": self.name,
            "columns": [column.name for column in self.columns],
            "centre": [value.hex() for value in self.centre.tolist()],
            "spread": [value.hex() for value in self.spread.tolist()],
        }
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
