"""What is left of a cohort by a release of its moments, as facts."""

from __future__ import annotations

from neuroveil.privacy.central.plan import MomentPlan
from neuroveil.privacy.mechanisms.links import derived, setting
from neuroveil.types.certificate import Fact
from neuroveil.types.scaling import Scaling


def moment_utility(plan: MomentPlan, scaling: Scaling) -> dict[str, Fact]:
    """State what will be left, from public numbers alone.

    Parameters
    ----------
    plan : MomentPlan
        The release.
    scaling : Scaling
        Constants of the columns, with a public covariance where there is one.

    Returns
    -------
    dict of str to Fact
        Facts of the link ``utility``.
    """
    used, forecast = plan.mechanism.calibration, plan.forecast(scaling)
    correlation = None if forecast is None else forecast.covariance_correlation
    return {
        "predicted": derived(
            {"mean_rmse": used.mean_noise_std, "covariance_rmse": used.second_moment_noise_std},
            "division", "mechanism.noise_std_sum / domain.n and "
            "mechanism.noise_std_off_diagonal / domain.n",
            "mechanism.noise_std_sum", "mechanism.noise_std_off_diagonal", "domain.n",
        ),
        "estimate": Fact(
            None if correlation is None else {"correlation": correlation}, "measured",
            "Benaych-Georges and Nadakuditi 2011, with the public covariance", None,
            ("postprocessing.steps",),
        ),
        "source": setting("public", "neuroveil"),
    }  # fmt: skip
