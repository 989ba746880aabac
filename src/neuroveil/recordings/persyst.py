"""Persyst recordings: a header of text (``.lay``) and samples beside it (``.dat``).

Read here and not through mne, whose reader takes no notice of gaps and needs
birth date, sex and handedness.
Nothing of the patient's section is read.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from neuroveil.recordings.contents import (
    FileChannel,
    FileContents,
    RawSegment,
    cut_at,
    gap_findings,
)
from neuroveil.recordings.options import ReadOptions
from neuroveil.types.recording import SignalArray

_DTYPES = {0: "<i2", 7: "<i4"}
_MAX_HEADER_BYTES = 64 << 20
_USED = frozenset({"fileinfo", "channelmap", "sampletimes"})
_DAY_SECONDS = 86_400.0
_REMEDY = "Export the recording again from Persyst, or as EDF+."

Sections = dict[str, list[tuple[str, str]]]


def open_persyst(path: Path, options: ReadOptions) -> FileContents:
    """Open a Persyst recording by its header.

    Parameters
    ----------
    path : Path
        The ``.lay`` file; the samples lie beside it.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    FileContents
        Channels in microvolts, cut where the table of sample times shows a gap.

    Raises
    ------
    RecordingError
        If the header does not say how the samples are stored, or they are not there.
    """
    sections = _sections(path)
    info = {key.lower(): value for key, value in sections["fileinfo"]}
    names = [key for key, _ in sections["channelmap"]]
    try:
        n_channels, dtype = int(info["waveformcount"]), _DTYPES[int(info["datatype"])]
        gain, sfreq = float(info["calibration"]), float(info["samplingrate"])
        header_bytes = int(info.get("headerlength", "0"))
        order = [int(value) for _, value in sections["channelmap"]]
    except (KeyError, ValueError):
        raise _damaged(options) from None
    if sorted(order) != list(range(1, n_channels + 1)) or header_bytes < 0:
        raise _damaged(options)
    if not (math.isfinite(gain) and gain != 0 and math.isfinite(sfreq) and sfreq > 0):
        raise _damaged(options)
    data = named_samples(path)
    if data is None:
        raise options.refusal(
            "the .dat file of the recording in the same folder", "none",
            "Keep the .lay and .dat files together.", code="part_missing",
        )  # fmt: skip
    # The table lists channels by name; the number after a name is its place in the samples.
    channels: list[FileChannel] = [FileChannel("", None, None)] * n_channels
    for name, place in zip(names, order, strict=True):
        channels[place - 1] = FileChannel(name, "uV", sfreq)
    stored = _Interleaved(data, dtype, n_channels, header_bytes)
    breaks = _breaks(sections["sampletimes"], sfreq, options)

    def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
        return cut_at(_PersystSegment(stored, indices, gain), breaks)

    gaps = gap_findings(len(segments((0,))))
    return FileContents("Persyst", tuple(channels), segments, ExitStack(), gaps)


def named_samples(path: Path) -> Path | None:
    """Find the samples in the header's own folder.

    Parameters
    ----------
    path : Path
        The ``.lay`` file.

    Returns
    -------
    Path or None
        By the name in the header, of which the folders are left out, since recorders write
        their own; then by the header's name. None where neither is there.
    """
    try:
        info = {key.lower(): value for key, value in _sections(path)["fileinfo"]}
    except OSError:
        return None
    stated = info.get("file", "").replace("\\", "/").rpartition("/")[2]
    for candidate in (path.parent / stated, path.with_suffix(".dat"), path.with_suffix(".DAT")):
        if candidate != path and candidate.is_file():
            return candidate
    return None


def _sections(path: Path) -> Sections:
    """Read the sections that are used; others are skipped unread."""
    with path.open("rb") as file:
        text = file.read(_MAX_HEADER_BYTES).decode("latin-1")
    sections: Sections = {name: [] for name in _USED}
    current = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("[") and stripped.endswith("]"):
            current = stripped[1:-1].lower()
        elif current in _USED and "=" in stripped:
            key, _, value = stripped.rpartition("=") if current == "channelmap" else (
                stripped.partition("=")
            )  # fmt: skip
            sections[current].append((key.strip(), value.strip()))
    return sections


def _damaged(options: ReadOptions) -> Exception:
    return options.refusal(
        "a Persyst header with number, names, places, type, rate and calibration of its channels",
        "one that lacks or contradicts some of them", _REMEDY, code="damaged",
    )  # fmt: skip


def _breaks(table: list[tuple[str, str]], sfreq: float, options: ReadOptions) -> tuple[int, ...]:
    """First samples after a gap, from rows of sample number and time of day in seconds."""
    try:
        rows = sorted((int(sample), float(seconds)) for sample, seconds in table)
    except ValueError:
        raise _damaged(options) from None
    breaks = []
    for (sample, seconds), (later, then) in pairwise(rows):
        apart = (then - seconds) % _DAY_SECONDS - (later - sample) / sfreq % _DAY_SECONDS
        apart = (apart + _DAY_SECONDS / 2) % _DAY_SECONDS - _DAY_SECONDS / 2
        # Times are rounded to milliseconds in some versions.
        if not abs(apart) <= max(1.0 / sfreq, 0.002):
            breaks.append(later)
    return tuple(breaks)


@dataclass(frozen=True)
class _Interleaved:
    """Samples on disk, all channels of a moment together."""

    path: Path
    dtype: str
    n_channels: int
    header_bytes: int

    @property
    def n_times(self) -> int:
        """Number of complete samples a channel."""
        width = self.n_channels * np.dtype(self.dtype).itemsize
        return max(0, self.path.stat().st_size - self.header_bytes) // width


@dataclass(frozen=True)
class _PersystSegment:
    """Chosen channels of the samples, in microvolts."""

    stored: _Interleaved
    indices: tuple[int, ...]
    gain: float

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return self.stored.n_times

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples in microvolts."""
        stored = self.stored
        width = stored.n_channels * np.dtype(stored.dtype).itemsize
        block = np.fromfile(
            stored.path, stored.dtype, (stop - start) * stored.n_channels,
            offset=stored.header_bytes + start * width,
        ).reshape(stop - start, stored.n_channels)  # fmt: skip
        return np.ascontiguousarray((block[:, list(self.indices)].T * self.gain), np.float32)
