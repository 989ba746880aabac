"""Small studies whose public reference covers every column, a part, or none of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuroveil.evaluate.planning import PlanQuestion
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import Column, columns_for
from neuroveil.types.scaling import Scaling

CHANNELS = ("Fp1", "F7", "C3", "Cz", "P8", "O2")
FEATURES = ("line_length", "variance", "theta_power", "alpha_power", "beta_power")
COLUMNS = columns_for(CHANNELS, FEATURES)


@pytest.fixture(scope="session")
def scaling() -> Scaling:
    """Thirty columns of the built-in reference."""
    return default_reference("harmonised").scaling_for(COLUMNS)


@pytest.fixture(scope="session")
def scale() -> Callable[[tuple[Column, ...]], Scaling]:
    """Constants of the built-in reference for any columns."""
    return default_reference("harmonised").scaling_for


@pytest.fixture
def ask(scaling: Scaling) -> Callable[..., PlanQuestion]:
    """Ask about 300 patients, with whatever a test changes."""

    def make(**changes: object) -> PlanQuestion:
        asked = {
            "scaling": scaling, "n_patients": 300, "epsilons": (2.0,), "delta": 1e-5,
            "trust_model": "central", **changes,
        }  # fmt: skip
        return PlanQuestion(**asked)

    return make
