"""Run tasks in processes with back-pressure; a crash of a reader costs one file."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from neuroveil.pipeline.worker import Outcome, Task, crashed, run_task

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_tasks(tasks: Iterable[Task], n_workers: int) -> Iterator[Outcome]:
    """Run every task once, in any order.

    Parameters
    ----------
    tasks : iterable of Task
        Consumed as workers become free: never more than two a worker are waiting.
    n_workers : int
        Number of processes.

    Yields
    ------
    Outcome
        One a task, as they finish. A task that brings its process down ends as a
        :class:`RecordingError` of that task alone.
    """
    waiting = deque(tasks)
    while waiting:
        suspects = yield from _run_until_crash(waiting, n_workers)
        for task in suspects:  # one of these brought the pool down: each alone now
            alone: deque[Task] = deque([task])
            culprits = yield from _run_until_crash(alone, 1)
            if culprits:
                yield Outcome(task.number, crashed(task))


def _run_until_crash(waiting: deque[Task], n_workers: int) -> Generator[Outcome, None, list[Task]]:
    """Work the queue off; return the tasks that were in flight when the pool broke."""
    running: dict[Future[Outcome], Task] = {}
    with _pool(n_workers) as pool:
        while waiting or running:
            try:
                while waiting and len(running) < 2 * n_workers:
                    task = waiting[0]
                    running[pool.submit(run_task, task)] = task
                    waiting.popleft()
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    del running[future]
                    yield outcome
            except BrokenProcessPool:
                return list(running.values())
    return []


def _pool(n_workers: int) -> ProcessPoolExecutor:
    # One thread a process: the cores are already shared out among the recordings.
    for name in _THREAD_LIMITS:
        os.environ.setdefault(name, "1")
    return ProcessPoolExecutor(n_workers, mp_context=multiprocessing.get_context("spawn"))


Progress = Callable[[int, int, str], None]
"""Called with (done, total, what), from the main process only."""


def no_progress(done: int, total: int, what: str) -> None:
    """Ignore progress.

    Parameters
    ----------
    done, total : int
        Steps.
    what : str
        What is being done.
    """
