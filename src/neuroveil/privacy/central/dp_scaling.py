"""Centre and spread of every column from the cohort itself, paid for.

Public constants put all columns on one axis. On it, the median of each column and the median
distance from it are released by :class:`~neuroveil.privacy.central.quantiles.DpQuantiles`,
under a budget of their own, and rows are scaled with what was released. Each patient's row on
the public axis depends on nobody else, so one replaced patient changes each rank by at most 1.

Everything after that is made from released constants: rows or moments spend the rest of the
budget, and epsilons and deltas add up (basic composition holds for mechanisms that are chosen
in the light of what was released before).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.central.quantile_budget import QuantileBudget
from neuroveil.privacy.central.quantile_spec import QuantileSpec
from neuroveil.privacy.central.quantiles import DpQuantiles
from neuroveil.privacy.exact import exact
from neuroveil.privacy.randomness import RandomSource
from neuroveil.privacy.scaling import scale_rows
from neuroveil.types.budget import AccountingEvent
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

MECHANISM = "dp_quantiles"
"""Name of the event in ledger and certificate."""

RECOMMENDED_N_PATIENTS = 2000

_QUARTILE_OF_NORMAL = 0.6744897501960817
_USELESS = 0.5
_LARGE = 0.2


@dataclass(frozen=True)
class ScalingBudget:
    """What the constants of scaling may spend, on top of what is released with them.

    Parameters
    ----------
    epsilon, delta : float
        Guarantee of all quantiles of all columns together; ``delta = 0`` for a pure one.
    """

    epsilon: float
    delta: float = 0.0

    def spec(self, n_columns: int, n_patients: int) -> QuantileSpec:
        """Give the specification of the quantiles.

        Parameters
        ----------
        n_columns : int
            Number d of feature columns.
        n_patients : int
            Roster size, public.

        Returns
        -------
        QuantileSpec
            Median and median absolute deviation of every column.

        Raises
        ------
        ChainError
            If a number is out of its range.
        """
        return QuantileSpec(self.epsilon, self.delta, n_columns, n_patients)

    @property
    def event(self) -> AccountingEvent:
        """What the constants are to an accountant."""
        return AccountingEvent(MECHANISM, exact(self.epsilon), exact(self.delta))


@dataclass(frozen=True)
class ScalingForecast:
    """How far constants are predicted to be off, from public numbers alone.

    Parameters
    ----------
    centre_error : float
        Mean absolute error of a median, in interquartile ranges.
    spread_error : float
        Mean absolute error of a spread, as a share of it.
    """

    centre_error: float
    spread_error: float

    @property
    def is_useless(self) -> bool:
        """Whether chance decides more than the patients do."""
        return max(self.centre_error, self.spread_error) > _USELESS

    def describe(self, n_patients: int) -> str:
        """Say it in words.

        Parameters
        ----------
        n_patients : int
            Roster size, public.

        Returns
        -------
        str
            A sentence.
        """
        sentence = (
            f"Scaling constants from {n_patients:,} patients are predicted to be off by "
            f"{self.centre_error:.2g} interquartile ranges (centre) and {self.spread_error:.0%} "
            "(spread)."
        )
        if max(self.centre_error, self.spread_error) > _LARGE:
            sentence += (
                f" That is a lot: they pay from about {RECOMMENDED_N_PATIENTS:,} patients on; "
                "public constants cost nothing."
            )
        return sentence


@lru_cache(maxsize=64)
def predict_scaling(spec: QuantileSpec) -> ScalingForecast:
    """Predict how far constants are off.

    Parameters
    ----------
    spec : QuantileSpec
        Public specification.

    Returns
    -------
    ScalingForecast
        For normal columns that the public constants fit: with their median at the public
        centre and the public spread as interquartile range.
    """
    from scipy.special import ndtr

    each, n = QuantileBudget(spec).epsilon_each, spec.n_patients
    std = spec.scale / (2 * _QUARTILE_OF_NORMAL)

    centres, distances = spec.candidates, spec.distances
    chances = _chances(ndtr(centres / std), each * n)
    centre_error = float(chances @ np.abs(centres)) / spec.scale
    # Distances are taken from the drawn centre, so that its error adds to that of the spread.
    within = ndtr((centres[:, None] + distances) / std) - ndtr((centres[:, None] - distances) / std)
    errors = np.abs(2 * distances / spec.scale - 1)
    spread_error = float(chances @ (_chances(within, each * n) @ errors))
    return ScalingForecast(centre_error, spread_error)


def _chances(shares_below: FloatArray, epsilon_ranks: float) -> FloatArray:
    """Chance of each candidate for a median, by the share of patients below it."""
    weights = np.exp(-epsilon_ranks / 2 * np.abs(shares_below - 0.5))
    chances: FloatArray = weights / weights.sum(axis=-1, keepdims=True)
    return chances


def require_useful(spec: QuantileSpec) -> None:
    """Refuse to spend budget on constants that say next to nothing about the patients.

    Parameters
    ----------
    spec : QuantileSpec
        Public specification.

    Raises
    ------
    ChainError
        If the predicted error is above half of an interquartile range.
    """
    found = predict_scaling(spec)
    if found.is_useless:
        raise ChainError(
            "reference.scaling",
            f"enough patients and epsilon for constants that are off by at most {_USELESS:g} "
            "interquartile ranges",
            f"a predicted error of {found.centre_error:.2g} for the centre and "
            f"{found.spread_error:.0%} for the spread, with {spec.n_patients} patients and "
            f"epsilon = {spec.epsilon:g}, delta = {spec.delta:g}",
            "Use scaling = 'public_reference', which costs nothing; or raise reference.epsilon, "
            "set reference.delta above 0, or release fewer columns.",
        )  # fmt: skip


def planned_scaling(public: Scaling) -> Scaling:
    """Stand in for constants that are not drawn yet, before anything is spent.

    Parameters
    ----------
    public : Scaling
        Public constants that quantiles are measured in.

    Returns
    -------
    Scaling
        Like released constants in everything but its numbers, which are the public ones.

    Raises
    ------
    ChainError
        If the constants are not public.
    """
    if public.fitted_on != "public":
        raise ChainError(
            "preprocessing.scaling", "public constants to measure quantiles in",
            f"constants of the kind {public.fitted_on}", "Give those of a public reference.",
        )  # fmt: skip
    return replace(
        public, fitted_on="dp", name=f"dp quantiles in units of {public.name}",
        covariance=None, public=public,
    )  # fmt: skip


def draw_scaling(
    table: FeatureTable, public: Scaling, spec: QuantileSpec, source: RandomSource
) -> Scaling:
    """Release constants of a table's columns.

    Parameters
    ----------
    table : FeatureTable
        The private table, one row for each patient on the roster.
    public : Scaling
        Public constants that quantiles are measured in.
    spec : QuantileSpec
        Public specification.
    source : RandomSource
        Where the randomness comes from.

    Returns
    -------
    Scaling
        Constants that may be published, ``fitted_on = "dp"``.

    Raises
    ------
    ChainError
        If the table does not fit.
    """
    return scaling_of_rows(scale_rows(table, public), public, spec, source)


def scaling_of_rows(
    rows: FloatArray, public: Scaling, spec: QuantileSpec, source: RandomSource
) -> Scaling:
    """Release constants from rows on the public axis.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, n_features)
        Rows scaled with the public constants (no unit).
    public : Scaling
        Those constants.
    spec : QuantileSpec
        Public specification.
    source : RandomSource
        Where the randomness comes from.

    Returns
    -------
    Scaling
        Constants that may be published, ``fitted_on = "dp"``.

    Raises
    ------
    ChainError
        If the rows do not fit.
    """
    mechanism = DpQuantiles(spec)
    centre, spread = mechanism.apply(rows, mechanism.draw(source)).centre_and_spread()
    return replace(
        planned_scaling(public),
        centre=public.centre + public.spread * centre,
        spread=public.spread * spread,
    )
