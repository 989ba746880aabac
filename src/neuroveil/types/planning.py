"""What releases are forecast to leave: results that ``evaluate`` computes and ``report`` draws.

Everything here follows from public numbers, so unlike measured utility it may be published.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Form = Literal["plain", "shrunk", "public_basis", "aggregate"]
"""What stands around a mechanism: nothing, shrinkage by the public covariance, a projection on
public components with shrinkage, or statistics of all patients together."""


@dataclass(frozen=True)
class AttackBounds:
    """What the strongest attacker can gain, who knows everything but one patient's row.

    Parameters
    ----------
    advantage : float
        Largest true-positive minus false-positive rate that epsilon and delta allow.
    advantage_of_noise : float, optional
        Largest one that this mechanism's own noise allows, where it is known in closed form; it is
        smaller, most of all for Gaussian noise.
    prior, posterior : float
        Belief in the truth before, and the largest belief after the release.
    posterior_exception : float
        Largest probability with which ``posterior`` is exceeded; 0 for a pure guarantee.
    """

    advantage: float
    advantage_of_noise: float | None
    prior: float
    posterior: float
    posterior_exception: float


@dataclass(frozen=True)
class RowFigures:
    """What a release of rows is forecast to leave of each patient.

    Parameters
    ----------
    noise_std : float
        Root mean square error of a released coordinate, on the scaled axis (no unit).
    rmse, zeros_rmse : float
        Root mean square error of a cell of the estimate, and of a table of zeros (no unit).
    snr_db : float
        Signal-to-noise ratio of the estimate in dB; 0 for a table of zeros.
    correlation : float
        Correlation with the clipped rows over all cells.
    correlation_centred : float
        The same after the cohort mean of every column is taken off.
    auc_pattern, auc_column : float
        Area under the curve between two groups that differ by the stated effect size in the
        strongest public pattern, and in a column (mean over columns).
    """

    noise_std: float
    rmse: float
    zeros_rmse: float
    snr_db: float
    correlation: float
    correlation_centred: float
    auc_pattern: float
    auc_column: float


@dataclass(frozen=True)
class MomentFigures:
    """What a release of mean and covariance is forecast to leave of the cohort.

    Parameters
    ----------
    mean_rmse, covariance_rmse : float
        Noise in an entry of the mean and of the covariance, before cleaning (no unit).
    covariance_correlation : float, optional
        Correlation of covariance entries with the cohort's; none without a public covariance.
    n_directions : int, optional
        Directions that stand out of the noise.
    """

    mean_rmse: float
    covariance_rmse: float
    covariance_correlation: float | None
    n_directions: int | None


@dataclass(frozen=True)
class OptionForecast:
    """One way to release, and what it is forecast to leave.

    Parameters
    ----------
    label : str
        Name for a reader.
    mechanism : str
        Name of the mechanism.
    form : {"plain", "shrunk", "public_basis", "aggregate"}
        What stands around it.
    trust_model : str
        Who has to be trusted: ``"local"`` for nobody.
    epsilon, delta : float
        Guarantee, which is also what the ledger is charged.
    row_epsilon : float, optional
        Epsilon of a single row, before a trusted shuffler brings it down to ``epsilon``.
    components : int, optional
        Number of public components.
    attack : AttackBounds
        What an attacker can gain.
    rows : RowFigures, optional
        For releases of rows.
    moments : MomentFigures, optional
        For releases of mean and covariance.
    """

    label: str
    mechanism: str
    form: Form
    trust_model: str
    epsilon: float
    delta: float
    row_epsilon: float | None
    components: int | None
    attack: AttackBounds
    rows: RowFigures | None = None
    moments: MomentFigures | None = None

    @property
    def score(self) -> float:
        """The correlation that the release is made for: of patients' values, or of covariances."""
        if self.rows is not None:
            return self.rows.correlation_centred
        return (self.moments and self.moments.covariance_correlation) or 0.0


@dataclass(frozen=True)
class DimensionPrice:
    """What the number of columns costs, for rows that fill the clipping norm.

    Parameters
    ----------
    label : str
        Such as ``"33 x 11"``.
    dimension : int
        Number d of columns.
    root : float
        sqrt(d), the factor from L2 to L1 sensitivity (no unit).
    epsilon : float
        Epsilon of the forecasts.
    typical_cell : float
        C / sqrt(d), root mean square of a cell (no unit).
    correlations : dict of str to float
        Forecast correlation of plain rows by mechanism.
    """

    label: str
    dimension: int
    root: float
    epsilon: float
    typical_cell: float
    correlations: dict[str, float]


