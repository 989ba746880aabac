"""Look into many recordings at once: headers and a few seconds of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from neuroveil.errors import MachineError, RecordingError
from neuroveil.pipeline.machine import is_of_the_machine, machine_error
from neuroveil.pipeline.pool import run_tasks
from neuroveil.recordings import ReadOptions, RecordingSummary, inspect_recording

FEW = 64
"""Up to so many recordings are looked at without starting processes."""


@dataclass(frozen=True)
class Look:
    """One recording to look into.

    Parameters
    ----------
    number : int
        Position among all recordings of the study, from 1.
    path : Path
        The recording. Private.
    options : ReadOptions
        How to read it.
    """

    number: int
    path: Path
    options: ReadOptions


@dataclass(frozen=True)
class Seen:
    """What was found in a recording.

    Parameters
    ----------
    number : int
        The recording's number.
    summary : RecordingSummary, optional
        None where it cannot be used.
    error : RecordingError or MachineError, optional
        Why it cannot be used, or what kept the machine from looking.
    """

    number: int
    summary: RecordingSummary | None = None
    error: RecordingError | MachineError | None = None


def look_into(look: Look) -> Seen:
    """Look into one recording.

    Parameters
    ----------
    look : Look
        Which one, and how.

    Returns
    -------
    Seen
        Also for a file that cannot be read.
    """
    try:
        return Seen(look.number, inspect_recording(look.path, look.options))
    except (RecordingError, MachineError) as error:
        return Seen(look.number, error=error)
    except (MemoryError, OSError) as error:
        if is_of_the_machine(error):
            return Seen(look.number, error=machine_error(look.options.role, error))
        return failed(look)


def failed(look: Look) -> Seen:
    """Give the outcome for a recording that brings its reader down.

    Parameters
    ----------
    look : Look
        Which one.

    Returns
    -------
    Seen
        With a refusal.
    """
    return Seen(look.number, error=look.options.refusal(
        "a recording that can be read", "one that crashes its reader",
        "Export the recording again in EDF, or take it off the roster's file list.",
        code="reader_failed",
    ))  # fmt: skip


def look_into_all(looks: Iterable[Look], total: int) -> Iterator[Seen]:
    """Look into many recordings with all cores.

    Parameters
    ----------
    looks : iterable of Look
        Consumed as processes become free.
    total : int
        How many there are.

    Yields
    ------
    Seen
        One a recording, as they are done.
    """
    if total <= FEW:
        yield from map(look_into, looks)
    else:
        yield from run_tasks(looks, os.cpu_count() or 1, look_into, failed)
