"""A full disk or lack of memory never turns a patient's row into the fallback."""

import errno
from dataclasses import replace

import pytest

from neuroveil.errors import MachineError, RecordingError
from neuroveil.pipeline import worker
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.machine import is_of_the_machine
from neuroveil.pipeline.worker import Task, run_task
from neuroveil.recordings import ReadOptions
from neuroveil.signal import SignalSettings
from neuroveil.simulate import CohortSpec, simulate_cohort
from neuroveil.study import load_study


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine") / "cohort"
    simulate_cohort(folder, CohortSpec(n_patients=2, n_hospitals=1, n_sessions=1, seconds=10.0))
    return folder


@pytest.fixture
def task(cohort, tmp_path) -> Task:
    path = next(cohort.rglob("*.edf"))
    return Task(1, path, tmp_path / "1.npz", ReadOptions(role="recording 1 of 1"), SignalSettings())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.ENOMEM, errno.EMFILE])
def test_errors_of_the_machine_are_told_from_errors_of_a_file(number):
    assert is_of_the_machine(OSError(number, "x"))
    assert is_of_the_machine(MemoryError())
    assert not is_of_the_machine(FileNotFoundError(errno.ENOENT, "x"))
    assert not is_of_the_machine(OSError("a reader's own words"))
    assert not is_of_the_machine(ValueError())


def test_a_full_disk_under_the_cache_is_no_bad_recording(task, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "Canary.edf")

    monkeypatch.setattr(worker, "write_features", full)
    error = run_task(task).error
    assert isinstance(error, MachineError)
    assert "ENOSPC" in str(error)
    assert "Canary" not in str(error)


def test_lack_of_memory_is_no_bad_recording(task, monkeypatch):
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(worker, "recording_features", exhausted)
    assert isinstance(run_task(task).error, MachineError)


def test_a_bad_file_is_a_bad_recording(task, tmp_path):
    bad = tmp_path / "bad.edf"
    bad.write_text("nothing")
    assert isinstance(run_task(replace(task, path=bad)).error, RecordingError)


@pytest.mark.slow
def test_no_release_is_made_from_what_the_machine_left(cohort, tmp_path):
    (tmp_path / "study.toml").write_text(f'[input]\nfolder = "{cohort}"\n')
    extraction = extract_study(load_study(tmp_path))
    extraction.require_settled()
    failed = replace(
        extraction,
        failures=((1, MachineError("recording 1 of 2", "room", "ENOSPC", "Run again.")),),
    )
    with pytest.raises(MachineError, match="ENOSPC"):
        failed.require_settled()
