"""What a worker process does: one recording in, one cache file out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuroveil.errors import MachineError, RecordingError, StudyError
from neuroveil.pipeline.cache import write_features
from neuroveil.pipeline.machine import is_of_the_machine, machine_error
from neuroveil.recordings import ReadOptions, opened_recording
from neuroveil.signal import SignalSettings, extract_features
from neuroveil.types.recording import RecordingFeatures


@dataclass(frozen=True)
class Task:
    """One recording to do.

    Parameters
    ----------
    number : int
        Position among all recordings of the study, from 1.
    path : Path
        The recording. Private.
    target : Path
        Cache file to write.
    options : ReadOptions
        How to read it.
    settings : SignalSettings
        How to take features from it.
    """

    number: int
    path: Path
    target: Path
    options: ReadOptions
    settings: SignalSettings


@dataclass(frozen=True)
class Outcome:
    """How a task ended.

    Parameters
    ----------
    number : int
        The task's number.
    error : RecordingError or MachineError, optional
        Why the recording cannot be used, or what kept the machine from trying; None where
        it is done.
    """

    number: int
    error: RecordingError | MachineError | None = None


def run_task(task: Task) -> Outcome:
    """Read a recording, take its features and write them to the cache.

    Parameters
    ----------
    task : Task
        What to do.

    Returns
    -------
    Outcome
        Also for a file that cannot be read: one file never ends a cohort.
    """
    try:
        features = recording_features(task)
    except (RecordingError, MachineError) as error:
        return Outcome(task.number, error)
    except StudyError:
        raise  # a mistake in the settings is the same for every file
    except (MemoryError, OSError) as error:
        if is_of_the_machine(error):
            return Outcome(task.number, machine_error(task.options.role, error))
        return Outcome(task.number, _unreadable(task, type(error).__name__))
    except Exception as error:  # a reader's own failure is one bad file
        return Outcome(task.number, _unreadable(task, type(error).__name__))
    try:
        write_features(task.target, features)
    except OSError as error:
        return Outcome(task.number, machine_error(task.options.role, error))
    return Outcome(task.number)


def recording_features(task: Task) -> RecordingFeatures:
    """Read a recording and take its features.

    Parameters
    ----------
    task : Task
        What to do; its target is not written.

    Returns
    -------
    RecordingFeatures
        Sums and counts over windows.

    Raises
    ------
    RecordingError
        If the recording cannot be used.
    """
    with opened_recording(task.path, task.options) as recording:
        return extract_features(recording, task.settings)


def crashed(task: Task) -> Outcome:
    """Give the outcome of a task that brings its process down.

    Parameters
    ----------
    task : Task
        Whose process ended.

    Returns
    -------
    Outcome
        With a refusal.
    """
    return Outcome(task.number, task.options.refusal(
        "a recording that can be read", "one that crashes its reader",
        "Export the recording again in EDF, or take it off the roster's file list.",
        code="reader_failed",
    ))  # fmt: skip


def _unreadable(task: Task, kind: str) -> RecordingError:
    # The reader's own message may quote file names or header text, so it is not repeated.
    return RecordingError(
        task.options.role, "a recording that can be read", f"a reader failure ({kind})",
        "Export the recording again, or take it off the roster's file list.", code="reader_failed",
    )  # fmt: skip
