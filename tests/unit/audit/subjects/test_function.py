"""Python functions as subjects."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.audit.subjects.loading import load_function
from neuroveil.errors import StudyError

FACTS = SubjectFacts("peer", 1.0, 0.0, 3, 2.0)
ROWS = np.arange(6.0).reshape(2, 3)


def subject(function):
    return FunctionSubject(FACTS, function)


def test_a_function_of_rows_is_called_for_every_trial():
    calls = []
    released = subject(lambda rows: calls.append(rows) or rows + len(calls)).run(ROWS, 3, None)
    assert len(calls) == 3
    assert released.tolist() == [(ROWS.ravel() + n).tolist() for n in (1, 2, 3)]


def test_a_function_of_trials_is_called_once():
    calls = []

    def release(rows, n_trials):
        calls.append(n_trials)
        return np.tile(rows, (n_trials, 1, 1))

    assert subject(release).run(ROWS, 4, None).shape == (4, 6)
    assert calls == [4]


def test_a_function_of_a_seed_is_repeatable():
    repeatable = subject(lambda rows, seed: rows + np.random.default_rng(seed).normal(size=(2, 3)))
    assert repeatable.facts.repeatable
    assert not subject(lambda rows: rows).facts.repeatable
    first = repeatable.run(ROWS, 3, 5)
    assert (first == repeatable.run(ROWS, 3, 5)).all()
    assert (first != repeatable.run(ROWS, 3, 6)).all()
    assert len(np.unique(first[:, 0])) == 3  # trials do not share a seed


def test_one_trial_gets_the_seed_itself():
    assert subject(lambda rows, seed: [seed]).run(ROWS, 1, 12345).tolist() == [[12345.0]]


def test_a_function_may_change_its_rows():
    def release(rows):
        rows += 1
        return rows

    assert subject(release).run(ROWS, 2, None).tolist() == [(ROWS.ravel() + 1).tolist()] * 2
    assert ROWS[0, 0] == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda rows: "text",
        lambda rows: np.zeros(len(calls_of_uneven.append(0) or calls_of_uneven)),
        lambda rows, n_trials: np.zeros((n_trials + 1, 3)),
        lambda rows, n_trials: 1.0,
        lambda rows: np.zeros(0),
        lambda rows: 1 / 0,
    ],
    ids=["text", "uneven", "too many", "no axis", "nothing", "fails"],
)
def test_other_answers_are_refused(function):
    calls_of_uneven.clear()
    with pytest.raises(StudyError, match="--callable"):
        subject(function).run(ROWS, 3, None)


calls_of_uneven: list[int] = []


@pytest.mark.parametrize("function", [lambda rows, other: rows, lambda: 1])
def test_functions_that_need_something_else_are_refused_at_once(function):
    with pytest.raises(StudyError, match="parameter"):
        subject(function)


def test_an_error_tells_its_kind_and_no_value():
    def release(rows):
        raise ValueError("row 17 has 42")

    with pytest.raises(StudyError, match="ValueError inside it") as caught:
        subject(release).run(ROWS, 1, None)
    assert "42" not in str(caught.value)


class TestLoading:
    @pytest.fixture(autouse=True)
    def module(self, tmp_path, monkeypatch):
        (tmp_path / "my_noise.py").write_text("def add(rows):\n    return rows\nvalue = 3\n")
        (tmp_path / "broken_noise.py").write_text("1 / 0\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [*sys.path])
        yield
        sys.modules.pop("my_noise", None)

    @pytest.mark.parametrize("target", ["my_noise:add", "my_noise.py:add", "./my_noise.py:add"])
    def test_modules_of_the_current_folder_and_files_are_found(self, target):
        assert load_function(target)(3) == 3

    @pytest.mark.parametrize(
        "target",
        ["my_noise", "my_noise:", ":add", "my_noise:other", "my_noise:value", "none_such:add",
         "none_such.py:add", "broken_noise:add", "broken_noise.py:add"],
    )  # fmt: skip
    def test_what_is_no_function_is_refused(self, target):
        with pytest.raises(StudyError, match="FUNCTION"):
            load_function(target)


def leave(rows):
    raise SystemExit(0)


def test_a_function_that_ends_the_process_is_refused():
    with pytest.raises(StudyError, match="SystemExit inside it"):
        subject(leave).run(ROWS, 1, None)


def test_a_module_that_ends_the_process_is_refused(tmp_path):
    (tmp_path / "script.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(StudyError, match="SystemExit on import"):
        load_function(f"{tmp_path / 'script.py'}:release")


def test_what_a_function_prints_is_not_taken_for_a_result(tmp_path, capsys):
    code = "print('Canary')\ndef release(rows):\n    print('Canary')\n    return rows\n"
    (tmp_path / "loud.py").write_text(code)
    subject(load_function(f"{tmp_path / 'loud.py'}:release")).run(ROWS, 2, None)
    assert "Canary" not in capsys.readouterr().out


@pytest.mark.parametrize("released", [[1 + 2j], [10**400]])
def test_numbers_that_do_not_fit_are_refused_instead_of_cut(released):
    with pytest.raises(StudyError, match="numbers"):
        subject(lambda rows: released).run(ROWS, 1, None)
