"""Subjects with a known truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.types.recording import FloatArray

Simulated = Callable[[SubjectFacts, AdditiveLaw], FunctionSubject]


@pytest.fixture(scope="session")
def simulated() -> Simulated:
    """Make a repeatable subject whose noise really has a law, whatever it claims."""

    def make(facts: SubjectFacts, truth: AdditiveLaw) -> FunctionSubject:
        def release(rows: FloatArray, n_trials: int, seed: int) -> FloatArray:
            generator = np.random.default_rng(seed)
            draw = generator.normal if truth.family == "gaussian" else generator.laplace
            return draw(0.0, truth.scale, (n_trials, *rows.shape)) + rows

        return FunctionSubject(facts, release)

    return make
