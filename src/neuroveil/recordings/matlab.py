"""MATLAB files before version 7.3, read through pymatreader in a process of its own.

The reader below pymatreader is compiled code that a damaged file can crash, and a small
compressed file can unfold to more than the machine has. In a child process with limits,
either costs one file.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from neuroveil.recordings.contents import UNREADABLE_REMEDY, FileContents
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.variables import contents_of

MAX_SECONDS = 300.0
"""Longest time that the reader may take for one file."""

MAX_BYTES = 6 << 30
"""Most memory that the reader may ask for, in bytes (not enforced on Windows)."""


def open_matlab(path: Path, options: ReadOptions) -> FileContents:
    """Open a MATLAB 5 to 7.2 file; such files can only be read whole.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        What the study says where the file does not.

    Returns
    -------
    FileContents
        Channels and signal.

    Raises
    ------
    RecordingError
        If the file crashes its reader or exceeds its limits, or if it is not clear what in
        it is the signal, its names or its rate.
    """
    tree = _variables(path, options)
    with ExitStack() as stack:
        return contents_of(tree, "MATLAB", path, options, stack)


def _variables(path: Path, options: ReadOptions) -> dict[str, Any]:
    """Read all variables in a child process.

    The path goes through a pipe, since a command line can be seen by every user of the
    machine.
    """
    command = [sys.executable, "-m", "neuroveil.recordings.matlab_child"]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=environment,
    ) as child:  # fmt: skip
        assert child.stdin is not None
        assert child.stdout is not None
        timer = threading.Timer(MAX_SECONDS, child.kill)
        timer.start()
        try:
            child.stdin.write(b"%d\n" % MAX_BYTES + os.fsencode(path.absolute()))
            child.stdin.close()
            outcome, value = pickle.load(child.stdout)  # our own child wrote it
        except (EOFError, pickle.UnpicklingError, BrokenPipeError):
            outcome, value = "failed", "it ended without an answer"
        finally:
            timer.cancel()
            child.kill()
    if outcome == "read" and isinstance(value, dict):
        return value
    raise options.refusal(
        "a MATLAB file that its reader can read within its limits of time and memory",
        f"that it cannot ({value})", UNREADABLE_REMEDY,
    )  # fmt: skip
