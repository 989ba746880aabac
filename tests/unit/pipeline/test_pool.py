"""One bad recording, even one that kills its reader, costs one recording."""

from dataclasses import replace
from pathlib import Path

import pytest

from neuroveil.pipeline.cache import read_features
from neuroveil.pipeline.pool import run_tasks
from neuroveil.pipeline.worker import Task, crashed, run_task
from neuroveil.recordings import ReadOptions
from neuroveil.signal import SignalSettings
from neuroveil.simulate import CohortSpec, simulate_cohort

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recordings(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pool") / "cohort"
    simulate_cohort(folder, CohortSpec(n_patients=3, n_hospitals=1, seconds=10.0))
    return sorted(folder.rglob("*.edf"))


@pytest.fixture
def tasks(recordings, tmp_path) -> list[Task]:
    return [
        Task(
            number=number, path=path, target=tmp_path / f"{number}.npz",
            options=ReadOptions(role=f"recording {number} of 6"), settings=SignalSettings(),
        )
        for number, path in enumerate(recordings, start=1)
    ]  # fmt: skip


def test_every_task_is_done_once(tasks):
    outcomes = list(run_tasks(tasks, 2, run_task, crashed))
    assert sorted(outcome.number for outcome in outcomes) == [1, 2, 3, 4, 5, 6]
    assert all(outcome.error is None for outcome in outcomes)
    assert all(read_features(task.target) is not None for task in tasks)


def test_an_unreadable_file_is_reported_by_its_number_only(tasks, tmp_path):
    bad = tmp_path / "Canary_Patient.edf"
    bad.write_text("no EDF at all")
    options = ReadOptions(role="recording 7 of 7")
    spoiled = replace(tasks[0], number=7, path=bad, options=options)
    outcomes = {
        outcome.number: outcome.error
        for outcome in run_tasks([*tasks, spoiled], 2, run_task, crashed)
    }
    assert outcomes.pop(7) is not None
    assert set(outcomes.values()) == {None}
    assert "Canary" not in str(outcomes)


class _Killer(Path().__class__):
    """A path whose reading ends the process, as a crashing reader does."""

    def __reduce__(self):
        return _Killer, (str(self),)

    @property
    def suffix(self) -> str:
        import multiprocessing
        import os

        if multiprocessing.parent_process() is not None:
            os._exit(139)
        return super().suffix


def test_a_reader_that_kills_its_process_costs_one_recording(tasks):
    killer = replace(
        tasks[1], number=9, path=_Killer(tasks[1].path), options=ReadOptions(role="recording 9")
    )
    outcomes = {
        outcome.number: outcome.error
        for outcome in run_tasks([killer, *tasks], 2, run_task, crashed)
    }
    assert "crashes its reader" in str(outcomes.pop(9))
    assert sorted(outcomes) == [1, 2, 3, 4, 5, 6]
    assert set(outcomes.values()) == {None}
