"""The same features from a cluster of worker processes, also when one of them is killed."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import dask_jobqueue  # noqa: F401  (its settings have to be there before others are set)
import numpy as np
import pytest

from neuroveil.errors import MachineError, StudyError
from neuroveil.pipeline.cluster import run_on_cluster
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.worker import Task
from neuroveil.recordings import ReadOptions
from neuroveil.signal import SignalSettings
from neuroveil.simulate import CohortSpec, simulate_cohort
from neuroveil.study import Study, load_study

pytestmark = pytest.mark.slow

N_RECORDINGS = 12
STUDY = """\
[input]
layout = "bids"
folder = "{folder}"

[privacy]
epsilon = 1.0
"""


@pytest.fixture(scope="module")
def cohort(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cluster") / "cohort"
    simulate_cohort(folder, CohortSpec(n_patients=6, n_hospitals=2, seconds=20.0))
    bad = next(folder.rglob("*_eeg.edf"))
    bad.write_bytes(bad.read_bytes()[:1000])
    return folder


@pytest.fixture
def study(cohort, tmp_path) -> Any:
    """Make a study of the cohort in a folder of its own."""

    def make(name: str) -> Study:
        (tmp_path / name).mkdir()
        file = tmp_path / name / "study.toml"
        file.write_text(STUDY.format(folder=cohort))
        return load_study(file)

    return make


@contextmanager
def local_cluster(deaths: int, n_workers: int = 2) -> Iterator[Any]:
    """A cluster that gives a task up after so many deaths of its workers, and one more."""
    from distributed import LocalCluster

    with dask.config.set({
        "distributed.scheduler.allowed-failures": deaths, "distributed.worker.daemon": False,
    }), LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None,
        memory_limit=0,
    ) as running:  # fmt: skip
        yield running


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with local_cluster(3) as running:
        yield running


def good_files(cohort: Path) -> list[Path]:
    return sorted(file for file in cohort.rglob("*_eeg.edf") if file.stat().st_size > 1000)


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.table.values, other.table.values)
    np.testing.assert_array_equal(one.table.n_windows, other.table.n_windows)
    assert one.table.patients == other.table.patients
    assert [n for n, _ in one.failures] == [n for n, _ in other.failures]
    assert [str(e) for _, e in one.failures] == [str(e) for _, e in other.failures]
    assert one.findings == other.findings


def test_results_are_those_of_one_machine(study, cluster):
    local = extract_study(study("local"), 2)
    far = extract_study(study("far"), scheduler=cluster.scheduler_address)
    assert (far.n_computed, len(far.failures)) == (N_RECORDINGS - 1, 1)
    same(local, far)


def test_a_worker_that_is_killed_costs_nothing(study, cluster):
    from distributed import Client

    killed: list[int] = []

    def kill_one(done: int, total: int, what: str) -> None:
        if what == "extracting features" and done >= 2 and not killed:
            with Client(cluster) as client:
                victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    far = extract_study(study("killed"), None, kill_one, cluster.scheduler_address)
    assert killed
    same(extract_study(study("local"), 2), far)


class _Killer(Path().__class__):
    """A path that ends the process which looks at it closely."""

    def __reduce__(self):
        return _Killer, (str(self),)

    @property
    def suffix(self) -> str:
        import multiprocessing
        import os

        if multiprocessing.parent_process() is not None:
            os._exit(139)
        return super().suffix


def test_a_recording_that_kills_every_worker_is_refused_alone(cohort, tmp_path):
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    paths = good_files(cohort)
    tasks = [
        Task(
            number=i, path=_Killer(path) if i == 1 else path, target=tmp_path / f"{i}.npz",
            options=ReadOptions(role=f"recording {i}"), settings=SignalSettings(),
        )
        for i, path in enumerate(paths[-4:], start=1)
    ]  # fmt: skip
    with local_cluster(0) as fragile:
        outcomes = {
            outcome.number: outcome.error
            for outcome in run_on_cluster(iter(tasks), fragile.scheduler_address, None)
        }
    assert "crashes its reader" in str(outcomes.pop(1))
    assert outcomes == {2: None, 3: None, 4: None}


def test_nobody_left(cohort, tmp_path, monkeypatch):
    """The last worker is gone and does not come back: an error, and no waiting for ever."""
    monkeypatch.setattr("neuroveil.pipeline.cluster.MAX_SECONDS_WITHOUT_WORKER", 1.0)
    monkeypatch.setattr("neuroveil.pipeline.cluster._LOOK_SECONDS", 0.5)
    paths = good_files(cohort)[-4:]
    tasks = (
        Task(
            number=i, path=path, target=tmp_path / f"{i}.npz", options=ReadOptions(),
            settings=SignalSettings(),
        )
        for i, path in enumerate(paths * 10, start=1)
    )  # fmt: skip
    with local_cluster(3, n_workers=1) as emptied:
        outcomes = run_on_cluster(tasks, emptied.scheduler_address, None)
        next(outcomes)
        emptied.scale(0)
        with pytest.raises(MachineError, match="workers on the cluster"):
            list(outcomes)


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr("neuroveil.pipeline.cluster._CONNECT_SECONDS", 1)
    with pytest.raises(StudyError, match="none that answers"):
        list(run_on_cluster([], "tcp://127.0.0.1:9", None))


def test_jobs_of_slurm(study, tmp_path, monkeypatch):
    """A stand-in for SLURM runs the job scripts that dask-jobqueue writes on this machine."""
    programs = tmp_path / "bin"
    programs.mkdir()
    scripts = {
        # dask-jobqueue removes the script as soon as this returns.
        "sbatch": 'text=$(cat "$1")\nsetsid sh -c "$text" >"$0.log" 2>&1 &\n'
        'echo "Submitted batch job $!"\n',
        "scancel": 'for job; do kill -- -"$job" 2>/dev/null; done; exit 0\n',
    }
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}")
        (programs / name).chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    with dask.config.set({
        "jobqueue.slurm.cores": 1, "jobqueue.slurm.memory": "2GB",
        "jobqueue.slurm.local-directory": str(tmp_path),
        "jobqueue.slurm.scheduler-options": {
            "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0",
        },
    }):  # fmt: skip
        far = extract_study(study("slurm"), 1, scheduler="slurm")
    same(extract_study(study("local"), 2), far)


def test_slurm_without_a_description_of_its_jobs():
    with pytest.raises(StudyError, match=r"jobqueue\.yaml"):
        list(run_on_cluster([], "slurm", 1))
