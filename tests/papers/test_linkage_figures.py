"""Linkage in textbook cases: Gaussian noise on orthogonal rows, Laplace on dense and sparse ones.

Seventeen people, 363 columns, C = 2, delta = 1e-5; the attacker holds the very rows. Issue 6
states .07/.14/.25/.49 for Gaussian noise at epsilon = 1/5/10/20, and for the paper's Laplace noise
(b = 2C / epsilon) .13/.70/.99/1.00 on dense and .10/.47/.90/1.00 on sparse rows; chance is .059.
"""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.audit.table.additive import AdditiveChannel
from neuroveil.audit.table.channels import ReleasedRows
from neuroveil.audit.table.ranks import assign, standing
from neuroveil.audit.table.yardstick import gaussian_rank_one
from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.privacy.mechanisms.additive import AdditiveMechanism
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.registry import make_mechanism
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.types.recording import FloatArray

N, D, C, DELTA = 17, 363, 2.0, 1e-5
EPSILONS = (1.0, 5.0, 10.0, 20.0)


def orthogonal_rows() -> FloatArray:
    square, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(D, N)))
    return np.asarray(C * square.T)


def dense_rows() -> FloatArray:
    return np.random.default_rng(2).choice([-1.0, 1.0], size=(N, D)) * C / np.sqrt(D)


def sparse_rows() -> FloatArray:
    return C * np.eye(N, D)


def channel(name: str, epsilon: float) -> AdditiveChannel:
    delta = DELTA if name == "gaussian" else 0.0
    mechanism = make_mechanism(MechanismSpec(name, epsilon, delta, C, "l2", D))
    assert isinstance(mechanism, AdditiveMechanism)
    return AdditiveChannel(mechanism)


def rank_one(rows: FloatArray, public: AdditiveChannel, n_draws: int) -> tuple[float, float]:
    """Right at the first guess, and right in the best assignment."""
    candidates, source = public.against(rows), SimulationRandomness(3)
    alone, together, generator = [], [], np.random.default_rng(4)
    for _ in range(n_draws):
        scores = candidates.all(candidates.draw(np.arange(N), source))
        alone.append(standing(scores, np.arange(N)).within(1).mean())
        together.append((assign(scores, generator) == np.arange(N)).mean())
    return float(np.mean(alone)), float(np.mean(together))


@pytest.mark.parametrize(
    ("epsilon", "figure"), list(zip(EPSILONS, (0.07, 0.14, 0.25, 0.49), strict=True))
)
def test_yardstick_of_gaussian_noise(epsilon: float, figure: float) -> None:
    """E[Phi(C / sigma + Z)^(n - 1)]; the issue rounds .0743 to .07 and .1447 to .14."""
    sigma = gaussian_sigma(2 * C, epsilon, DELTA)
    assert gaussian_rank_one(C, sigma, N) == pytest.approx(figure, abs=0.005)


def test_yardstick_without_signal_is_chance_and_without_noise_certainty() -> None:
    assert gaussian_rank_one(0.0, 1.0, N) == pytest.approx(1 / 17, abs=1e-9)
    assert gaussian_rank_one(2.0, 1e-3, N) == pytest.approx(1.0, abs=1e-9)
    assert gaussian_rank_one(2.0, 1.0, 1) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_linkage_meets_its_yardstick(epsilon: float) -> None:
    """400 draws, 6,800 links: .018 is three standard errors at the most."""
    public = channel("gaussian", epsilon)
    found, _ = rank_one(orthogonal_rows(), public, 400)
    assert found == pytest.approx(gaussian_rank_one(C, public.mechanism.noise_scale, N), abs=0.018)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "figure"), list(zip(EPSILONS, (0.13, 0.70, 0.99, 1.0), strict=True))
)
def test_papers_laplace_on_dense_rows(epsilon: float, figure: float) -> None:
    """400 draws; the issue's figures within .025, which covers rounding and three errors."""
    found, together = rank_one(dense_rows(), channel("paper_laplace", epsilon), 400)
    assert found == pytest.approx(figure, abs=0.025)
    assert together >= found - 0.02  # assigning all at once never loses much, and often wins


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "figure"), list(zip(EPSILONS, (0.10, 0.49, 0.90, 1.0), strict=True))
)
def test_papers_laplace_on_sparse_rows(epsilon: float, figure: float) -> None:
    """One entry of C a row. At epsilon = 5 the issue's .47 is .486, by the integral below."""
    found, _ = rank_one(sparse_rows(), channel("paper_laplace", epsilon), 400)
    assert found == pytest.approx(figure, abs=0.018)


def sparse_rank_one(epsilon: float) -> float:
    """Rank-1 on sparse rows without simulation.

    With u = y / C in the entry of a candidate, the score is C / b times |u| - |u - 1|, which
    stays within -1 and 1 and reaches both ends with positive chance: ties at 1 are shared.
    """
    rate, grid = epsilon / 2, np.linspace(0.0, 1.0, 200_001)  # C / b = epsilon / 2

    def below(u: FloatArray) -> FloatArray:  # P(noise / C <= u)
        return np.where(
            u < 0, 0.5 * np.exp(rate * np.minimum(u, 0)), 1 - 0.5 * np.exp(-rate * np.maximum(u, 0))
        )

    others = below(grid)  # another candidate's score is below that of u
    density = 0.5 * rate * np.exp(-rate * (1 - grid))  # of the right candidate, shifted by 1
    inside = np.trapezoid(density * others ** (N - 1), grid)
    top = 1 - below(np.array([1.0]))[0]  # another one reaches the end of the range
    shared = (1 - (1 - top) ** N) / (N * top)  # E[1 / (1 + ties)]
    return float(inside + 0.5 * shared)


def test_sparse_rows_by_integration() -> None:
    figures = [sparse_rank_one(epsilon) for epsilon in EPSILONS]
    assert figures == pytest.approx([0.097, 0.486, 0.895, 0.999], abs=0.001)


def test_chance() -> None:
    """Scores that say nothing: every tie is shared, whatever the order."""
    nothing = channel("gaussian", 1.0).against(np.zeros((N, D)))
    released = ReleasedRows(np.random.default_rng(5).normal(size=(N, D)))
    hits = standing(nothing.all(released), np.arange(N)).within(1)
    np.testing.assert_allclose(hits, 1 / 17)
    assert round(1 / 17, 3) == 0.059
