"""Singling out: chance among controls, noise, and odd tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import AuditFrame
from neuroveil.audit.table.predicates import column_predicates, row_predicates
from neuroveil.audit.table.singling_out import attack_singling_out, obstacle
from neuroveil.types.recording import FloatArray

MakeFrame = Callable[..., AuditFrame]


@pytest.fixture
def rows() -> FloatArray:
    return np.random.default_rng(1).normal(size=(60, 30))


def test_unprotected_rows_are_singled_out(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort
) -> None:
    """Single columns fit one of the controls by chance as well, about one time in four."""
    frame = make_frame(rows, "gaussian", 1.0)
    result = attack_singling_out(frame, frame.targets[1], effort)
    whole, column = result.figure("rate_rows"), result.figure("rate_columns")
    assert (whole.value, column.value) == (1.0, 1.0)
    assert whole.control is not None
    assert whole.control < 0.1
    assert column.control == pytest.approx(0.25, abs=0.08)
    assert result.figure("excess_rows").value == pytest.approx(1 - whole.control)
    assert result.verdict == "weak"
    assert json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize("name", ["gaussian", "laplace", "privunit"])
def test_strong_noise_singles_nobody_out(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort, name: str
) -> None:
    frame = make_frame(rows, name, 1.0)
    result = attack_singling_out(frame, frame.targets[0], effort)
    for kind in ("excess_rows", "excess_columns"):
        figure = result.figure(kind)
        assert figure.low <= 0.0 <= figure.high
    assert result.verdict == "no_attack_succeeded"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "paper_laplace", "privunit"])
def test_more_noise_never_raises_the_risk(
    make_frame: MakeFrame, rows: FloatArray, effort: Effort, name: str
) -> None:
    """Down to epsilon = 0.5, within the intervals (seeded)."""
    largest = 12.0 if name == "privunit" else 300.0
    figures = []
    for epsilon in (largest, 8.0, 3.0, 0.5):
        frame = make_frame(rows, name, epsilon)
        result = attack_singling_out(frame, frame.targets[0], effort)
        figures.append(result.figure("excess_rows"))
    assert figures[0].low > figures[-1].high
    for less, more in pairwise(figures):
        assert more.low <= less.high


def test_predicates_come_from_the_release_alone() -> None:
    """A row predicate fits its own row and no other one; an extreme fits the extreme one."""
    released = np.random.default_rng(2).normal(size=(20, 30))
    np.testing.assert_array_equal(row_predicates(released, 0.0).matches(released), np.eye(20))
    columns = column_predicates(released, 0.0).matches(released)
    assert (columns.sum(axis=0) == 1).all()
    np.testing.assert_array_equal(columns.argmax(axis=0)[:30], released.argmax(axis=0))
    np.testing.assert_array_equal(columns.argmax(axis=0)[30:], released.argmin(axis=0))
    assert column_predicates(np.ones((5, 3)), 0.0).thresholds.size == 0  # nothing varies


@pytest.mark.parametrize("name", ["gaussian", "privunit"])
def test_odd_tables(make_frame: MakeFrame, effort: Effort, name: str) -> None:
    """Copies of one row, a constant column, a patient without recordings; too few patients."""
    copies = np.repeat(np.random.default_rng(3).normal(size=(1, 5)), 6, axis=0)
    odd = np.random.default_rng(4).normal(size=(7, 5))
    odd[:, 1], odd[2] = 3.0, np.nan
    few = np.random.default_rng(5).normal(size=(4, 5))
    for rows in (copies, odd, few):
        frame = make_frame(rows, name, 5.0)
        for target in frame.targets:
            result = attack_singling_out(frame, target, replace(effort, n_links=100))
            assert json.dumps(result.to_json(), allow_nan=False)
            if rows is few:
                assert result.verdict == "not_testable"
            if rows is copies and target.name == "unprotected":
                assert result.figure("rate_rows").value == 0.0  # a copy is never the only one
    pair = make_frame(few[:2], name, 5.0)
    assert "fewer than 4 patients" in obstacle(pair, pair.targets[0])
