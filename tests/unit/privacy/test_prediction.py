"""Predictions against draws on rows that have the clipping norm."""

import math

import numpy as np
import pytest

from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.prediction import predict_additive
from neuroveil.privacy.randomness import SimulationRandomness


def test_the_closed_forms() -> None:
    utility = predict_additive(3.0, 2.0, 2.0, 100)
    assert utility.rmse == 3.0
    assert utility.mae == 2.0
    assert utility.correlation == pytest.approx(math.sqrt(0.04 / 9.04))
    assert utility.snr_db == pytest.approx(10 * math.log10(0.04 / 9))
    assert utility.mse_over_clip_norm_squared == pytest.approx(9 * 100 / 4)


@pytest.mark.parametrize(
    ("name", "delta"), [("gaussian", 1e-5), ("laplace", 0.0), ("paper_laplace", 0.0)]
)
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_predictions_agree_with_draws(name: str, delta: float, epsilon: float) -> None:
    """Fixed seeds; tolerances are five standard errors of 400,000 cells."""
    d, n = 40, 10_000
    mechanism = make_mechanism(MechanismSpec(name, epsilon, delta, 2.0, "l2", d))
    rows = np.random.default_rng(3).normal(size=(n, d))
    rows *= 3.0 / np.linalg.norm(rows, axis=1, keepdims=True)
    rows_int = mechanism.bound(rows)
    clipped = mechanism.to_scaled(rows_int)
    values = mechanism.apply(rows_int, mechanism.draw(n, SimulationRandomness(4)))
    error, predicted = values - clipped, mechanism.predict()
    assert np.sqrt((error**2).mean()) == pytest.approx(predicted.rmse, rel=0.01)
    assert np.abs(error).mean() == pytest.approx(predicted.mae, rel=0.01)
    correlation = np.corrcoef(values.ravel(), clipped.ravel())[0, 1]
    assert correlation == pytest.approx(predicted.correlation, abs=0.008)
    snr = 10 * np.log10((clipped**2).sum() / (error**2).sum())
    assert snr == pytest.approx(predicted.snr_db, abs=0.08)
    assert (error**2).sum(axis=1).mean() / 4 == pytest.approx(
        predicted.mse_over_clip_norm_squared, rel=0.02
    )
