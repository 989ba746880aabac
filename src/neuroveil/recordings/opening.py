"""One way into every file: find out what it is, open it, harmonise it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neuroveil.recordings.apart import open_apart
from neuroveil.recordings.contents import FileContents, MicrovoltSegment
from neuroveil.recordings.formats import OWN_READERS, recognise
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.plausibility import check_amplitude
from neuroveil.recordings.readers import open_directly
from neuroveil.recordings.selection import select_channels
from neuroveil.types.recording import Recording


@contextmanager
def opened_recording(path: Path, options: ReadOptions) -> Iterator[Recording]:
    """Open a recording of any supported format for as long as the context lasts.

    The signal is read when a segment is asked for it. Reading EDF and BDF needs numpy only.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Montage, unit and rates of the study, and what errors call the file.

    Yields
    ------
    Recording
        Channels of the montage that are present, float32 in microvolts, in gap-free
        segments.

    Raises
    ------
    RecordingError
        If the file cannot be read right; it names the file by ``options.role`` only.
    """
    contents = open_contents(path, options)
    with contents.resources:
        yield harmonise(contents, options)


def open_contents(path: Path, options: ReadOptions) -> FileContents:
    """Open a file as it is, without choosing channels.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        What the study says about its files.

    Returns
    -------
    FileContents
        The file's own channels and signal; its ``resources`` have to be closed.

    Raises
    ------
    RecordingError
        If the file is missing, of no supported kind, or damaged.
    MachineError
        If the machine, and not the file, kept its reader from answering.
    """
    try:
        reader = recognise(path, options)
    except OSError as error:
        raise options.refusal(
            "a file that can be opened", f"an error of the system ({type(error).__name__})",
            "Check that the file exists and may be read.", code="unreadable",
        ) from None  # fmt: skip
    if reader in OWN_READERS:
        return open_directly(reader, path, options)
    return open_apart(reader, path, options)


def harmonise(contents: FileContents, options: ReadOptions) -> Recording:
    """Choose the study's channels and bring them to microvolts.

    Parameters
    ----------
    contents : FileContents
        An opened file.
    options : ReadOptions
        What the study says.

    Returns
    -------
    Recording
        Reads from the opened file.

    Raises
    ------
    RecordingError
        If no channel can be used, there is no signal, or its unit cannot be right.
    """
    chosen = select_channels(contents, options)
    segments = tuple(
        MicrovoltSegment(raw, chosen.factors, options)
        for raw in contents.segments(chosen.indices)
        if raw.n_times
    )
    if not segments:
        raise options.refusal(
            "a recording with samples",
            "none",
            "Leave this file out of the study.",
            code="no_signal",
        )
    amplitude = check_amplitude(segments, len(chosen.ch_names), chosen.sfreq, options)
    return Recording(
        chosen.ch_names, chosen.eog_names, chosen.sfreq, segments, chosen.highpass_hz,
        chosen.lowpass_hz, options.montage, (*chosen.findings, *amplitude),
    )  # fmt: skip
