"""Run tasks in processes with back-pressure; a crash of a reader costs one file."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, TypeVar

_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Numbered(Protocol):
    """Anything with a number: what is to be done."""

    @property
    def number(self) -> int:
        """Position among all, from 1."""
        ...


Job = TypeVar("Job", bound=Numbered)
Result = TypeVar("Result")


def run_tasks(
    tasks: Iterable[Job],
    n_workers: int,
    work: Callable[[Job], Result],
    crashed: Callable[[Job], Result],
) -> Iterator[Result]:
    """Run every task once, in any order.

    Parameters
    ----------
    tasks : iterable
        Consumed as workers become free: never more than two a worker are waiting.
    n_workers : int
        Number of processes.
    work : callable
        What to do with a task; a function of a module, since processes import it.
    crashed : callable
        Gives the result of a task that brings its process down.

    Yields
    ------
    object
        One result a task, as they finish.
    """
    waiting = iter(tasks)
    suspects: list[Job] | None = None
    while suspects is None or suspects:
        suspects = yield from _run_until_crash(waiting, n_workers, work)
        for task in suspects:  # one of these brought the pool down: each alone now
            culprits = yield from _run_until_crash(iter([task]), 1, work)
            if culprits:
                yield crashed(task)


def _run_until_crash(
    waiting: Iterator[Job], n_workers: int, work: Callable[[Job], Result]
) -> Generator[Result, None, list[Job]]:
    """Work the queue off; return the tasks that were in flight when the pool broke."""
    running: dict[Future[Result], Job] = {}
    with _pool(n_workers) as pool:
        try:
            while True:
                while len(running) < 2 * n_workers and (task := next(waiting, None)) is not None:
                    # Noted before it is handed over: a broken pool refuses it.
                    running[Future()] = task
                    future = pool.submit(work, task)
                    running.popitem()
                    running[future] = task
                if not running:
                    return []
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    del running[future]
                    yield result
        except BrokenProcessPool:
            return list(running.values())


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
