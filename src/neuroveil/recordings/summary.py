"""What is in a recording, without reading it whole: for checking a study before a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuroveil.recordings.channels import parse_label
from neuroveil.recordings.opening import harmonise, open_contents
from neuroveil.recordings.options import ReadOptions
from neuroveil.types.recording import QualityFinding


@dataclass(frozen=True)
class RecordingSummary:
    """What was found in a recording. Private, like the recording.

    Parameters
    ----------
    file_format : str
        For example ``"EDF+C"``.
    n_file_channels : int
        Channels in the file, of any kind.
    ch_names : tuple of str
        Channels of the montage that are present.
    missing : tuple of str
        Channels of the montage that are not.
    eog_names : tuple of str
        Eye channels.
    sfreq : float
        Sampling rate in Hz.
    seconds : float
        Length over all segments, in seconds.
    n_segments : int
        Gap-free stretches.
    highpass_hz, lowpass_hz : float or None
        Filters that were applied before, in Hz.
    findings : tuple of QualityFinding
        What was noticed.
    """

    file_format: str
    n_file_channels: int
    ch_names: tuple[str, ...]
    missing: tuple[str, ...]
    eog_names: tuple[str, ...]
    sfreq: float
    seconds: float
    n_segments: int
    highpass_hz: float | None
    lowpass_hz: float | None
    findings: tuple[QualityFinding, ...]


def inspect_recording(path: Path, options: ReadOptions) -> RecordingSummary:
    """Look at a recording without reading it whole.

    Reads the header and eight pieces of one second, which is what the check of the unit
    needs. MATLAB files before version 7.3 have to be read whole.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Montage, unit and rates of the study.

    Returns
    -------
    RecordingSummary
        What an extraction would find.

    Raises
    ------
    RecordingError
        If an extraction would refuse the file, for the same reason.
    """
    contents = open_contents(path, options)
    with contents.resources:
        recording = harmonise(contents, options)
        return RecordingSummary(
            file_format=contents.file_format, n_file_channels=len(contents.channels),
            ch_names=recording.ch_names,
            missing=tuple(n for n in options.channels if n not in recording.ch_names),
            eog_names=recording.eog_names, sfreq=recording.sfreq, seconds=recording.seconds,
            n_segments=len(recording.segments), highpass_hz=recording.highpass_hz,
            lowpass_hz=recording.lowpass_hz, findings=recording.findings,
        )  # fmt: skip


def bipolar_channels(path: Path, options: ReadOptions) -> tuple[str, ...]:
    """List the pairs of electrodes that a bipolar recording holds.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        How to read it.

    Returns
    -------
    tuple of str
        Canonical names in the file's order, for example ``"F7-T7"``.

    Raises
    ------
    RecordingError
        If the file cannot be opened.
    """
    contents = open_contents(path, options)
    with contents.resources:
        labels = (parse_label(channel.label) for channel in contents.channels)
        return tuple(label.name for label in labels if label.kind == "bipolar")
