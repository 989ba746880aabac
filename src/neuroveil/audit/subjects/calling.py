"""One call of somebody else's program, which may hang, flood, or leave children behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

MOST_BYTES = 1 << 30
"""Bytes of an answer that are read; a program that writes on and on must not fill memory."""

_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True)
class Answer:
    """What a program left behind.

    Parameters
    ----------
    output : bytes
        Standard output, and where it was too long its beginning.
    is_whole : bool
        Whether that is all of it.
    exit_code : int
        As the system gives it; negative for a signal.
    n_error_lines : int
        Lines on standard error, which is not kept.
    """

    output: bytes
    is_whole: bool
    exit_code: int
    n_error_lines: int


class _Listener(threading.Thread):
    """Reads a pipe to its end, and keeps as much of it as it may."""

    def __init__(self, pipe: IO[bytes], most_bytes: int) -> None:
        super().__init__(daemon=True)
        self.heard, self.is_whole, self.n_lines = bytearray(), True, 0
        self._pipe, self._most_bytes = pipe, most_bytes

    def run(self) -> None:
        while block := os.read(self._pipe.fileno(), _BLOCK_BYTES):
            self.n_lines += block.count(b"\n")
            if self._most_bytes and len(self.heard) + len(block) > self._most_bytes:
                self.is_whole = False
                return
            if self._most_bytes:
                self.heard += block


def call_program(
    command: Sequence[str], question: bytes, time_limit: float, most_bytes: int = MOST_BYTES
) -> Answer:
    """Start a program without a shell, ask it one question, and end it with its children.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    question : bytes
        For its standard input.
    time_limit : float
        Seconds that it may take.
    most_bytes : int
        Bytes of its answer that are read.

    Returns
    -------
    Answer
        What it answered.

    Raises
    ------
    TimeoutError
        If it takes longer.
    OSError
        If it cannot be started.
    """
    end = time.monotonic() + min(time_limit, threading.TIMEOUT_MAX / 2)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as process:
        try:
            return _converse(process, question, end, most_bytes)
        finally:
            _end(process)


def _converse(
    process: subprocess.Popen[bytes], question: bytes, end: float, most_bytes: int
) -> Answer:
    assert process.stdin is not None  # all three are pipes
    assert process.stdout is not None
    assert process.stderr is not None
    answer, errors = _Listener(process.stdout, most_bytes), _Listener(process.stderr, 0)
    threading.Thread(target=_ask, args=(process.stdin, question), daemon=True).start()
    for listener in (answer, errors):
        listener.start()
    for listener in (answer, errors):
        if answer.is_whole:
            listener.join(max(end - time.monotonic(), 0.0))
            if listener.is_alive():
                raise TimeoutError
    if not answer.is_whole:
        return Answer(bytes(answer.heard), False, 0, errors.n_lines)
    try:
        code = process.wait(max(end - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return Answer(bytes(answer.heard), True, code, errors.n_lines)


def _ask(pipe: IO[bytes], question: bytes) -> None:
    with suppress(OSError, ValueError):  # a program need not read to the end
        pipe.write(question)
        pipe.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started; without this, a hanging child lives on."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
