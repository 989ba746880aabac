"""Timing of releases: what time tells, and that it never violates a claim."""

from __future__ import annotations

import time

import numpy as np
import pytest

from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.audit.timing import audit_timing
from neuroveil.errors import ChainError

FACTS = SubjectFacts("peer", 1.0, 0.0, 3, 2.0)


def wait(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def audited(slowness, n_calls=60):
    def release(rows, n_trials):
        drawn = np.random.default_rng().normal(size=(n_trials, *rows.shape))
        wait(slowness(rows, drawn))
        return rows + drawn

    return audit_timing(FunctionSubject(FACTS, release), n_calls)


def test_a_row_that_takes_longer_is_seen():
    result = audited(lambda rows, drawn: 2e-3 if rows.any() else 1e-5)
    assert result.verdict == "weak"
    assert result.figure("auc_rows").value > 0.9
    assert "Release whole files" in result.sentence


def test_time_that_grows_with_the_noise_is_seen():
    result = audited(lambda rows, drawn: 2e-3 * float(np.abs(drawn).mean()))
    assert result.verdict == "weak"
    assert result.figure("noise_correlation").value > 0.6


def test_equal_times_tell_nothing():
    """False alarms: below 1e-6 by the attack's own level."""
    result = audited(lambda rows, drawn: 1e-4)
    assert result.verdict == "no_attack_succeeded"
    assert 0 <= result.figure("auc_rows").control <= 1


def test_few_calls_are_not_testable_and_fewer_are_refused():
    assert audited(lambda rows, drawn: 1e-5, 20).verdict == "not_testable"
    with pytest.raises(ChainError, match="20 calls"):
        audited(lambda rows, drawn: 0.0, 19)
