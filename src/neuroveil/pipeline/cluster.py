"""Run tasks on a Dask cluster: the same tasks and the same cache as on one machine.

Workers read the recordings and write the cache themselves, so they need the same file
system and the same version of neuroveil. Over the network go paths, settings and whether a
recording could be used; never a signal or a feature. Needs the extra ``scale``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from neuroveil.errors import MachineError, StudyError, StudyMistake
from neuroveil.pipeline.pool import run_tasks
from neuroveil.pipeline.settings import reading_versions
from neuroveil.pipeline.worker import Outcome, Task, crashed, run_task

# The types of distributed and dask-jobqueue are written down in part only.
Client = Any
Future = Any

SLURM = "slurm"
"""In place of an address: start workers as jobs of SLURM through dask-jobqueue."""

_WAITING_PER_THREAD = 2
_CONNECT_SECONDS = 30
_LOOK_SECONDS = 5

MAX_SECONDS_WITHOUT_WORKER = 600.0
"""How long to wait where all workers of a cluster are gone, in seconds."""


def run_on_cluster(tasks: Iterable[Task], scheduler: str, n_jobs: int | None) -> Iterator[Outcome]:
    """Run every task once on a cluster, in any order.

    A task whose worker dies is given to another one. A task whose workers keep dying is
    done on this machine, and ends as a refusal of its recording if it crashes there, too.

    Parameters
    ----------
    tasks : iterable of Task
        Consumed as workers become free.
    scheduler : str
        Address of the scheduler, for example ``"tcp://10.0.0.5:8786"`` or ``"tls://…"``, or
        ``"slurm"``.
    n_jobs : int or None
        Jobs to ask SLURM for; not used with an address.

    Yields
    ------
    Outcome
        One a task, as they finish.

    Raises
    ------
    StudyError
        If the libraries are not installed, nobody answers, or a worker has another version.
    MachineError
        If all workers are gone and none comes back.
    """
    with _connected(scheduler, n_jobs) as client:
        _need_same_versions(client)
        yield from _as_they_finish(client, tasks)


def _as_they_finish(client: Client, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """Do all tasks on the cluster, and those whose workers died once more on this machine."""
    suspects: list[Task] = []
    yield from _in_flight(client, iter(tasks), suspects)
    # Dask blames all tasks of a worker that dies, and gives a worker up that dies while it
    # starts. Here a task that brings its process down costs nothing but itself.
    yield from run_tasks(suspects, 1, run_task, crashed)


def _in_flight(client: Client, tasks: Iterator[Task], killed: list[Task]) -> Iterator[Outcome]:
    """Keep a few tasks a worker in flight; note those whose workers died."""
    distributed: Any = import_module("distributed")
    running: dict[Future, Task] = {}
    while True:
        room = _WAITING_PER_THREAD * max(1, sum(client.nthreads().values()))
        while len(running) < room and (task := next(tasks, None)) is not None:
            # Not pure: a task is done for what it writes, and no two are the same.
            running[client.submit(run_task, task, pure=False)] = task
        if not running:
            return
        for future in _finished(client, list(running)):
            task = running.pop(future)
            try:
                yield future.result()
            except distributed.KilledWorker:
                killed.append(task)


def _finished(client: Client, futures: list[Future]) -> list[Future]:
    """Wait for the first task; not for ever where there is nobody left to do it."""
    distributed: Any = import_module("distributed")
    alone_since = time.monotonic()
    while True:
        try:
            distributed.wait(futures, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            if client.nthreads():
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > MAX_SECONDS_WITHOUT_WORKER:
                raise MachineError(
                    "--scheduler", "workers on the cluster", "none for a while",
                    "Start workers and run again; finished recordings are kept.",
                ) from None  # fmt: skip
            continue
        return [future for future in futures if future.done()]


@contextmanager
def _connected(scheduler: str, n_jobs: int | None) -> Iterator[Client]:
    """Connect to a scheduler, or start one whose workers are jobs of SLURM."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise _mistake(
            "the library 'distributed'", "that it is not installed",
            "Install the extra 'scale': pip install 'neuroveil[scale]'.",
        ) from None  # fmt: skip
    if scheduler == SLURM:
        with _slurm_cluster(n_jobs or 1) as cluster, distributed.Client(cluster) as client:
            client.wait_for_workers(1)
            yield client
        return
    try:
        client = distributed.Client(scheduler, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise _mistake(
            "the address of a running Dask scheduler",
            f"none that answers ({type(error).__name__})",
            "Start `dask scheduler` and `dask worker` with neuroveil installed, and give the "
            "address that the scheduler prints, for example tcp://10.0.0.5:8786.",
        ) from None  # fmt: skip
    with client:
        yield client


def _slurm_cluster(n_jobs: int) -> Any:
    """Start a scheduler here and ask SLURM for workers, as jobqueue.yaml describes them."""
    try:
        jobqueue: Any = import_module("dask_jobqueue")
    except ImportError:
        raise _mistake(
            "the library 'dask-jobqueue'", "that it is not installed",
            "Install the extra 'scale': pip install 'neuroveil[scale]'.",
        ) from None  # fmt: skip
    try:
        cluster = jobqueue.SLURMCluster()
    except ValueError:
        raise _mistake(
            "cores and memory of a job in dask-jobqueue's jobqueue.yaml", "none",
            "Describe the jobs there: see 'Beyond one machine' in the documentation.",
        ) from None  # fmt: skip
    cluster.scale(jobs=n_jobs)
    return cluster


def _need_same_versions(client: Client) -> None:
    """Refuse workers whose results might differ from those of this machine."""
    client.wait_for_workers(1, timeout=_CONNECT_SECONDS * 10)
    ours = reading_versions()
    theirs = client.run(reading_versions)
    differing = {
        name
        for versions in theirs.values()
        for name, version in versions.items()
        if ours[name] != version
    }
    if differing:
        raise _mistake(
            "workers with the versions of this machine",
            f"other versions of {', '.join(sorted(differing))}",
            "Install the same versions on all machines, so that results do not depend on where "
            "they are computed.",
        )


def _mistake(expected: str, found: str, remedy: str) -> StudyError:
    return StudyError([StudyMistake("--scheduler", expected, found, remedy)])
