"""Keep one service running as a child process, and leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from neuroveil.errors import FederationError

_GRACE_SECONDS, _GROUP_SECONDS = 10.0, 2.0
_LOOK_SECONDS, _LONG_RUN_SECONDS = 0.1, 60.0
_LARGEST_LOG = 20_000_000  # bytes; looked at when the service starts
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Service:
    """A service to keep running.

    Parameters
    ----------
    name : str
        What messages call it.
    module : str
        Python module that is run, with ``folder`` as its argument.
    folder : Path
        Of the coordinator or the hospital.
    environment : mapping of str to str
        For the process and all below it.
    log : Path
        Where its output goes, appended; one that is very long is set aside at a start.
    """

    name: str
    module: str
    folder: Path
    environment: Mapping[str, str]
    log: Path


def supervise(
    service: Service, say: Say, each_second: Callable[[], None], restarts: int = 5
) -> None:
    """Run a service until this process is told to stop (SIGTERM, SIGINT).

    A service that ends by itself is started again, after pauses that double from 1 to 30 s.

    Parameters
    ----------
    service : Service
        What to run.
    say : callable
        Takes a line for the operator.
    each_second : callable
        Called about once a second while the service runs.
    restarts : int
        How many short runs in a row (under a minute) end the attempt.

    Raises
    ------
    FederationError
        If the service does not stay up.
    """
    stop = threading.Event()
    with _told_to_stop(stop):
        failures, pause = 0, _FIRST_PAUSE
        while not stop.is_set():
            began = time.monotonic()
            _run_once(service, stop, each_second)
            if stop.is_set():
                return
            if time.monotonic() - began > _LONG_RUN_SECONDS:
                failures, pause = 0, _FIRST_PAUSE
            failures += 1
            if failures > restarts:
                raise _gave_up(service)
            say(f"The {service.name} ended by itself; it starts again in {pause:.0f} s.")
            stop.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _run_once(service: Service, stop: threading.Event, each_second: Callable[[], None]) -> None:
    if service.log.exists() and service.log.stat().st_size > _LARGEST_LOG:
        service.log.replace(service.log.with_suffix(".log.1"))
    number = os.open(service.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", service.module, str(service.folder)],
            env=dict(service.environment), stdin=subprocess.DEVNULL, stdout=number, stderr=number,
            start_new_session=True, cwd=service.folder,
        )  # fmt: skip
    finally:
        os.close(number)
    try:
        due = time.monotonic()
        while process.poll() is None and not stop.wait(_LOOK_SECONDS):
            if time.monotonic() >= due:
                due = time.monotonic() + 1.0
                each_second()
    finally:
        end_group(process)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything that it started in its own session.

    Parameters
    ----------
    process : subprocess.Popen
        Started with a session of its own.
    """
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + _GROUP_SECONDS
        while _signal_group(process.pid, number) and time.monotonic() < deadline:
            process.poll()
            time.sleep(0.05)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> bool:
    """Signal a group; false where nobody is left in it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so for a group of which only zombies are left
        return False
    return True


@contextmanager
def _told_to_stop(stop: threading.Event) -> Iterator[None]:
    def handler(number: int, frame: object) -> None:
        stop.set()

    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, handler) for number in numbers]
    try:
        yield
    finally:
        for number, old in zip(numbers, before, strict=True):
            signal.signal(number, old)


def _gave_up(service: Service) -> FederationError:
    return FederationError(
        service.name, "a service that stays up", "one that ends soon after every start",
        f"The reason stands at the end of {service.log.name} in its folder.",
    )  # fmt: skip
