"""What mne reads, as neuroveil describes it; and FIF files."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.recordings.channels import ChannelKind
from neuroveil.recordings.contents import (
    FileChannel,
    FileContents,
    MatrixSegment,
    RawSegment,
    cut_at,
    gap_findings,
)
from neuroveil.recordings.options import ReadOptions
from neuroveil.types.recording import QualityFinding, SignalArray

_KINDS: dict[str, ChannelKind | None] = {
    "eeg": "eeg", "eog": "eog", "ecg": "ecg", "emg": "emg", "stim": "trigger", "misc": None,
}  # fmt: skip

_BREAKS = ("new segment", "boundary", "bad boundary", "edge boundary", "bad_acq_skip", "32766",
           "amplifier disconnected", "amplifier reconnected", "bad_disconnection")  # fmt: skip
"""How annotations of recorders and of mne begin that mark an interruption; 32766 (0x7FFE) is
the start of a new segment in the event table of GDF."""

_SKIPS = ("bad_acq_skip", "bad_disconnection")
"""How annotations begin that mark a stretch without a signal."""


def open_fif(path: Path, options: ReadOptions) -> FileContents:
    """Open a FIF file with a continuous recording or with epochs.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    FileContents
        Channels and signal; every epoch is a segment.

    Raises
    ------
    RecordingError
        If the file holds neither, or goes on in another file.
    """
    with _quiet():
        import mne

        kind = mne.what(path)
    if kind == "epochs":
        return _from_epochs(path)
    if kind != "raw":
        raise options.refusal(
            "a FIF file with a recording or epochs", "another kind of FIF file",
            "Save the recording itself.", code="unknown_format",
        )  # fmt: skip

    def read(mne: Any) -> Any:
        return mne.io.read_raw_fif(
            path, preload=False, allow_maxshield=True, on_split_missing="raise",
            verbose="CRITICAL",
        )  # fmt: skip

    def change(raw: Any, channels: tuple[FileChannel, ...]) -> tuple[FileChannel, ...]:
        if len(raw.filenames) > 1:
            raise options.refusal(
                "a recording in one file", f"one that is split over {len(raw.filenames)}",
                "Save every piece by itself, or the recording as EDF+.", code="split",
            )  # fmt: skip
        return channels

    return contents_from_raw(read, "FIF", change=change)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep warnings of readers to themselves: they quote paths and header fields."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def contents_from_raw(
    read: Callable[[Any], Any],
    file_format: str,
    *,
    change: Callable[[Any, tuple[FileChannel, ...]], tuple[FileChannel, ...]] | None = None,
    findings: tuple[QualityFinding, ...] = (),
) -> FileContents:
    """Describe a continuous recording that mne reads.

    Parameters
    ----------
    read : callable
        Takes the module ``mne`` and gives the opened recording.
    file_format : str
        Name of the format for a reader.
    change : callable, optional
        Takes the recording and the channels as mne describes them, and gives them as they
        are where mne is mistaken.
    findings : tuple of QualityFinding
        What was noticed about the file.

    Returns
    -------
    FileContents
        Channels and signal, cut where the recording was interrupted.
    """
    with ExitStack() as stack:
        with _quiet():
            import mne

            raw = read(mne)
        stack.callback(raw.close)
        breaks = _breaks(raw)
        channels = _channels(raw) if change is None else change(raw, _channels(raw))

        def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
            return _without_skips(cut_at(_MneSegment(raw, indices), breaks), _skips(raw))

        n_segments = len(segments((0,)))
        return FileContents(
            file_format, channels, segments, stack.pop_all(),
            (*findings, *gap_findings(n_segments)),
        )  # fmt: skip


def _from_epochs(path: Path) -> FileContents:
    """Describe epochs of mne; they are read at once, since they lie apart anyway."""
    with _quiet():
        import mne

        epochs = mne.read_epochs(path, preload=True, proj=False, verbose="CRITICAL")
        values = epochs.get_data(copy=False, verbose="CRITICAL")

    def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
        return tuple(MatrixSegment(epoch, indices) for epoch in values)

    return FileContents(
        "FIF epochs", _channels(epochs), segments, ExitStack(), gap_findings(len(values))
    )


def _channels(data: Any) -> tuple[FileChannel, ...]:
    """Describe the channels; mne has brought voltages to volts where it knew the unit."""
    info = data.info
    sfreq = float(info["sfreq"])
    highpass, lowpass = float(info["highpass"]) or None, float(info["lowpass"])
    volt = 107  # FIFF_UNIT_V of the FIFF standard
    return tuple(
        FileChannel(
            label=name, unit="V" if int(channel["unit"]) == volt else None, sfreq=sfreq,
            kind=_KINDS.get(kind, "other"), highpass_hz=highpass,
            lowpass_hz=lowpass if 0 < lowpass < sfreq / 2 - 1e-6 else None,
        )
        for name, channel, kind in zip(
            data.ch_names, info["chs"], data.get_channel_types(), strict=True
        )
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _MneSegment:
    """Chosen channels of a recording of mne, in volts."""

    raw: Any
    indices: tuple[int, ...]

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return int(self.raw.n_times)

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples as float32, in the file's units."""
        with _quiet():
            values, _ = self.raw[list(self.indices), start:stop]
        return np.ascontiguousarray(values, dtype=np.float32)


def _breaks(raw: Any) -> list[int]:
    """First samples after an interruption, and both ends of skipped stretches."""
    sfreq = float(raw.info["sfreq"])
    interruptions = [
        _sample(mark["onset"] - raw.first_time, sfreq)
        for mark in raw.annotations
        if str(mark["description"]).lower().startswith(_BREAKS)
    ]
    return interruptions + [edge for skip in _skips(raw) for edge in skip]


def _sample(seconds: float, sfreq: float) -> int:
    """First sample after a time; readers that mean a border put it half a sample before."""
    return math.floor(float(seconds) * sfreq + 0.5 + 1e-6)


def _skips(raw: Any) -> list[tuple[int, int]]:
    """Stretches that were never recorded and that mne fills with zeros."""
    sfreq, skips = float(raw.info["sfreq"]), []
    for mark in raw.annotations:
        if str(mark["description"]).lower().startswith(_SKIPS):
            first = _sample(mark["onset"] - raw.first_time, sfreq)
            skips.append((first, first + _sample(mark["duration"], sfreq)))
    return skips


def _without_skips(
    parts: tuple[RawSegment, ...], skips: list[tuple[int, int]]
) -> tuple[RawSegment, ...]:
    """Leave out the parts that were never recorded."""
    kept, position = [], 0
    for part in parts:
        if not any(a <= position and position + part.n_times <= b for a, b in skips):
            kept.append(part)
        position += part.n_times
    return tuple(kept)
