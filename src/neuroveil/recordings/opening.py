"""One way into every file: find out what it is, open it, harmonise it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from neuroveil.errors import NeuroveilError
from neuroveil.recordings.contents import UNREADABLE_REMEDY, FileContents, MicrovoltSegment
from neuroveil.recordings.edf import open_edf
from neuroveil.recordings.hdf5 import open_hdf5
from neuroveil.recordings.matlab import open_matlab
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.plausibility import check_amplitude
from neuroveil.recordings.selection import select_channels
from neuroveil.recordings.through_mne import open_brainvision, open_fif
from neuroveil.types.recording import Recording

SUPPORTED_SUFFIXES: frozenset[str] = frozenset({
    ".edf", ".rec", ".bdf", ".vhdr", ".set", ".fif", ".mat", ".h5", ".hdf5", ".hdf", ".he5",
})  # fmt: skip
"""File name endings that a roster looks for. What a file is, its content decides."""

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HDF5_OFFSETS = (0, 512, 1024, 2048)


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
    """
    try:
        name, opener = _format_of(path, options)
        return opener(path, options)
    except NeuroveilError:
        raise
    except OSError as error:
        raise options.refusal(
            "a file that can be opened", f"an error of the system ({type(error).__name__})",
            "Check that the file exists and may be read.",
        ) from None  # fmt: skip
    except Exception as error:
        # Readers of others raise anything on damaged files, and quote the file in doing so.
        raise options.refusal(
            f"a {name} file", f"one its reader cannot make sense of ({type(error).__name__})",
            UNREADABLE_REMEDY,
        ) from None  # fmt: skip


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
            "a recording with samples", "none", "Leave this file out of the study."
        )
    amplitude = check_amplitude(segments, len(chosen.ch_names), chosen.sfreq, options)
    return Recording(
        chosen.ch_names, chosen.eog_names, chosen.sfreq, segments, chosen.highpass_hz,
        chosen.lowpass_hz, options.montage, (*chosen.findings, *amplitude),
    )  # fmt: skip


def _format_of(
    path: Path, options: ReadOptions
) -> tuple[str, Callable[[Path, ReadOptions], FileContents]]:
    """Tell the format by the first bytes, not by the name."""
    with path.open("rb") as file:
        start = file.read(_HDF5_OFFSETS[-1] + 8)
    if not start:
        raise options.refusal("a recording", "an empty file", "Leave it out, or export it again.")
    if any(start[o : o + 8] == _HDF5_SIGNATURE for o in _HDF5_OFFSETS):
        return "HDF5 or MATLAB 7.3", open_hdf5
    if start.startswith((b"MATLAB 5.0", b"MATLAB 7")):
        return "MATLAB", open_matlab
    if start.lstrip(b"\xef\xbb\xbf").startswith(b"Brain Vision"):
        return "BrainVision", open_brainvision
    if start.startswith(b"\x00\x00\x00\x64\x00\x00\x00\x1f"):
        return "FIF", open_fif
    if start.startswith(b"\xffBIOSEMI") or path.suffix.lower() in (".edf", ".bdf", ".rec"):
        return "EDF or BDF", open_edf
    if start[:1] == b"0" and not start[1:8].strip(b" \x00"):
        return "EDF", open_edf
    raise options.refusal(
        "EDF, BDF, BrainVision, EEGLAB, FieldTrip, MATLAB, HDF5 or FIF",
        "a file of another kind", "Export the recording as EDF+.",
    )  # fmt: skip
