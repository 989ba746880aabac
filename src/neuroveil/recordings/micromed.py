"""Micromed recordings (``.trc``, header type 4).

Layout as in the manufacturer's description of the System Plus file, header type 4, and in
the BSD-licensed readers of Neo and FieldTrip. Name, birth date and notes are not read.
"""

from __future__ import annotations

import struct
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

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

_HEADER_TYPE = 4
_UNITS = {-1: "nV", 0: "uV", 1: "mV", 2: "V"}
_DTYPES = {1: "u1", 2: "<u2", 4: "<u4"}
_ELECTRODE_BYTES = 128
_ZONES = {"order": 176, "electrodes": 192, "gaps": 240}
"""Where the descriptions of three areas stand: eight letters of name, position, length."""

_MAX_SEGMENTS = 100


@dataclass(frozen=True)
class _Layout:
    """Where the samples are and how they are stored."""

    offset: int
    n_channels: int
    dtype: str
    n_times: int


def open_micromed(path: Path, options: ReadOptions) -> FileContents:
    """Open a Micromed recording.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    FileContents
        Channels in the units that the file states, cut where it was interrupted.

    Raises
    ------
    RecordingError
        If the header is of another type or contradicts the file.
    """
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        if _read(file, 175, "<B")[0] != _HEADER_TYPE:
            raise options.refusal(
                "a Micromed file with header type 4", "another type",
                "Export the recording as EDF+.", code="unknown_format",
            )  # fmt: skip
        offset, n_channels, _, base_rate, width = _read(file, 138, "<IHHHH")
        size = file.seek(0, 2)
        if width not in _DTYPES or not n_channels or offset > size:
            raise _damaged(options)
        n_times = (size - offset) // (n_channels * width)
        layout = _Layout(offset, n_channels, _DTYPES[width], n_times)
        electrodes = _electrodes(file, n_channels, base_rate, options)
        channels = tuple(channel for channel, _, _ in electrodes)
        scales = np.array([(gain, ground) for _, gain, ground in electrodes])
        breaks = _breaks(file)

        def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
            return cut_at(_MicromedSegment(file, layout, indices, scales[list(indices)]), breaks)

        gaps = gap_findings(len(segments((0,))))
        return FileContents("Micromed", channels, segments, stack.pop_all(), gaps)


def _read(file: BinaryIO, position: int, layout: str) -> tuple[int, ...]:
    """Read numbers at a position."""
    file.seek(position)
    data = file.read(struct.calcsize(layout))
    return struct.unpack(layout, data)


def _damaged(options: ReadOptions) -> Exception:
    return options.refusal(
        "a Micromed header that fits its file", "one that does not",
        "Export the recording again, or as EDF+.", code="damaged",
    )  # fmt: skip


def _electrodes(
    file: BinaryIO, n_channels: int, base_rate: int, options: ReadOptions
) -> list[tuple[FileChannel, float, int]]:
    """Describe the channels with gain and ground of each."""
    order = _read(file, _read(file, _ZONES["order"] + 8, "<I")[0], f"<{n_channels}H")
    area = _read(file, _ZONES["electrodes"] + 8, "<I")[0]
    described = []
    for code in order:
        start = area + code * _ELECTRODE_BYTES
        file.seek(start + 2)
        label = file.read(6).split(b"\x00")[0].decode("latin-1").strip()
        reference = file.read(6).split(b"\x00")[0].decode("latin-1").strip()
        low, high, ground, bottom, top = _read(file, start + 14, "<5i")
        unit = _UNITS.get(_read(file, start + 34, "<h")[0])
        multiple = _read(file, start + 44, "<H")[0]
        if high < low or top == bottom or not multiple * base_rate:
            raise _damaged(options)
        gain = (top - bottom) / (high - low + 1)
        name = f"{label}-{reference}" if reference else label
        described.append((FileChannel(name, unit, float(multiple * base_rate)), gain, ground))
    if len({channel.sfreq for channel, _, _ in described}) != 1:
        raise options.refusal(
            "Micromed channels that share one sampling rate", "several rates",
            "Export the recording as EDF+.", code="different_rates",
        )  # fmt: skip
    return described


def _breaks(file: BinaryIO) -> tuple[int, ...]:
    """First samples of the stretches that the table of gaps lists, after the first."""
    position = _read(file, _ZONES["gaps"] + 8, "<I")[0]
    file.seek(position)
    numbers = np.frombuffer(file.read(8 * _MAX_SEGMENTS), "<u4")
    pairs = numbers[: numbers.size // 2 * 2].reshape(-1, 2).tolist()
    starts = []
    for began, sample in pairs:
        if not began and not sample:
            break
        starts.append(sample)
    return tuple(later for _, later in pairwise(starts))


@dataclass(frozen=True, eq=False)
class _MicromedSegment:
    """Chosen channels of the samples, in the units of the header."""

    file: BinaryIO
    layout: _Layout
    indices: tuple[int, ...]
    scales: np.ndarray[tuple[int, int], np.dtype[np.float64]]

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return self.layout.n_times

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples, in the file's units."""
        layout = self.layout
        width = np.dtype(layout.dtype).itemsize * layout.n_channels
        self.file.seek(layout.offset + start * width)
        block = np.frombuffer(self.file.read((stop - start) * width), layout.dtype)
        chosen = block.reshape(stop - start, layout.n_channels)[:, list(self.indices)]
        gains, grounds = self.scales.T
        return np.ascontiguousarray(((chosen - grounds) * gains).T, np.float32)