@dataclass(frozen=True)
class Need:
    """What a release would need for a wanted correlation.

    Parameters
    ----------
    label, trust_model : str
        The release.
    target : float
        Wanted correlation.
    epsilon : float, optional
        Smallest epsilon at the study's number of patients, rounded up to two digits; none where
        no epsilon up to ``epsilon_tried`` does.
    n_patients : int, optional
        Smallest number of patients at ``at_epsilon``, rounded up to two digits; none where no
        number up to ``n_tried`` does.
    depends_on_n : bool
        Whether the number of patients changes anything.
    at_epsilon, epsilon_tried : float
        See above.
    n_tried : int
        See above.
    """

    label: str
    trust_model: str
    target: float
    epsilon: float | None
    n_patients: int | None
    depends_on_n: bool
    at_epsilon: float
    epsilon_tried: float
    n_tried: int


@dataclass(frozen=True)
class Drop:
    """What leaving out a channel or a feature would change, by the public covariance.

    All correlations are those of the best linear estimates with the rows before clipping.

    Parameters
    ----------
    kind : {"channel", "feature"}
        What is left out.
    name : str
        Its name.
    n_columns : int
        Columns that it takes along.
    kept_before, kept_after : float
        Correlation over the other columns, with and without it.
    recovered : float
        Correlation of its own columns when they are estimated from the others.
    all_before, all_after : float
        Correlation over all columns, those left out being estimated.
    """

    kind: Literal["channel", "feature"]
    name: str
    n_columns: int
    kept_before: float
    kept_after: float
    recovered: float
    all_before: float
    all_after: float


@dataclass(frozen=True)
class Coverage:
    """How far the public reference covers the columns.

    Parameters
    ----------
    reference : str
        Name and version of the constants.
    n_columns, n_outside : int
        Columns, and those that the reference says nothing about.
    channels, features : tuple of str
        Channels and features that lie outside as a whole.
    sentences : tuple of str
        What follows, in plain English; never empty where a column lies outside.
    """

    reference: str
    n_columns: int
    n_outside: int
    channels: tuple[str, ...]
    features: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Drops:
    """What could be left out, for one release.

    Parameters
    ----------
    label : str
        The release.
    epsilon : float
        Its epsilon.
    listed : tuple of Drop
        From the largest gain over all columns to the largest loss.
    """

    label: str
    epsilon: float
    listed: tuple[Drop, ...]


@dataclass(frozen=True)
class Plan:
    """The answer of the planner. Public: no private value was looked at.

    Parameters
    ----------
    n_patients, n_columns : int
        Roster size and number of columns.
    clip_norm, delta : float
        Clipping norm (no unit), and the delta of releases that need one.
    trust_model : str
        How much trust was offered; releases that need less are listed too.
    effect_size, auc_before : float
        Stated effect size, and the area under the curve that it gives without noise.
    coverage : Coverage
        How far the public reference covers the columns.
    forecasts : tuple of OptionForecast
        By epsilon, and for each from the one that should leave most of its kind.
    price : tuple of DimensionPrice
        Price of the dimension.
    needs : tuple of Need
        What a wanted correlation would need; empty where none was asked for.
    drops : Drops, optional
        What could be left out.
    notes : tuple of str
        What else a reader must know.
    """

    n_patients: int
    n_columns: int
    clip_norm: float
    delta: float
    trust_model: str
    effect_size: float
    auc_before: float
    coverage: Coverage
    forecasts: tuple[OptionForecast, ...]
    price: tuple[DimensionPrice, ...]
    needs: tuple[Need, ...] = ()
    drops: Drops | None = None
    notes: tuple[str, ...] = ()

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The epsilons, in the order of the forecasts."""
        return tuple(dict.fromkeys(forecast.epsilon for forecast in self.forecasts))

    def best(self, epsilon: float) -> OptionForecast:
        """Give the release of rows that should leave most of each patient.

        Parameters
        ----------
        epsilon : float
            One of :attr:`epsilons`.

        Returns
        -------
        OptionForecast
            The first one at this epsilon.
        """
        return next(
            forecast for forecast in self.forecasts
            if forecast.epsilon == epsilon and forecast.rows is not None
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Give the plan as plain data.

        Returns
        -------
        dict
            The fields by name.
        """
        return asdict(self)
