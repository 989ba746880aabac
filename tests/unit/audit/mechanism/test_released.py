"""Noise of a released table beside that of fresh runs."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.mechanism.noise import audit_noise
from neuroveil.audit.mechanism.released import with_released_table
from neuroveil.audit.subject import SubjectFacts
from neuroveil.privacy.calibration import gaussian_sigma

SIGMA = gaussian_sigma(4.0, 1.0, 1e-5)
FACTS = SubjectFacts("gaussian", 1.0, 1e-5, 50, 2.0, "l2", AdditiveLaw("gaussian", SIGMA))


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "no_attack_succeeded"), (0.8, "violated")])
def test_a_table_is_judged_by_its_own_noise(factor: float, verdict: str) -> None:
    """The mechanism is sound; the table may have been made by something else. Fixed seed."""
    generator = np.random.default_rng(1)
    fresh = audit_noise(FACTS, generator.normal(0, SIGMA, (17, 50)), np.zeros((17, 50)))
    assert fresh.verdict == "no_attack_succeeded"
    rows = np.full((17, 50), 2.0 / np.sqrt(50))
    released = rows + generator.normal(0, factor * SIGMA, (17, 50))
    result = with_released_table(fresh, FACTS, released)
    assert result.verdict == verdict
    assert result.figure("noise_scale") == fresh.figure("noise_scale")
    measured = result.figure("released_noise_scale")
    assert measured.low < factor * SIGMA < measured.high
    assert "The released table" in result.sentence


def test_a_small_table_does_not_hide_what_fresh_runs_show() -> None:
    generator = np.random.default_rng(2)
    quiet = audit_noise(FACTS, generator.normal(0, SIGMA / 2, (17, 50)), np.zeros((17, 50)))
    result = with_released_table(quiet, FACTS, generator.normal(0, SIGMA, (1, 50)))
    assert result.verdict == "violated"
