"""How a release of mean and covariance is made, from public settings alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from neuroveil.errors import ChainError
from neuroveil.privacy.central.forecast import MomentForecast, predict_moments
from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.public_model import public_model
from neuroveil.types.scaling import Scaling

if TYPE_CHECKING:
    from neuroveil.privacy.settings import ProtectSettings


@dataclass(frozen=True, eq=False)
class MomentPlan:
    """A release of mean and covariance that settings ask for.

    Parameters
    ----------
    mechanism : MeanCovariance
        Calibrated.
    """

    mechanism: MeanCovariance

    @property
    def spec(self) -> MomentSpec:
        """What is asked for."""
        return self.mechanism.spec

    def forecast(self, scaling: Scaling) -> MomentForecast | None:
        """Predict what will be left.

        Parameters
        ----------
        scaling : Scaling
            Constants of the columns.

        Returns
        -------
        MomentForecast or None
            None where the constants carry no public covariance.
        """
        model = public_model(scaling)
        if model is None or not model.spectrum.any():
            return None
        return predict_moments(self.mechanism.calibration, model.spectrum)


def plan_moments(settings: ProtectSettings, n_columns: int, n_patients: int) -> MomentPlan:
    """Plan a release of mean and covariance.

    Parameters
    ----------
    settings : ProtectSettings
        Public settings of the release.
    n_columns : int
        Number d of feature columns.
    n_patients : int
        Roster size, public.

    Returns
    -------
    MomentPlan
        Calibrated.

    Raises
    ------
    ChainError
        If trust model and mechanism do not go together, rows are clipped in L1 or projected,
        labels are to be released, or the noise cannot be calibrated.
    """
    for is_fine, name, expected, found, remedy in (
        (settings.mechanism == "mean_covariance", "privacy.mechanism",
         "mean_covariance or auto under trust_model = 'central'", settings.mechanism,
         "Rows need nobody's trust: set trust_model = 'local', or release mean_covariance."),
        (settings.trust_model == "central", "privacy.trust_model", "central for mean_covariance",
         settings.trust_model, "Whoever computes it sees all rows: set trust_model = 'central'."),
        (settings.norm == "l2", "privacy.norm", "l2", settings.norm,
         "Moments are bounded in L2."),
        (settings.projection is None, "privacy.projection", "none", "a projection",
         "Moments are released in all columns: set projection = 'none'."),
        (not settings.labels, "labels", "none beside statistics of all patients",
         f"{len(settings.labels)}", "Synthetic rows belong to nobody: leave labels out."),
    ):  # fmt: skip
        if not is_fine:
            raise ChainError(name, expected, found, remedy)
    return _calibrated(
        MomentSpec(settings.epsilon, settings.delta, settings.clip_norm, n_columns, n_patients)
    )


@lru_cache(maxsize=64)
def _calibrated(spec: MomentSpec) -> MomentPlan:
    return MomentPlan(MeanCovariance(spec))
