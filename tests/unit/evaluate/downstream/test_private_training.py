"""Training under a guarantee: sensitivity, noise, accounting, and what it learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuroveil.evaluate.downstream.private_training import (
    STEP_SIZE,
    STEPS,
    TrainingSpec,
    clip_each,
    probabilities,
    train_privately,
    with_intercept,
)
from neuroveil.privacy.calibration import gaussian_sigma


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0, 20.0])
def test_all_steps_together_cost_epsilon_by_closed_form_and_by_privacy_losses(epsilon):
    """T steps of one scale are one Gaussian mechanism of sqrt(T) times the sensitivity."""
    spec = TrainingSpec(epsilon, 1e-5, 3.0)
    one = gaussian_sigma(spec.sensitivity, epsilon, 1e-5)
    assert spec.noise_std == pytest.approx(math.sqrt(STEPS) * one, rel=1e-9)
    assert spec.epsilon_by_losses() == pytest.approx(epsilon, rel=1e-5)


def test_replacing_any_patient_moves_the_sum_of_clipped_gradients_by_at_most_the_sensitivity():
    """Weights as large as they come, rows far outside the norm, labels exchanged too."""
    spec, generator = TrainingSpec(1.0, 1e-5, 3.0), np.random.default_rng(0)
    largest = 0.0
    for _ in range(500):
        rows, weights = generator.normal(0, 10, (2, 5)), generator.normal(0, 10, 6)
        inputs = with_intercept(rows, spec.row_norm)
        wrong = 0.5 * (1 + np.tanh(inputs @ weights / 2)) - np.array([1.0, 0.0])
        one, other = clip_each(inputs * wrong[:, None], spec.gradient_norm)
        largest = max(largest, float(np.linalg.norm(one - other)))
    assert largest <= spec.sensitivity * (1 + 1e-12)
    assert largest > 0.5 * spec.sensitivity


def test_the_first_gradient_is_not_clipped():
    spec = TrainingSpec(1.0, 1e-5, 3.0)
    rows = np.array([[3.0, 0.0], [0.0, -3.0]])
    gradients = with_intercept(rows, spec.row_norm) * 0.5
    np.testing.assert_allclose(clip_each(gradients, spec.gradient_norm), gradients, rtol=1e-12)


def test_noise_has_the_calibrated_size():
    """One step from zero on symmetric rows: the weights are -step size x noise / n. Seeded."""
    spec = TrainingSpec(1.0, 1e-5, 3.0, steps=1)
    rows, labels = np.zeros((4, 30)), np.array([True, True, False, False])
    drawn = np.concatenate([train_privately(rows, labels, spec, seed) for seed in range(100)])
    assert drawn.std() * 4 / STEP_SIZE == pytest.approx(spec.noise_std, rel=0.05)


def test_with_a_large_epsilon_it_learns_and_with_a_small_one_it_does_not(people):
    cohort = people(300, 1.0)
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(cohort.scaling.covariance)[-6:], 1e-9))
    vectors = np.linalg.eigh(cohort.scaling.covariance)[1][:, -6:]
    rows = cohort.rows @ vectors / spread
    areas = []
    for epsilon in (50.0, 0.01):
        spec = TrainingSpec(epsilon, 1e-5, math.sqrt(6))
        found = []
        for seed in range(20):
            weights = train_privately(rows, cohort.labels, spec, seed)
            likely = probabilities(weights, rows, spec.row_norm)
            found.append(float((likely[cohort.labels][:, None] > likely[~cohort.labels]).mean()))
        areas.append(np.mean(found))
    assert areas[0] > 0.9
    assert areas[1] < 0.7
