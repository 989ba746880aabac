"""Each step against its formula, and what a certificate says of it."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.postprocessing import (
    Clamp,
    InverseScaling,
    JamesStein,
    ProjectionBack,
    Step,
    Unclipping,
    Wiener,
    hexadecimal,
    step_facts,
    take_steps,
)
from neuroveil.types.certificate import canonical_json, digest
from neuroveil.types.recording import FloatArray


@pytest.fixture
def values() -> FloatArray:
    return np.random.default_rng(3).standard_normal((7, 5))


@pytest.fixture
def basis() -> FloatArray:
    rows = np.random.default_rng(4).standard_normal((5, 5))
    return np.linalg.qr(rows)[0]


def test_wiener_is_the_linear_estimate_by_its_published_covariance(
    values: FloatArray, basis: FloatArray
) -> None:
    """S (S + v I)^-1 y, with S read back from the certificate's public inputs."""
    step = Wiener(basis, np.array([4.0, 2.0, 1.0, 0.5, 0.0]), 0.7)
    lower = [[float.fromhex(value) for value in row] for row in step.inputs["covariance"]]
    covariance = np.zeros((5, 5))
    for i, row in enumerate(lower):
        covariance[i, : i + 1] = covariance[: i + 1, i] = row
    expected = values @ (covariance @ np.linalg.inv(covariance + 0.7 * np.eye(5))).T
    np.testing.assert_allclose(step.apply(values), expected, atol=1e-13)
    assert [float.fromhex(value) for value in step.inputs["mean"]] == [0.0] * 5
    assert step.params == {"noise_variance": 0.7}


def test_wiener_in_public_components_weighs_each(values: FloatArray) -> None:
    step = Wiener(None, np.array([4.0, 2.0, 1.0, 0.5, 0.0]), 1.0)
    np.testing.assert_allclose(step.apply(values), values * [0.8, 2 / 3, 0.5, 1 / 3, 0.0])
    assert step.inputs["covariance"][3][3] == (0.5).hex()
    assert step.inputs["covariance"][3][0] == (0.0).hex()


def test_james_stein_shrinks_each_row_by_its_own_length(values: FloatArray) -> None:
    shrunk = JamesStein(0.2).apply(values)
    for before, after in zip(values, shrunk, strict=True):
        kept = max(0.0, 1 - 3 * 0.2 / float(before @ before))
        np.testing.assert_allclose(after, kept * before)
    assert (JamesStein(1e9).apply(values) == 0).all()
    with pytest.raises(ChainError, match="three coordinates"):
        JamesStein(0.2).apply(values[:, :2])


def test_james_stein_has_a_smaller_error_than_the_values_themselves() -> None:
    """20,000 rows of norm 1 with noise of variance 1 in ten coordinates (fixed seed)."""
    truth = np.zeros((20_000, 10))
    truth[:, 0] = 1.0
    noisy = truth + np.random.default_rng(6).standard_normal(truth.shape)
    error = np.square(JamesStein(1.0).apply(noisy) - truth).sum(axis=1).mean()
    assert error < 0.35 * np.square(noisy - truth).sum(axis=1).mean()


def test_projection_back_adds_components_up(values: FloatArray, basis: FloatArray) -> None:
    step = ProjectionBack(basis[:, :2])
    np.testing.assert_allclose(step.apply(values[:, :2]), values[:, :2] @ basis[:, :2].T)
    assert step.params == {"components": 2}
    assert step.inputs["basis"] == [hexadecimal(basis[:, 0]), hexadecimal(basis[:, 1])]


def test_inverse_scaling_gives_units_back_and_stays_finite() -> None:
    step = InverseScaling(np.array([1.0, 10.0]), np.array([0.5, 2.0]), np.array([True, False]))
    table = np.array([[0.0, 0.0], [2.0, -1.0], [1e9, 1.0], [-1e9, 1.0]])
    expected = [[10.0, 10.0], [100.0, 8.0], [np.finfo(np.float64).max, 12.0], [0.0, 12.0]]
    np.testing.assert_allclose(step.apply(table), expected)
    assert step.params == {"log10_columns": 1}


def test_steps_are_taken_in_order(values: FloatArray) -> None:
    assert (take_steps((), values) == values).all()
    steps: tuple[Step, ...] = (Unclipping(3.0), Clamp(1.0))
    np.testing.assert_array_equal(take_steps(steps, values), np.clip(3 * values, -1, 1))
    assert not (take_steps(steps[::-1], values) == take_steps(steps, values)).all()


@pytest.mark.parametrize(
    "step",
    [
        Wiener(None, np.ones(3), 1.0), JamesStein(2.0), ProjectionBack(np.eye(4)[:, :3]),
        Unclipping(2.0), Clamp(4.0),
        InverseScaling(np.zeros(3), np.ones(3), np.zeros(3, dtype=np.bool_)),
    ],
    ids=lambda step: step.name,
)  # fmt: skip
def test_facts_bind_a_step_to_its_public_inputs(step: Step) -> None:
    facts = step_facts(step)
    assert set(facts) == {"step", "params", "public_inputs_digest"}
    assert facts["public_inputs_digest"] == digest(canonical_json(dict(step.inputs)))
    canonical_json(facts)
