"""Public specification of a release of quantiles, with its grid of candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.central.exponential import LARGEST_N_CANDIDATES
from neuroveil.privacy.validate import (
    check_clip_norm,
    check_delta,
    check_dimension,
    check_epsilon,
)
from neuroveil.types.recording import FloatArray

QUARTILES = (0.25, 0.5, 0.75)
MEDIAN = 0.5


@dataclass(frozen=True)
class QuantileSpec:
    """Public specification of a release of quantiles of every column.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee for all quantiles of all columns together; ``delta = 0`` for a pure one.
    dimension : int
        Number d of columns.
    n_patients : int
        Roster size n, public.
    probabilities : tuple of float
        Which quantiles, each above 0 and below 1, in increasing order.
    absolute_deviation : bool
        Whether the median distance from the released median is released too, as a measure of
        spread. It needs one draw where an interquartile range needs two.
    scale : float
        Scale of the public grid of candidates, on the scaled axis (no unit).
    points : int
        Number of candidates.

    Raises
    ------
    ChainError
        If a parameter is out of its range.
    """

    epsilon: float
    delta: float
    dimension: int
    n_patients: int
    probabilities: tuple[float, ...] = (MEDIAN,)
    absolute_deviation: bool = True
    scale: float = 1.0
    points: int = 1025

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if self.delta != 0:
            check_delta(self.delta)
        check_dimension(self.dimension)
        check_dimension(self.n_patients, "adjacency.n_roster")
        check_clip_norm(self.scale, "quantiles.scale")
        wanted = self.probabilities
        if not wanted or any(not 0 < p < 1 for p in wanted) or list(wanted) != sorted({*wanted}):
            raise ChainError(
                "quantiles.probabilities", "numbers between 0 and 1 in increasing order",
                f"{wanted!r}", "For scaling take the median, 0.5.",
            )  # fmt: skip
        if self.absolute_deviation and MEDIAN not in wanted:
            raise ChainError(
                "quantiles.absolute_deviation", "the median among the quantiles", f"{wanted!r}",
                "Release the median too: distances are taken from it.",
            )  # fmt: skip
        is_number = isinstance(self.points, int) and not isinstance(self.points, bool)
        if not is_number or not 2 <= self.points <= LARGEST_N_CANDIDATES:
            raise ChainError(
                "quantiles.points", f"2 to {LARGEST_N_CANDIDATES} candidates", f"{self.points!r}",
                "A thousand candidates are enough for scaling.",
            )  # fmt: skip

    @property
    def draws_per_column(self) -> int:
        """Number of quantiles of one column, its absolute deviation included."""
        return len(self.probabilities) + int(self.absolute_deviation)

    @property
    def n_quantiles(self) -> int:
        """Number of quantiles over all columns."""
        return self.dimension * self.draws_per_column

    @property
    def candidates(self) -> FloatArray:
        """The public grid, shape (points,), on the scaled axis (no unit).

        Evenly spaced quantiles of Student's t with two degrees of freedom, times the scale:
        dense where a column that was scaled by public constants should have its quantiles, and
        reaching far where the constants do not fit.
        """
        steps = np.arange(1 - self.points, self.points, 2) / self.points
        return self.scale * steps * np.sqrt(2 / (1 - steps**2))

    @property
    def distances(self) -> FloatArray:
        """Grid of candidates for absolute deviations, shape (points,), all positive."""
        steps = np.arange(1, 2 * self.points, 2) / (2 * self.points)
        return self.scale * steps * np.sqrt(2 / (1 - steps**2))
