"""How much epsilon a single quantile gets, when many are released together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import epsilon_by_zcdp
from neuroveil.privacy.central.exponential import LARGEST_N_CANDIDATES
from neuroveil.privacy.exact import exact, exact_down, float_down
from neuroveil.privacy.validate import (
    check_clip_norm,
    check_delta,
    check_dimension,
    check_epsilon,
)
from neuroveil.types.recording import FloatArray

QUARTILES = (0.25, 0.5, 0.75)
MEDIAN = 0.5

_PURE = "basic composition: Dwork, McSherry, Nissim and Smith 2006"
_CONCENTRATED = (
    "bounded range, Cesar and Rogers 2021; conversion of Canonne, Kamath and Steinke "
    "2020, Proposition 12"
)
_MARGIN = 2.0**-30  # covers the rounding of the conversion


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


@dataclass(frozen=True)
class QuantileBudget:
    """What one quantile may cost, and what all of them do.

    Parameters
    ----------
    spec : QuantileSpec
        What it was worked out for.
    """

    spec: QuantileSpec

    @cached_property
    def epsilon_each(self) -> float:
        """Pure epsilon of one quantile, rounded down.

        The larger of epsilon / K by basic composition and, where ``delta`` is not 0, the
        epsilon whose K-fold composition in zero-concentrated terms keeps (epsilon, delta).
        """
        return max(self._by_addition, self._by_concentration)

    @property
    def variant(self) -> Literal["pure_dp", "approximate_dp"]:
        """Kind of guarantee of all quantiles together."""
        return "pure_dp" if self._by_addition >= self._by_concentration else "approximate_dp"

    @property
    def proof(self) -> str:
        """Theorem that the composition rests on."""
        return _PURE if self.variant == "pure_dp" else _CONCENTRATED

    @property
    def epsilon_pure(self) -> float:
        """Pure epsilon of all quantiles together, by adding up."""
        return self.epsilon_each * self.spec.n_quantiles

    @property
    def rho(self) -> float:
        """Zero-concentrated privacy loss of all quantiles together.

        An exponential mechanism has a bounded range of log-likelihood ratios, of width
        epsilon, so that each costs epsilon^2 / 8 (Cesar and Rogers 2021).
        """
        return self.spec.n_quantiles * self.epsilon_each**2 / 8

    @property
    def _by_addition(self) -> float:
        return float_down(exact_down(self.spec.epsilon) / self.spec.n_quantiles)

    @cached_property
    def _by_concentration(self) -> float:
        spec = self.spec
        if spec.delta == 0:
            return 0.0
        target = spec.epsilon * (1 - _MARGIN)
        low, high = 1e-18, 2 * (spec.epsilon + 1)  # conversions of these are below and above
        while high / low > 1 + _MARGIN:
            middle = math.sqrt(low * high)
            if epsilon_by_zcdp(middle, spec.delta) <= target:
                low = middle
            else:
                high = middle
        return math.sqrt(8 * low / spec.n_quantiles) * (1 - _MARGIN)

    def rank_target(self, probability: float) -> tuple[int, int]:
        """Give the ranks between which a quantile lies.

        Parameters
        ----------
        probability : float
            Which quantile p.

        Returns
        -------
        least, most : int
            A value is a quantile if at least ceil(p n) patients are not above it and at most
            floor(p n) below it.
        """
        product = exact(probability) * self.spec.n_patients
        return math.ceil(product), math.floor(product)
