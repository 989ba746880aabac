"""Time and memory of the codebook mechanism, on a machine that does nothing else."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from neuroveil.privacy.codebook.design import (
    CodebookDesign,
    affordable_codewords,
    choose_codebook,
)
from neuroveil.privacy.codebook.vectors import SEED_BYTES
from neuroveil.privacy.mechanisms.contract import MechanismSpec
from neuroveil.privacy.mechanisms.privunit import PrivUnit
from neuroveil.privacy.sampling import SystemRandomness

pytestmark = [pytest.mark.slow, pytest.mark.alone]


def make(design: CodebookDesign) -> PrivUnit:
    spec = MechanismSpec("privunit", design.epsilon, 0.0, 2.0, "l2", design.dimension)
    return PrivUnit(spec, design, bytes(SEED_BYTES))


def release(mechanism: PrivUnit, n_patients: int) -> None:
    rows = np.random.default_rng(0).standard_normal((n_patients, mechanism.spec.dimension))
    draws = mechanism.draw(n_patients, SystemRandomness())
    assert mechanism.apply(mechanism.bound(rows), draws).shape == rows.shape


def peak_bytes(design: CodebookDesign) -> int:
    """Largest memory of a release to 17 patients."""
    tracemalloc.start()
    try:
        release(make(design), 17)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_half_a_million_codewords_take_seconds() -> None:
    start = time.process_time()
    release(make(CodebookDesign(20.0, 363, 1 << 19, 1)), 17)
    assert time.process_time() - start < 30


def test_memory_does_not_grow_with_the_codebook() -> None:
    small = peak_bytes(CodebookDesign(20.0, 363, 1 << 15, 1))
    large = peak_bytes(CodebookDesign(20.0, 363, 1 << 18, 1))
    assert large < 1.1 * small
    assert large < 150 << 20


@pytest.mark.parametrize("epsilon", [1.0, 5.0, 10.0])
def test_ten_thousand_rows_of_704_columns_take_less_than_two_minutes(epsilon: float) -> None:
    mechanism = make(choose_codebook(epsilon, 704, affordable_codewords(10_000, 704)))
    start = time.process_time()
    release(mechanism, 10_000)
    assert time.process_time() - start < 120
