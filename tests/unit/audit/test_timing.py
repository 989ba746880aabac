"""Timing of releases: what time tells, and that it never violates a claim.

How long a release takes is decided here by a clock that the release itself turns on, so that a
busy machine changes nothing. One test, which has the machine to itself, takes the real clock.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from neuroveil.audit import timing
from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.audit.timing import audit_timing
from neuroveil.errors import ChainError

FACTS = SubjectFacts("peer", 1.0, 0.0, 3, 2.0)


class Clock:
    """Stands in for the module ``time``: it goes on only where a release says so."""

    def __init__(self):
        self.seconds = 0.0

    def perf_counter(self):
        return self.seconds


@pytest.fixture
def audited(monkeypatch):
    """Audit releases that take a given time. Fixed seed."""
    clock, generator = Clock(), np.random.default_rng(3)
    monkeypatch.setattr(timing, "time", clock)

    def audit(slowness, n_calls=60):
        def release(rows, n_trials):
            drawn = generator.normal(size=(n_trials, *rows.shape))
            clock.seconds += slowness(rows, drawn, generator)
            return rows + drawn

        return audit_timing(FunctionSubject(FACTS, release), n_calls)

    return audit


def test_a_row_that_takes_longer_is_seen(audited):
    result = audited(lambda rows, drawn, jitter: 1.0 + rows.any() + jitter.exponential(0.5))
    assert result.verdict == "weak"
    assert result.figure("auc_rows").value > 0.9
    assert "Release whole files" in result.sentence


def test_time_that_grows_with_the_noise_is_seen(audited):
    result = audited(
        lambda rows, drawn, jitter: float(np.abs(drawn).mean()) + jitter.exponential(0.1)
    )
    assert result.verdict == "weak"
    assert result.figure("noise_correlation").value > 0.8
    assert result.figure("auc_rows").value < 0.7


def test_equal_times_tell_nothing(audited):
    result = audited(lambda rows, drawn, jitter: 1.0 + jitter.exponential(1.0))
    assert result.verdict == "no_attack_succeeded"
    assert 0 <= result.figure("auc_rows").control <= 1
    assert abs(result.figure("noise_correlation").value) < 0.6


def test_times_that_are_all_the_same_tell_nothing(audited):
    result = audited(lambda rows, drawn, jitter: 1.0)
    assert result.verdict == "no_attack_succeeded"
    assert result.figure("auc_rows").value == 0.5


def test_few_calls_are_not_testable_and_fewer_are_refused(audited):
    assert audited(lambda rows, drawn, jitter: jitter.random(), 20).verdict == "not_testable"
    with pytest.raises(ChainError, match="20 calls"):
        audited(lambda rows, drawn, jitter: 0.0, 19)


@pytest.mark.alone
def test_the_real_clock_sees_a_row_that_waits():
    """5 ms against next to nothing: only pauses of 5 ms in a fifth of the quick calls hide it."""

    def release(rows, n_trials):
        time.sleep(5e-3 if rows.any() else 0.0)
        return np.tile(rows, (n_trials, 1, 1))

    result = audit_timing(FunctionSubject(FACTS, release), 60)
    assert result.verdict == "weak"
    assert result.figure("auc_rows").value > 0.8
