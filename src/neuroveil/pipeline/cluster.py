"""Run tasks on a Dask cluster: the same tasks and the same cache as on one machine.

Workers read the recordings and write the cache themselves, so they need the same file
system and the same version of neuroveil. Over the network go paths, settings and whether a
recording could be used; never a signal or a feature. Needs the extra ``scale``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from typing import Any

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.pipeline.worker import Outcome, Task, crashed, run_task

# The types of distributed and dask-jobqueue are written down in part only.
Client = Any
Future = Any

SLURM = "slurm"
"""In place of an address: start workers as jobs of SLURM through dask-jobqueue."""

_PACKAGES = ("neuroveil", "numpy", "scipy", "mne", "h5py", "pymatreader")
_WAITING_PER_THREAD = 2
_CONNECT_SECONDS = 30


def run_on_cluster(tasks: Iterable[Task], scheduler: str, n_jobs: int | None) -> Iterator[Outcome]:
    """Run every task once on a cluster, in any order.

    A task whose worker dies is given to another one. A task that has brought down several
    workers ends as a refusal of its recording alone.

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
    """
    with _connected(scheduler, n_jobs) as client:
        _need_same_versions(client)
        yield from _as_they_finish(client, tasks)


def _as_they_finish(client: Client, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """Keep a few tasks a worker in flight until all are done."""
    queue = iter(tasks)
    running: dict[Future, Task] = {}
    finished: Any = import_module("distributed").as_completed()

    def fill() -> None:
        room = _WAITING_PER_THREAD * max(1, sum(client.nthreads().values()))
        while len(running) < room and (task := next(queue, None)) is not None:
            # Not pure: a task is done for what it writes, and no two are the same.
            future = client.submit(run_task, task, pure=False)
            running[future] = task
            finished.add(future)

    fill()
    for future in finished:
        task = running.pop(future)
        yield _outcome(future, task)
        future.release()
        fill()


def _outcome(future: Future, task: Task) -> Outcome:
    """Give a task's own outcome, or a refusal where it kills its workers."""
    killed: type[Exception] = import_module("distributed").KilledWorker
    try:
        outcome: Outcome = future.result()
    except killed:
        return Outcome(task.number, crashed(task))
    return outcome


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


def reading_versions() -> dict[str, str]:
    """List the versions that features depend on.

    Returns
    -------
    dict of str to str
        Version by package; ``""`` where it is not installed.
    """
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


def _mistake(expected: str, found: str, remedy: str) -> StudyError:
    return StudyError([StudyMistake("--scheduler", expected, found, remedy)])
