"""Reading in a process of its own, with limits of time and memory.

Readers of many formats are compiled code, or trust what a header says: a damaged file can
crash them, keep them busy for ever, or unfold to more than the machine has. In a process of
its own each of these costs one file. Requests go to the process and answers come back
through pipes, as JSON and plain samples, so that nothing a file says can become code here.
No signal is written to disk. See :mod:`neuroveil.recordings.child` for the other end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from neuroveil.errors import MachineError, RecordingError
from neuroveil.recordings.contents import (
    UNREADABLE_REMEDY,
    FileChannel,
    FileContents,
    RawSegment,
)
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.parts import parts_of
from neuroveil.types.recording import QualityFinding, SignalArray

MAX_CPU_SECONDS = 600
"""Most processor time that a reader may use for one file, in seconds (not on Windows)."""

MAX_SECONDS = 1800.0
"""Longest time that a reader may take for one answer, in seconds.

Processor time is the file's own and ends in a refusal of the file. Time on the clock also
depends on what else the machine does, and ends in an error of the machine."""

MAX_BYTES = 6 << 30
"""Most memory that a reader may ask for, in bytes (not on Windows). On small machines it is
two fifths of the memory that there is."""

MAX_UNFOLDING = 300
"""How many times larger than the file a signal of over a gigabyte may be. Lossless packing
of EEG reaches 10; a file beyond this limit was made to fill memory or time."""

_LARGE_BYTES = 1 << 30
_MAX_LINE = 1 << 26
_SIGXCPU = 24


def open_apart(reader: str, path: Path, options: ReadOptions) -> FileContents:
    """Open a file with a reader in a process of its own.

    Parameters
    ----------
    reader : str
        A key of :data:`neuroveil.recordings.readers.READERS`.
    path : Path
        The file.
    options : ReadOptions
        What the study says about its files.

    Returns
    -------
    FileContents
        The process ends when its ``resources`` are closed.

    Raises
    ------
    RecordingError
        If the reader refuses the file, crashes, or exceeds a limit.
    MachineError
        If it took too long on the clock, or the system ended the process.
    """
    with ExitStack() as stack:
        child = ReaderProcess(options)
        stack.callback(child.close)
        found = child.ask({
            "reader": reader, "path": str(path.absolute()), "options": asdict(options),
            "max_bytes": _memory_limit(), "max_cpu_seconds": MAX_CPU_SECONDS,
        })  # fmt: skip
        channels = tuple(FileChannel(**channel) for channel in found["channels"])
        findings = tuple(QualityFinding(**finding) for finding in found["findings"])
        most = MAX_UNFOLDING * sum(part.stat().st_size for part in parts_of(path))

        def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
            lengths = [int(n) for n in child.ask({"segments": indices})["lengths"]]
            if min(lengths, default=0) < 0:
                raise child.refusal("the length of its signal is impossible")
            if sum(lengths) * len(indices) * 4 > max(_LARGE_BYTES, most):
                raise child.refusal(f"it unfolds to over {MAX_UNFOLDING} times its size")
            return tuple(
                _RemoteSegment(child, indices, number, n) for number, n in enumerate(lengths)
            )

        return FileContents(
            str(found["file_format"]), channels, segments, stack.pop_all(), findings
        )


class ReaderProcess:
    """One process that reads one file.

    Parameters
    ----------
    options : ReadOptions
        For the role in errors.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        # Removed from here, since a reader that crashes removes nothing.
        self._scratch = TemporaryDirectory(prefix="neuroveil-", ignore_cleanup_errors=True)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        # The path goes through the pipe: every user of the machine can see command lines.
        self._child = subprocess.Popen(
            [sys.executable, "-m", "neuroveil.recordings.child"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=os.environ | threads | {
                "MNE_DONTWRITE_HOME": "true", "TMPDIR": self._scratch.name,
            },
        )  # fmt: skip

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for the answer.

        Parameters
        ----------
        request : dict
            See :mod:`neuroveil.recordings.child`.

        Returns
        -------
        dict
            The answer.

        Raises
        ------
        RecordingError
            If there is none, or the reader refuses.
        MachineError
            If it took too long on the clock, or the system ended the process.
        """
        answer, _ = self._exchange(request, None)
        return answer

    def ask_samples(self, request: dict[str, Any], shape: tuple[int, int]) -> SignalArray:
        """Send a request that is answered with samples.

        Parameters
        ----------
        request : dict
            See :mod:`neuroveil.recordings.child`.
        shape : tuple of int
            Number of channels and of samples a channel.

        Returns
        -------
        ndarray of float32, shape (n_channels, n_times)
            In the units of the file.

        Raises
        ------
        RecordingError
            If there is no such answer.
        MachineError
            As above.
        """
        _, samples = self._exchange(request, shape)
        if samples is None:
            raise self.refusal("it ended without an answer")
        return samples

    def refusal(self, why: str) -> RecordingError:
        """Make the error for a reader that failed.

        Parameters
        ----------
        why : str
            What it did.

        Returns
        -------
        RecordingError
            To be raised.
        """
        return self._options.refusal(
            "a file that its reader can read within its limits of time and memory",
            f"that it cannot ({why})", UNREADABLE_REMEDY, code="reader_failed",
        )  # fmt: skip

    def close(self) -> None:
        """End the process."""
        self._child.kill()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(OSError):  # what stood in the buffer no longer has a reader
                    pipe.close()
        self._child.wait()
        self._scratch.cleanup()

    def _exchange(
        self, request: dict[str, Any], shape: tuple[int, int] | None
    ) -> tuple[dict[str, Any], SignalArray | None]:
        """Ask once; the process is killed if the answer takes too long."""
        expired = threading.Event()
        timer = threading.Timer(MAX_SECONDS, self._expire, (expired,))
        timer.daemon = True
        timer.start()
        try:
            answer = self._answer(request)
            samples = self._samples(shape) if shape is not None and "samples" in answer else None
        except (OSError, EOFError, ValueError):
            raise self._ended(expired.is_set()) from None
        finally:
            timer.cancel()
        if "refused" in answer:
            raise self._options.refusal(**answer["refused"])
        if "failed" in answer:
            raise self.refusal(str(answer["failed"]))
        return answer, samples

    def _ended(self, expired: bool) -> RecordingError | MachineError:
        """Tell a reader that the file brought down from one that the machine ended."""
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(5)
        # The system kills without a warning where memory runs out, whoever took it.
        killed = os.name == "posix" and self._child.returncode == -9
        if expired or killed:
            return MachineError(
                self._options.role, "a machine with time and memory to read this file",
                "that reading took too long" if expired else "that the system ended the reader",
                "Run again when the machine has less to do; finished recordings are kept.",
            )  # fmt: skip
        if os.name == "posix" and self._child.returncode == -_SIGXCPU:
            return self.refusal("it needs too much time")
        return self.refusal("it ended without an answer")

    def _expire(self, expired: threading.Event) -> None:
        """End a process that takes too long."""
        expired.set()
        self._child.kill()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one line and read one line."""
        to_child, from_child = self._child.stdin, self._child.stdout
        assert to_child is not None
        assert from_child is not None
        to_child.write(json.dumps(request).encode() + b"\n")
        to_child.flush()
        line = from_child.readline(_MAX_LINE)
        answer = json.loads(line) if line.endswith(b"\n") else None
        if not isinstance(answer, dict):
            raise EOFError
        return answer

    def _samples(self, shape: tuple[int, int]) -> SignalArray:
        """Read exactly the samples that were asked for."""
        from_child = self._child.stdout
        assert from_child is not None
        values = np.empty(shape, np.float32)
        rest = values.reshape(-1).view(np.uint8).data
        while rest:
            n = from_child.readinto(rest)  # type: ignore[attr-defined]
            if not n:
                raise EOFError
            rest = rest[n:]
        return values


@dataclass(frozen=True, eq=False)
class _RemoteSegment:
    """A stretch of signal that the reader's process holds."""

    child: ReaderProcess
    indices: tuple[int, ...]
    number: int
    n_times: int

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples, in the file's units."""
        request = {"indices": self.indices, "read": [self.number, start, stop]}
        return self.child.ask_samples(request, (len(self.indices), stop - start))


def _memory_limit() -> int:
    """Give the limit of memory in bytes: less than half of a small machine."""
    try:
        present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return MAX_BYTES
    return min(MAX_BYTES, present * 2 // 5) if present > 0 else MAX_BYTES
