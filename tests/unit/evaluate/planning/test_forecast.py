"""Forecasts against draws of noise on rows of the public population, to 5 %."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from neuroveil.evaluate import draws, intrinsic_utility
from neuroveil.evaluate.draws import simulated_draw
from neuroveil.evaluate.planning.forecast import forecast_option, linear_estimate
from neuroveil.evaluate.planning.options import Option, offered_options
from neuroveil.privacy import simulate
from neuroveil.privacy.central.covariance import estimate_covariance
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.prediction import attenuated_auc
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.simulate import simulate_rows
from neuroveil.types.table import FeatureTable

N, TOLERANCE = 2000, 0.05
ROW_OPTIONS = [
    *(Option(mechanism, form, "local") for mechanism in ("privunit", "gaussian", "laplace")
      for form in ("plain", "shrunk", "public_basis")),
    *(Option("privunit", form, "shuffled") for form in ("plain", "shrunk", "public_basis")),
]  # fmt: skip


def near(value: float):
    return pytest.approx(value, rel=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "epsilon"),
    [(option, epsilon) for option in ROW_OPTIONS for epsilon in (2.0, 20.0)
     if option.trust_model == "local" or epsilon == 2.0],
    ids=lambda value: value.label() if isinstance(value, Option) else None,
)  # fmt: skip
def test_rows_are_left_as_forecast(ask, monkeypatch, option: Option, epsilon: float) -> None:
    """Fixed seeds; a correlation below 0.04 may differ by 0.004, which is what draws differ by."""
    # The same law, see test_draws.py, and quicker; so is shuffling fewer rows.
    monkeypatch.setattr(draws, "makes_codebook", lambda design, n_rows: False)
    n = N if option.trust_model == "local" else 500
    question = ask(n_patients=n)
    forecast = forecast_option(option, question, epsilon).rows
    plan = plan_rows(option.settings(question, epsilon), question.scaling, n)
    rows = simulate_rows(n, question.scaling, 11)
    measured = intrinsic_utility(rows, plan, question.scaling, seed=12)
    figures = measured.overall.against_clipped
    assert forecast.rmse == near(figures.rmse.mean)
    assert forecast.zeros_rmse == near(measured.zeros_rmse)
    assert abs(forecast.snr_db - figures.snr_db.mean) < 20 * np.log10(1 + TOLERANCE)
    for name in ("correlation", "correlation_centred"):
        expected = getattr(figures, name).mean
        assert getattr(forecast, name) == pytest.approx(expected, rel=TOLERANCE, abs=0.004)


@pytest.mark.slow
@pytest.mark.parametrize("option", [ROW_OPTIONS[0], ROW_OPTIONS[3]], ids=["privunit", "gaussian"])
def test_privacy_simulate_draws_what_is_forecast(ask, option: Option) -> None:
    """The draws of the privacy room, codebooks included; fixed seeds."""
    question = ask()
    scaling, epsilon, n = question.scaling, 8.0, question.n_patients
    rows = simulate_rows(n, scaling, 3)
    values = scaling.centre + scaling.spread * rows
    log10 = np.array([column.scale == "log10" for column in scaling.columns])
    values[:, log10] = 10.0 ** values[:, log10]
    table = FeatureTable(
        tuple(f"p{i}" for i in range(n)), scaling.columns, values, np.full(n, 9), np.full(n, 9.0)
    )
    found = []
    for draw in simulate(table, scaling, option.settings(question, epsilon), 5, 20):
        error = np.sqrt(np.square(draw.values - draw.clipped).mean())
        found.append((np.corrcoef(draw.values.ravel(), draw.clipped.ravel())[0, 1], error))
    correlation, rmse = np.mean(found, axis=0)
    forecast = forecast_option(option, question, epsilon).rows
    assert forecast.rmse == near(rmse)
    assert forecast.correlation == near(correlation)


def area(low: np.ndarray, high: np.ndarray) -> float:
    """Area under the receiver operating characteristic, by ranks."""
    ranks = rankdata(np.concatenate([low, high]))[low.size :]
    return float((ranks.sum() - high.size * (high.size + 1) / 2) / (low.size * high.size))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "epsilon"), [(0, 20.0), (1, 6.0), (2, 6.0), (2, 20.0), (4, 20.0), (8, 6.0)]
)
def test_groups_are_told_apart_as_forecast(ask, monkeypatch, place: int, epsilon: float) -> None:
    """Two groups of 30,000 along the natural variation; fixed seed.

    Tolerance is 5 % of what the area is above 1/2, plus three standard errors, 0.007.
    """
    monkeypatch.setattr(draws, "makes_codebook", lambda design, n_rows: False)
    half, effect, option = 30_000, 0.8, ROW_OPTIONS[place]
    question = ask(n_patients=N, effect_size=effect)
    plan = plan_rows(option.settings(question, epsilon), question.scaling, N)
    covariance, basis = question.model.covariance, question.model.basis(question.dimension)
    estimate = linear_estimate(plan)
    expected = {"pattern": estimate.score_correlation()}
    directions = {"pattern": basis[:, 0], "column": np.eye(question.dimension)[17]}
    expected["column"] = estimate.column_correlations[17]
    rows, sign = simulate_rows(2 * half, question.scaling, 8), np.repeat([-0.5, 0.5], half)
    for name, direction in directions.items():
        spread = np.sqrt(direction @ covariance @ direction)
        shift = covariance @ direction / spread * effect
        shifted = plan.bound(rows + sign[:, None] * shift)
        noisy = simulated_draw(plan.mechanism, shifted, SimulationRandomness(9))
        score = plan.estimates(noisy)[0] @ direction
        found = area(score[:half], score[half:]) - 0.5
        forecast = attenuated_auc(effect, expected[name]) - 0.5
        assert forecast == pytest.approx(found, abs=TOLERANCE * abs(found) + 0.007), name


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(2000, 1.0), (2000, 5.0), (500, 5.0)])
def test_covariances_are_left_as_forecast(ask, n: int, epsilon: float) -> None:
    """Mean over five draws; fixed seeds. The noise in the mean is exact to 5 %."""
    question = ask(n_patients=n)
    option = Option("mean_covariance", "aggregate", "central")
    forecast = forecast_option(option, question, epsilon).moments
    plan = plan_moments(option.settings(question, epsilon), question.dimension, n)
    rows_int = plan.mechanism.bound(simulate_rows(n, question.scaling, 21))
    rows = np.ldexp(rows_int.astype(float), plan.mechanism.calibration.grid_log2)
    truth = np.cov(rows.T, bias=True)
    source, found, errors = SimulationRandomness(22), [], []
    for _ in range(5):
        noisy = plan.mechanism.apply(rows_int, plan.mechanism.draw(source))
        released = estimate_covariance(noisy)
        found.append(np.corrcoef(released.covariance.ravel(), truth.ravel())[0, 1])
        errors.append(noisy.mean - rows.mean(axis=0))
    assert forecast.covariance_correlation == near(float(np.mean(found)))
    assert forecast.mean_rmse == pytest.approx(float(np.sqrt(np.square(errors).mean())), rel=0.15)


@pytest.mark.slow
def test_what_is_charged_is_what_is_forecast(ask) -> None:
    question = ask(n_patients=40)
    for option in offered_options(question):
        forecast = forecast_option(option, question, 2.0)
        pure = option.trust_model == "local" and option.mechanism != "gaussian"
        assert (forecast.epsilon, forecast.delta) == (2.0, 0.0 if pure else 1e-5)
        assert (forecast.rows is None) == (option.form == "aggregate")
        assert (forecast.row_epsilon is not None) == (option.trust_model == "shuffled")
        assert (forecast.components is not None) == (option.form == "public_basis")


def test_the_noise_of_a_mechanism_never_exceeds_the_bound(ask) -> None:
    for option in (*ROW_OPTIONS[::3][:2], Option("mean_covariance", "aggregate", "central")):
        for epsilon in (0.1, 1.0, 10.0):
            attack = forecast_option(option, ask(), epsilon).attack
            assert 0 < attack.advantage_of_noise <= attack.advantage


def test_without_a_public_covariance_rows_are_taken_to_fill_the_norm(ask, scaling) -> None:
    from dataclasses import replace

    bare = replace(scaling, covariance=None)
    question = ask(scaling=bare, trust_model="local")
    assert {option.form for option in offered_options(question)} == {"plain"}
    for option in offered_options(question):
        plan = plan_rows(option.settings(question, 3.0), bare, question.n_patients)
        forecast = forecast_option(option, question, 3.0).rows
        assert forecast.correlation == plan.mechanism.predict().correlation
        assert forecast.zeros_rmse == pytest.approx(2 / np.sqrt(30))
