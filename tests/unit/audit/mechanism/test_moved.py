"""Whole tables as canaries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from neuroveil.audit.mechanism.black_box import BlackBoxSettings
from neuroveil.audit.mechanism.black_box_result import audit_black_box
from neuroveil.audit.mechanism.canaries import canary_pairs
from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.mechanism.moved import moved_pairs
from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.audit.subjects.ours import our_mechanism
from neuroveil.privacy.bounds import ClipL2
from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.privacy.mechanisms.contract import CodebookOptions, MechanismSpec
from neuroveil.types.recording import FloatArray

Simulated = Callable[[SubjectFacts, AdditiveLaw], FunctionSubject]

SIGMA = gaussian_sigma(4.0, 1.0, 1e-5)
FACTS = SubjectFacts("private scaling", 1.0, 1e-5, 8, 2.0)


def private_scaling(rows: FloatArray, n_trials: int, seed: int) -> FloatArray:
    """Median and interquartile range of the patients themselves."""
    quarter, median, three_quarters = np.percentile(rows, [25.0, 50.0, 75.0], axis=0)
    spread = np.where(three_quarters - quarter > 1e-9, three_quarters - quarter, 1.0)
    scaled = ClipL2(2.0).apply((rows - median) / spread)
    return np.random.default_rng(seed).normal(0.0, SIGMA, (n_trials, *rows.shape)) + scaled


@pytest.mark.parametrize("law", [None, AdditiveLaw("gaussian", SIGMA)], ids=["no law", "law"])
def test_private_scaling_is_found_on_whole_tables(law: AdditiveLaw | None) -> None:
    """The pair that moves by 12.0 gives the epsilon of the issue, 3.2 of 3.41. Fixed seed."""
    subject = FunctionSubject(replace(FACTS, law=law), private_scaling)
    moved = moved_pairs(subject, 17)
    assert len(moved) == 1
    assert moved[0].displacement is not None
    assert np.linalg.norm(moved[0].displacement) == pytest.approx(12.0, rel=1e-9)
    pairs = (*canary_pairs(FACTS), *moved)
    result = audit_black_box(subject, BlackBoxSettings(6000, seed=1, pairs=pairs))
    assert result.verdict == "violated"
    assert result.settings["pair"].startswith("whole tables")
    assert 3.1 < result.figure("gaussian_epsilon").low < 3.5


def test_single_rows_hide_it() -> None:
    """Why whole tables are needed: one row alone is its own median."""
    subject = FunctionSubject(FACTS, private_scaling)
    assert audit_black_box(subject, BlackBoxSettings(2000)).verdict != "violated"


def test_a_mechanism_that_treats_rows_alone_has_no_such_pair(simulated: Simulated) -> None:
    def clipped(rows: FloatArray, n_trials: int, seed: int) -> FloatArray:
        noisy = simulated(FACTS, AdditiveLaw("gaussian", SIGMA))
        return noisy.run(ClipL2(2.0).apply(rows), n_trials, seed)

    assert moved_pairs(FunctionSubject(FACTS, clipped), 5) == ()


def test_a_row_that_is_not_clipped_is_such_a_pair(simulated: Simulated) -> None:
    found = moved_pairs(simulated(FACTS, AdditiveLaw("gaussian", SIGMA)), 5)
    assert len(found) == 1
    assert found[0].displacement is not None
    assert np.linalg.norm(found[0].displacement) > 100 * math.sqrt(8)


def test_draws_that_decide_how_far_it_moves_give_no_direction() -> None:
    """Codewords jump, each time elsewhere: what one replay shows is no way to score another."""
    spec = MechanismSpec("privunit", 1.0, 0.0, 2.0, "l2", 3, CodebookOptions(4096))
    assert moved_pairs(our_mechanism(spec, simulated=True), 3) == ()


def test_what_cannot_be_repeated_is_left_out() -> None:
    subject = FunctionSubject(replace(FACTS, dimension=2), lambda rows: rows)
    assert moved_pairs(subject, 3) == ()
