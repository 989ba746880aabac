"""What one release would leave, from its plan and the public covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuroveil.evaluate.planning.options import Option
from neuroveil.evaluate.planning.question import PlanQuestion
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.plan import RowPlan, plan_rows
from neuroveil.privacy.postprocessing import Wiener
from neuroveil.privacy.prediction import (
    LinearEstimate,
    ReleasedPower,
    advantage_bound,
    attenuated_auc,
    codeword_advantage,
    codeword_power,
    gaussian_advantage,
    posterior_bound,
)
from neuroveil.privacy.settings import ProtectSettings, charge_request
from neuroveil.types.planning import AttackBounds, MomentFigures, OptionForecast, RowFigures

if TYPE_CHECKING:
    from neuroveil.privacy.mechanisms.contract import RowMechanism


def forecast_option(option: Option, question: PlanQuestion, epsilon: float) -> OptionForecast:
    """Predict what a release leaves, what it costs, and what an attacker gains.

    Parameters
    ----------
    option : Option
        The release.
    question : PlanQuestion
        Public numbers.
    epsilon : float
        Epsilon in the release's trust model.

    Returns
    -------
    OptionForecast
        Epsilon and delta in it are those of the charge that a release would ask for.

    Raises
    ------
    ChainError
        If it cannot be calibrated.
    """
    settings = option.settings(question, epsilon)
    charge = charge_request(settings, question.scaling.columns, question.n_patients)
    rows, moments, row_epsilon, own = None, None, None, None
    if settings.is_central:
        moments, own = _moment_figures(settings, question)
    else:
        plan = plan_rows(settings, question.scaling, question.n_patients)
        rows = row_figures(plan, question)
        if plan.shuffled is None:
            own = _advantage_of(plan.mechanism)
        else:
            row_epsilon = plan.shuffled.design.epsilon
    components = settings.projection.components if settings.projection else None
    return OptionForecast(
        option.label(components), option.mechanism, option.form, option.trust_model,
        float(charge.epsilon), float(charge.delta), row_epsilon, components,
        _attack(settings, own, question), rows, moments,
    )  # fmt: skip


def row_figures(plan: RowPlan, question: PlanQuestion) -> RowFigures:
    """Predict what a release of rows leaves.

    Parameters
    ----------
    plan : RowPlan
        How rows are treated.
    question : PlanQuestion
        Public numbers.

    Returns
    -------
    RowFigures
        Over rows of the public population; without a public covariance over rows that fill the
        clipping norm, whose columns have nothing in common.
    """
    noise_std, effect = plan.noise_variance**0.5, question.effect_size
    estimate = linear_estimate(plan)
    if estimate is None:
        bare = plan.mechanism.predict()
        auc = attenuated_auc(effect, bare.correlation)
        zeros = question.clip_norm / question.dimension**0.5
        return RowFigures(
            noise_std, bare.rmse, zeros, bare.snr_db, bare.correlation, bare.correlation, auc, auc
        )
    columns = [attenuated_auc(effect, float(r)) for r in estimate.column_correlations]
    return RowFigures(
        noise_std=noise_std,
        rmse=estimate.rmse,
        zeros_rmse=estimate.zeros_rmse,
        snr_db=estimate.snr_db,
        correlation=estimate.correlation(question.n_patients),
        correlation_centred=estimate.correlation_centred,
        auc_pattern=attenuated_auc(effect, estimate.score_correlation()),
        auc_column=float(np.mean(columns)),
    )


def linear_estimate(plan: RowPlan) -> LinearEstimate | None:
    """Put the moments of a plan's estimate together.

    Parameters
    ----------
    plan : RowPlan
        How rows are treated.

    Returns
    -------
    LinearEstimate or None
        None without a public covariance.
    """
    model, moments = plan.model, plan.moments
    if model is None or moments is None:
        return None
    is_shrunk = any(isinstance(step, Wiener) for step in plan.steps)
    ones = np.ones(plan.spec.dimension)
    return LinearEstimate(
        weights=moments.wiener_gain(plan.noise_variance) if is_shrunk else ones,
        released=released_power(plan.mechanism).of(moments.bounded),
        with_bounded_row=moments.with_bounded_row,
        with_row=moments.with_row,
        bounded_row=model.moments(model.dimension, plan.spec.clip_norm).bounded,
        row=model.spectrum,
        basis=model.basis(model.dimension),
    )


def released_power(mechanism: RowMechanism) -> ReleasedPower:
    """Say how large released coordinates are.

    Parameters
    ----------
    mechanism : RowMechanism
        Calibrated.

    Returns
    -------
    ReleasedPower
        Over draws, and over codebooks where there are some.
    """
    spec = mechanism.spec
    if isinstance(mechanism, PrivUnit):
        return codeword_power(*mechanism.design.moments, spec.clip_norm, spec.dimension)
    return ReleasedPower(mechanism.predict().rmse ** 2, 1.0)


def _advantage_of(mechanism: RowMechanism) -> float | None:
    if isinstance(mechanism, PrivUnit):
        design = mechanism.design
        return codeword_advantage(design.probability, design.top / design.size)
    multiplier = mechanism.event.noise_multiplier
    if mechanism.event.family == "gaussian" and multiplier is not None:
        return gaussian_advantage(multiplier)
    return None


def _attack(settings: ProtectSettings, own: float | None, question: PlanQuestion) -> AttackBounds:
    """Bound attackers by all that is spent on a patient, scaling constants included."""
    beside, prior = question.spent_beside, question.prior
    epsilon, delta = settings.epsilon + beside[0], settings.delta + beside[1]
    posterior, exception = posterior_bound(epsilon, delta, prior)
    # What the mechanism alone leaves says nothing about constants that are seen with it.
    return AttackBounds(
        advantage_bound(epsilon, delta), None if any(beside) else own, prior, posterior, exception
    )


def _moment_figures(
    settings: ProtectSettings, question: PlanQuestion
) -> tuple[MomentFigures, float | None]:
    plan = plan_moments(settings, question.dimension, question.n_patients)
    used, forecast = plan.mechanism.calibration, plan.forecast(question.scaling)
    figures = MomentFigures(
        used.mean_noise_std,
        used.second_moment_noise_std,
        None if forecast is None else forecast.covariance_correlation,
        None if forecast is None else forecast.n_directions,
    )
    multiplier = plan.mechanism.event.noise_multiplier
    return figures, None if multiplier is None else gaussian_advantage(multiplier)
