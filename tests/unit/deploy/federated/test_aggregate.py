"""The common model: equation 2 of the paper, and what robust rules do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from neuroveil.deploy.federated.aggregate import aggregate
from neuroveil.deploy.federated.direct import train_directly
from neuroveil.deploy.federated.in_process import run_in_process
from neuroveil.deploy.federated.specs import TrainingSpec

pytestmark = pytest.mark.slow  # PyTorch and Flower take seconds to load


def updates_of(seed: int, n: int = 6) -> list[tuple[int, dict[str, np.ndarray]]]:
    rng = np.random.default_rng(seed)
    return [
        (int(rng.integers(1, 500)), {"w": rng.standard_normal((2, 3)), "b": rng.standard_normal(1)})
        for _ in range(n)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_equation_2_of_the_paper_is_exact_to_1e_9(seed: int) -> None:
    updates = updates_of(seed)
    common = aggregate(updates, TrainingSpec(1))
    total = sum(n for n, _ in updates)
    for name, value in common.items():
        exact = [
            sum(Fraction(n, total) * Fraction(float(arrays[name].flat[i])) for n, arrays in updates)
            for i in range(value.size)
        ]
        np.testing.assert_allclose(value.ravel(), [float(each) for each in exact], atol=1e-9)


def test_one_local_step_is_a_step_of_central_gradient_descent(make_plan, make_parts) -> None:
    plan = make_plan(rounds=5, learning_rate=0.7)
    parts = make_parts(plan)
    inputs = np.concatenate([part.inputs for part in parts.values()])
    labels = np.concatenate([part.labels for part in parts.values()])
    weights, bias = np.zeros(inputs.shape[1]), 0.0
    for _ in range(5):
        wrong = 1 / (1 + np.exp(-(inputs @ weights + bias))) - labels
        weights = weights - 0.7 * (wrong @ inputs / labels.size + 0.01 * weights)
        bias = bias - 0.7 * (wrong.mean() + 0.01 * bias)
    found = train_directly(plan, parts)
    np.testing.assert_allclose(found["0.weight"].ravel(), weights, atol=1e-9)
    np.testing.assert_allclose(found["0.bias"], [bias], atol=1e-9)


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
def test_messages_change_nothing(make_plan, make_parts, make_folders, kind: str) -> None:
    plan = make_plan(kind=kind, local_steps=3, proximal=0.1)
    state = run_in_process(*make_folders(plan))
    expected = train_directly(plan, make_parts(plan))
    for name, value in expected.items():
        np.testing.assert_allclose(state.final[name], value, atol=1e-9)


def test_local_steps_of_fedprox_are_those_of_its_formula(make_plan, make_parts) -> None:
    """Li et al. 2020: descent on loss + penalty + mu/2 |w - w_common|², then equation 2."""
    plan = make_plan(local_steps=3, proximal=0.3, rounds=2, learning_rate=0.7)
    parts, common = make_parts(plan), np.zeros(4)
    for _ in range(2):
        own = []
        for part in parts.values():
            w, x = common.copy(), np.column_stack([part.inputs, np.ones(part.labels.size)])
            for _ in range(3):
                loss = (1 / (1 + np.exp(-x @ w)) - part.labels) @ x / part.labels.size
                w = w - 0.7 * (loss + 0.01 * w + 0.3 * (w - common))
            own.append(part.labels.size / plan.n_patients * w)
        common = sum(own)
    found = train_directly(plan, parts)
    np.testing.assert_allclose(found["0.weight"].ravel(), common[:3], atol=1e-9)
    np.testing.assert_allclose(found["0.bias"], common[3:], atol=1e-9)


def test_the_pull_of_fedprox_keeps_a_hospital_nearer_to_the_common_model(
    make_plan, make_parts
) -> None:
    moved = [
        np.linalg.norm(train_directly(plan, make_parts(plan), 1)["0.weight"])
        for plan in (make_plan(local_steps=30, proximal=mu) for mu in (0.0, 0.5))
    ]

    assert moved[1] < moved[0]


def test_median_and_trimmed_mean_ignore_an_outlier() -> None:
    updates = updates_of(3, n=5)
    honest = np.stack([arrays["w"] for _, arrays in updates[1:]])
    updates[0] = (400, {"w": np.full((2, 3), 1e12), "b": np.zeros(1)})
    median = aggregate(updates, TrainingSpec(1, aggregation="median"))["w"]
    trimmed = aggregate(updates, TrainingSpec(1, aggregation="trimmed_mean", trimmed=1))["w"]
    mean = aggregate(updates, TrainingSpec(1))["w"]
    for robust in (median, trimmed):
        assert (robust >= honest.min(axis=0)).all()
        assert (robust <= honest.max(axis=0)).all()
    assert (mean > 1e9).all()
    np.testing.assert_allclose(median, np.median(np.stack([u["w"] for _, u in updates]), axis=0))


def test_a_trimmed_mean_is_the_mean_of_what_is_left() -> None:
    updates = [(1, {"w": np.array([float(value)])}) for value in (9, 1, 4, 2, 100)]
    found = aggregate(updates, TrainingSpec(1, aggregation="trimmed_mean", trimmed=1))
    assert found["w"][0] == pytest.approx(5.0)
