"""Attribute inference: chance, what is found, who may teach, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from neuroveil.audit.table.attributes import attack_attributes
from neuroveil.audit.table.effort import Effort
from neuroveil.audit.table.frame import Attribute, AuditFrame
from neuroveil.audit.table.questions import obstacle, question_of
from neuroveil.errors import RecordingError
from neuroveil.types.recording import FloatArray

MakeFrame = Callable[..., AuditFrame]


@pytest.fixture
def small(effort: Effort) -> Effort:
    return replace(effort, n_bootstraps=60)


@pytest.fixture
def rows() -> FloatArray:
    """Forty rows of 20 columns; the first 18 patients differ from the others in six columns."""
    rows = np.random.default_rng(1).normal(size=(40, 20))
    rows[:18, :6] += 1.5
    return rows


def named(frame: AuditFrame, values: list[str]) -> AuditFrame:
    return replace(frame, attribute=Attribute("sex [m/f]", tuple(values)))


def two(n: int = 40, first: int = 18) -> list[str]:
    return ["secret m"] * first + ["secret f"] * (n - first)


def test_what_rows_tell_is_found(make_frame: MakeFrame, rows: FloatArray, small: Effort) -> None:
    """No value of the attribute is printed, here or anywhere."""
    frame = named(make_frame(rows, "gaussian", 1.0), two())
    result = attack_attributes(frame, frame.targets[1], small)
    figure = result.figure("auc")
    assert figure.value > 0.9
    assert figure.control == pytest.approx(0.5, abs=0.06)
    assert result.verdict == "weak"
    text = json.dumps(result.to_json(), allow_nan=False)
    assert "secret" not in text
    assert "sex [m/f]" in result.sentence


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "privunit"])
def test_more_noise_never_raises_the_risk(
    make_frame: MakeFrame, rows: FloatArray, small: Effort, name: str
) -> None:
    """From epsilon = 10 to 0.5, within the intervals; at 0.5 nothing is found (seeded)."""
    figures = []
    for epsilon in (10.0, 3.0, 0.5):
        frame = named(make_frame(rows, name, epsilon), two())
        result = attack_attributes(frame, frame.targets[0], small)
        figures.append(result.figure("auc"))
    assert result.verdict == "no_attack_succeeded"
    assert figures[0].value > figures[-1].value
    for less, more in pairwise(figures):
        assert more.low <= less.high


@pytest.mark.slow
def test_false_alarms_are_rare(make_frame: MakeFrame, small: Effort) -> None:
    """Labels that rows know nothing of, on 20 fixed tables: one in forty may look like more."""
    alarms = 0
    for seed in range(20):
        rows = np.random.default_rng(seed).normal(size=(30, 8))
        frame = named(make_frame(rows, "gaussian", 1.0), two(30, 13))
        result = attack_attributes(frame, frame.targets[1], replace(small, seed=seed))
        alarms += result.verdict == "weak"
    assert alarms <= 2


def test_a_patient_with_two_rows_stays_on_one_side(make_frame: MakeFrame, small: Effort) -> None:
    """Nothing to learn, but a second session that is nearly the first: leaks would give 1."""
    rows = np.random.default_rng(2).normal(size=(30, 40))
    other = rows + 1e-3 * np.random.default_rng(3).normal(size=rows.shape)
    frame = named(make_frame(rows, "gaussian", 1.0, other), two(30, 15))
    figure = attack_attributes(frame, frame.targets[1], small).figure("auc")
    assert figure.value == pytest.approx(0.5, abs=0.25)


def test_a_copied_row_is_refused(make_frame: MakeFrame, rows: FloatArray, small: Effort) -> None:
    copied = rows.copy()
    copied[30] = copied[2]
    frame = named(make_frame(copied, "gaussian", 1.0), two())
    assert "exactly the same row" in obstacle(frame, frame.targets[0])
    with pytest.raises(RecordingError, match="no row that two patients share"):
        attack_attributes(frame, frame.targets[0], small)
    other = rows[np.roll(np.arange(40), 1)]  # another session in which keys were mixed up
    frame = named(make_frame(rows, "gaussian", 1.0, other), two())
    assert "exactly the same row" in obstacle(frame, frame.targets[0])


def test_three_diagnoses_one_of_them_once(
    make_frame: MakeFrame, rows: FloatArray, small: Effort
) -> None:
    """Each class against all others; who alone has a value, or none, is not asked for."""
    moved = rows.copy()
    moved[18:28, 10:16] += 2.0
    values = ["a"] * 18 + ["b"] * 10 + ["c"] * 9 + ["d", "", "n/a"]
    frame = named(make_frame(moved, "gaussian", 1.0), values)
    question = question_of(frame)
    assert question is not None
    assert (question.patients.size, question.asked) == (38, (0, 1, 2))
    result = attack_attributes(frame, frame.targets[1], small)
    assert result.figure("auc").value > 0.75
    assert result.settings["classes_guessed"] == 3


def test_what_cannot_be_asked(make_frame: MakeFrame, rows: FloatArray, small: Effort) -> None:
    frame = make_frame(rows, "gaussian", 1.0)
    assert "--attribute" in obstacle(frame, frame.targets[0])
    for values in (["same"] * 40, [str(each) for each in range(40)], two(40, 1), [""] * 40,
                   [str(each % 11) for each in range(40)]):  # fmt: skip
        asked = named(frame, values)
        assert "two patients on either side" in obstacle(asked, asked.targets[0])
        with pytest.raises(RecordingError, match="two patients on either side"):
            attack_attributes(asked, asked.targets[0], small)
    sums = named(make_frame(rows, "moments", 1.0), two())
    assert "sums of all patients" in obstacle(sums, sums.targets[0])


def test_of_thousands_of_patients_some_are_drawn(
    make_frame: MakeFrame, small: Effort, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limit at 30, so that the test is quick."""
    for module in ("attributes", "questions"):
        monkeypatch.setattr(f"neuroveil.audit.table.{module}.MOST_PATIENTS", 30)
    rows = np.random.default_rng(6).normal(size=(50, 4))
    frame = named(make_frame(rows, "gaussian", 1.0), two(50, 20))
    result = attack_attributes(frame, frame.targets[1], small)
    assert result.figure("auc").n == 30
    assert result.limits[0] == "Of more patients, 30 were drawn at random."


def test_odd_tables(make_frame: MakeFrame, small: Effort) -> None:
    """Four patients show nothing; constant columns and empty rows do no harm."""
    odd = np.random.default_rng(4).normal(size=(12, 5))
    odd[:, 1], odd[2], odd[7] = 3.0, np.nan, np.nan
    cases = ((np.random.default_rng(5).normal(size=(4, 3)), 2), (odd, 5))
    for rows, first in cases:
        frame = named(make_frame(rows, "privunit", 4.0), two(len(rows), first))
        for target in frame.targets:
            result = attack_attributes(frame, target, small)
            assert json.dumps(result.to_json(), allow_nan=False)
            assert len(rows) > 4 or result.verdict == "not_testable"
