"""How much epsilon a single quantile gets, when many are released together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from neuroveil.privacy.accounting import epsilon_by_zcdp
from neuroveil.privacy.central.quantile_spec import QuantileSpec
from neuroveil.privacy.exact import exact, exact_down, float_down

_PURE = "basic composition: Dwork, McSherry, Nissim and Smith 2006"
_CONCENTRATED = (
    "bounded range, Cesar and Rogers 2021; conversion of Canonne, Kamath and Steinke "
    "2020, Proposition 12"
)
_MARGIN = 2.0**-30  # covers the rounding of the conversion


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
