"""What is particular to one mechanism; what all share is in tests/contract."""

import math

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.mechanisms.contract import Draws, MechanismSpec, RowMechanism
from neuroveil.privacy.mechanisms.registry import MECHANISM_NAMES, make_mechanism
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.sampling import SystemRandomness


def make(name: str, epsilon: float = 1.0, norm: str = "l2", d: int = 363) -> RowMechanism:
    delta = 1e-5 if name == "gaussian" else 0.0
    return make_mechanism(MechanismSpec(name, epsilon, delta, 2.0, norm, d))  # type: ignore[arg-type]


def test_names() -> None:
    assert MECHANISM_NAMES == ("gaussian", "laplace", "paper_laplace", "privunit")
    with pytest.raises(ChainError, match="gaussian or laplace or paper_laplace or privunit"):
        make("staircase")


@pytest.mark.parametrize("name", ["gaussian", "paper_laplace"])
def test_l1_clipping_is_for_laplace_only(name: str) -> None:
    with pytest.raises(ChainError, match=r"privacy\.norm: expected l2, found 'l1'"):
        make(name, norm="l1")
    assert make("laplace", norm="l1").facts()["sensitivity"]["value"].value == 4.0


@pytest.mark.parametrize("name", ["laplace", "paper_laplace"])
def test_a_delta_for_a_pure_mechanism_is_refused(name: str) -> None:
    with pytest.raises(ChainError, match=r"privacy\.delta"):
        make_mechanism(MechanismSpec(name, 1.0, 1e-5, 2.0, "l2", 363))


def test_laplace_scale_is_enough_for_the_integer_sensitivity() -> None:
    """Discrete Laplace needs an integer scale of floor(2 sqrt(d) C / grid) / epsilon."""
    for epsilon in (1e-6, 0.3, 1.0, 20.0, 1000.0):
        mechanism = make("laplace", epsilon)
        facts = mechanism.facts()
        step = 2 ** facts["bound"]["grid_log2"].value
        integer_sensitivity = math.isqrt(int(363 * (4 / step) ** 2))
        assert facts["mechanism"]["integer_scale"].value * epsilon >= integer_sensitivity


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 20.0])
def test_the_papers_noise_supports_sqrt_d_epsilon(epsilon: float) -> None:
    guarantee = make("paper_laplace", epsilon).guarantee
    assert not guarantee.holds
    assert guarantee.epsilon_supported == pytest.approx(math.sqrt(363) * epsilon)
    assert guarantee.epsilon == epsilon


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 1.0, 41.0, 1000.0])
@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_what_is_supported_is_within_what_is_claimed_and_close(name: str, epsilon: float) -> None:
    guarantee = make(name, epsilon).guarantee
    assert guarantee.holds
    assert guarantee.epsilon_supported == pytest.approx(epsilon, rel=1e-3)


def test_saturated_noise_gives_the_same_output_for_every_row() -> None:
    """Where 64-bit noise is cut off, the output must not tell the row."""
    mechanism = make("laplace", 1e-6, d=2)
    near = mechanism.bound(np.array([[2.0, 0.0]]))
    far = mechanism.bound(np.array([[-2.0, 0.0]]))
    edge = np.iinfo(np.int64)
    draws = Draws(np.array([[edge.max, edge.min]]), SimulationRandomness(0).facts)
    assert (mechanism.apply(near, draws) == mechanism.apply(far, draws)).all()
    assert (
        mechanism.apply(near, draws) == np.ldexp([[2.0**62, -(2.0**62)]], grid(mechanism))
    ).all()


def grid(mechanism: RowMechanism) -> int:
    return int(mechanism.facts()["bound"]["grid_log2"].value)


def test_draws_for_another_number_of_rows_are_refused() -> None:
    mechanism = make("gaussian", d=3)
    draws = mechanism.draw(2, SystemRandomness())
    with pytest.raises(ChainError, match="rows and draws"):
        mechanism.apply(mechanism.bound(np.zeros((3, 3))), draws)


def test_draws_do_not_show_themselves() -> None:
    draws = make("gaussian", d=3).draw(2, SystemRandomness())
    assert str(draws.integers[0, 0]) not in repr(draws)
