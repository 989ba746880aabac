"""What the paper's settings promise: figures of the mathematics, and a brute-force check."""

from __future__ import annotations

import math

import numpy as np
import pytest

from neuroveil.evaluate.reproduction import printed, theory


@pytest.mark.parametrize(
    ("epsilon", "real"),
    [(0.5, 1.98), (1.0, 4.31), (2.0, 9.72), (5.0, 30.8), (10.0, 79.2), (20.0, 210.0)],
)
def test_epsilon_of_the_papers_laplace(epsilon: float, real: float) -> None:
    """The figures of the mathematics, which dp-accounting gives as well."""
    assert theory.epsilon_of_paper_laplace(epsilon) == pytest.approx(real, rel=0.004)


def test_the_epsilon_is_at_most_the_pure_one() -> None:
    pure = theory.paper_mechanism("paper_laplace", 1.0).guarantee.epsilon_supported
    assert theory.epsilon_of_paper_laplace(1.0, 1e-9) < pure
    assert theory.epsilon_of_paper_laplace(1.0, 1e-9) > theory.epsilon_of_paper_laplace(1.0, 1e-5)


def test_sampled_losses_agree() -> None:
    """Fixed seed, 10,000 releases at ε = 1: the delta at the epsilon for delta = 0.05."""
    delta, n = 0.05, 10_000
    epsilon = theory.epsilon_of_paper_laplace(1.0, delta)
    scale = theory.paper_scale(1.0)
    shift = 2 * printed.CLIP_NORM / math.sqrt(printed.DIMENSION)
    noise = np.random.default_rng(8).laplace(0.0, scale, (n, printed.DIMENSION))
    loss = ((np.abs(noise - shift) - np.abs(noise)) / scale).sum(axis=1)
    found = np.clip(1 - np.exp(epsilon - loss), 0, None)
    assert found.mean() == pytest.approx(delta, abs=4 * found.std() / math.sqrt(n))


@pytest.mark.parametrize(("epsilon", "counted"), [(1.0, 3.41), (10.0, 42.85)])
def test_epsilon_with_the_scaling_counted(epsilon: float, counted: float) -> None:
    """3.41 is the figure of the mathematics; tests/papers/test_private_scaling.py builds it."""
    assert theory.epsilon_with_private_scaling(epsilon) == pytest.approx(counted, abs=0.005)


def test_sensitivities() -> None:
    assert theory.sensitivity("l2") == 4.0
    assert theory.sensitivity("l1") == pytest.approx(76.2102, abs=1e-4)
