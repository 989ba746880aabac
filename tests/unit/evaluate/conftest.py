"""Rows of 17 patients by 363 columns that clipping brings to norm 2."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.privacy import MechanismSpec, make_mechanism
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS, columns_for
from neuroveil.types.scaling import Scaling

CHANNELS = STANDARD_CHANNELS + tuple(f"E{i}" for i in range(14))


@pytest.fixture
def scaling():
    """Public constants with a spread of its own for every column."""
    columns = columns_for(CHANNELS, FEATURE_NAMES)
    spread = np.linspace(0.2, 0.4, len(columns))
    return Scaling(columns, np.zeros(len(columns)), spread, "public", "test v1",
                   (False,) * len(columns))  # fmt: skip


@pytest.fixture
def scaled(scaling):
    """Scaled rows before clipping: what patients share, plus what each has alone."""
    generator = np.random.default_rng(5)
    shared = generator.normal(0.0, 1.0, len(scaling.columns))
    return shared + generator.normal(0.0, 0.7, (17, len(scaling.columns)))


@pytest.fixture
def mechanism():
    """Make a mechanism by name and epsilon, with clipping norm 2."""

    def make(name, epsilon, dimension=363):
        delta = 1e-5 if name == "gaussian" else 0.0
        return make_mechanism(MechanismSpec(name, epsilon, delta, 2.0, "l2", dimension))

    return make
