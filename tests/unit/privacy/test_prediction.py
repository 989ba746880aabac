"""Predictions against draws on rows that have the clipping norm."""

import math

import numpy as np
import pytest

from neuroveil.evaluate.draws import decoded_alone
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.prediction import (
    advantage_bound,
    attenuated_auc,
    codeword_advantage,
    codeword_power,
    gaussian_advantage,
    posterior_bound,
    predict_additive,
)
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


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 3.0, 30.0])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.1])
def test_the_advantage_is_that_of_the_worst_mechanism(epsilon: float, delta: float) -> None:
    """The mechanism with four outcomes that attains every (epsilon, delta) region."""
    likely = math.exp(epsilon) / (1 + math.exp(epsilon))
    one = np.array([delta, (1 - delta) * likely, (1 - delta) * (1 - likely), 0.0])
    assert advantage_bound(epsilon, delta) == pytest.approx(
        np.maximum(one - one[::-1], 0).sum(), rel=1e-9
    )


def test_the_advantage_of_gaussian_noise_is_its_total_variation() -> None:
    x = np.linspace(-12, 13, 200_001)
    density = np.exp(-np.square([x, x - 1]) / (2 * 1.7**2)) / (1.7 * math.sqrt(2 * math.pi))
    variation = np.abs(density[0] - density[1]).sum() * (x[1] - x[0]) / 2
    assert gaussian_advantage(1.7) == pytest.approx(variation, rel=1e-6)


def test_the_advantage_of_codewords_is_that_of_disjoint_close_sets() -> None:
    size, top, p = 60, 7, 0.4
    one = np.full(size, (1 - p) / (size - top))
    one[:top] = p / top
    variation = np.abs(one - np.roll(one, top)).sum() / 2
    assert codeword_advantage(p, top / size) == pytest.approx(variation)


def test_the_posterior_of_a_pure_guarantee_is_that_of_randomised_response() -> None:
    prior, epsilon = 0.2, 1.5
    true, false = math.exp(epsilon) / (1 + math.exp(epsilon)), 1 / (1 + math.exp(epsilon))
    expected = prior * true / (prior * true + (1 - prior) * false)
    assert posterior_bound(epsilon, 0.0, prior) == (pytest.approx(expected), 0.0)


@pytest.mark.parametrize(("epsilon", "sigma"), [(0.7, 3.0), (1.0, 1.0), (0.2, 0.8)])
def test_the_posterior_is_exceeded_no_oftener_than_stated(epsilon: float, sigma: float) -> None:
    """Gaussian noise at the delta that it has at epsilon: the loss is normal, so all is exact."""
    mean = 1 / (2 * sigma**2)  # of the loss, whose standard deviation is 1 / sigma

    def above(loss: float) -> float:
        return 0.5 * math.erfc((loss - mean) * sigma / math.sqrt(2))

    delta = above(epsilon) - math.exp(epsilon) * above(epsilon + 2 * mean)
    posterior, exception = posterior_bound(epsilon, delta, 0.3)
    odds = math.log(posterior / (1 - posterior)) - math.log(0.3 / 0.7)
    assert odds == pytest.approx(2 * epsilon)
    assert above(odds) <= exception


def test_an_area_is_attenuated_like_its_score() -> None:
    """Binormal groups of 400,000; within 0.002."""
    generator = np.random.default_rng(2)
    low = generator.normal(size=400_000) + generator.normal(size=400_000) * 0.75
    high = generator.normal(size=400_000) + generator.normal(size=400_000) * 0.75 + 0.8
    order = np.argsort(np.concatenate([low, high]))
    ranks = np.empty(order.size)
    ranks[order] = np.arange(1, order.size + 1)
    area = (ranks[low.size :].sum() - high.size * (high.size + 1) / 2) / (low.size * high.size)
    assert attenuated_auc(0.8, 0.8) == pytest.approx(area, abs=0.002)
    assert attenuated_auc(0.8) == pytest.approx(0.714, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("length", [0.3, 2.0])
def test_decoded_codewords_have_the_stated_power(length: float) -> None:
    """40,000 rows of one direction, each with a codebook of its own; five standard errors."""
    n, d = 40_000, 9
    mechanism = make_mechanism(MechanismSpec("privunit", 4.0, 0.0, 2.0, "l2", d))
    row = np.arange(1.0, d + 1)
    row *= length / np.linalg.norm(row)
    rows_int = mechanism.bound(np.tile(row, (n, 1)))
    values = decoded_alone(mechanism, rows_int, np.random.default_rng(3)) ** 2
    power = codeword_power(*mechanism.design.moments, 2.0, d).of(row**2)
    assert np.all(np.abs(values.mean(axis=0) - power) < 5 * values.std(axis=0) / math.sqrt(n))
