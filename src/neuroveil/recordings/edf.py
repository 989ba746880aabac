"""Signals of EDF, EDF+, BDF and BDF+ files, read block by block.

Blocks are read into memory when asked and not mapped: pages of a mapped file count as memory
of the process for as long as the recording lasts, and a file that shrinks while it is mapped
kills the process instead of raising an error.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from neuroveil.recordings.contents import FileChannel, FileContents, RawSegment, gap_findings
from neuroveil.recordings.edf_gaps import gap_free_runs
from neuroveil.recordings.edf_header import EdfHeader, EdfSignal, read_edf_header
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.prefilter import parse_prefiltering
from neuroveil.types.recording import QualityFinding, SignalArray

MAX_BLOCK_BYTES = 1 << 22
"""Records longer than this are read channel by channel instead of whole, in bytes."""


def open_edf(path: Path, options: ReadOptions) -> FileContents:
    """Open an EDF or BDF file; only its header is read (and record times of EDF+D).

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        For the role in errors and for the sampling rate where the header has none.

    Returns
    -------
    FileContents
        Channels in the file's order; annotation channels are among them.

    Raises
    ------
    RecordingError
        If the header cannot be relied on or there is no data.
    """
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        header = read_edf_header(file, options)
        size = file.seek(0, 2)
        n_records, findings = _usable_records(header, size, options)
        runs = _runs(file, header, n_records, options)
        findings.extend(gap_findings(len(runs)))

        def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
            return tuple(EdfSegment(file, header, first, last, indices) for first, last in runs)

        return FileContents(
            header.file_format, _channels(header), segments, stack.pop_all(), tuple(findings)
        )


def _channels(header: EdfHeader) -> tuple[FileChannel, ...]:
    """Describe the signals for the selection of channels."""
    lengths = Counter(s.n_samples for s in header.signals if not s.is_annotation)
    usual = lengths.most_common(1)[0][0] if lengths else 0
    return tuple(_channel(signal, header, usual) for signal in header.signals)


def _channel(signal: EdfSignal, header: EdfHeader, usual: int) -> FileChannel:
    """Describe a signal; ``usual`` is the number of samples that most have in a record."""
    highpass, lowpass = parse_prefiltering(signal.prefiltering)
    problem = None
    if signal.n_samples == 0:
        problem = "it has no samples"
    elif header.record_seconds == 0 and signal.n_samples != usual:
        problem = "its sampling rate cannot be known without a record duration"
    elif signal.gain is None:
        problem = "its calibration (physical and digital range) is impossible"
    return FileChannel(
        label=signal.label, unit=signal.unit,
        sfreq=signal.n_samples / header.record_seconds if header.record_seconds else None,
        kind="annotation" if signal.is_annotation else None,
        highpass_hz=highpass, lowpass_hz=lowpass, problem=problem,
    )  # fmt: skip


def _usable_records(
    header: EdfHeader, size: int, options: ReadOptions
) -> tuple[int, list[QualityFinding]]:
    """Compare the declared number of records with what the file holds.

    More than declared is left alone: nobody knows what stands behind the recording. Fewer,
    or an unknown number, are counted.
    """
    if header.record_bytes == 0:
        raise options.refusal(
            "signals with samples",
            "none in the header",
            "Leave this file out of the study.",
            code="no_signal",
        )
    present, rest = divmod(max(0, size - header.header_bytes), header.record_bytes)
    if present == 0:
        raise options.refusal(
            "at least one complete data record", "none in the file",
            "The recording is empty or was cut off. Leave this file out of the study.",
            code="no_signal",
        )  # fmt: skip
    findings: list[QualityFinding] = []
    if header.decimal_comma:
        findings.append(QualityFinding("decimal_comma", "Header numbers have a decimal comma."))
    if any(s.gain is not None and s.gain < 0 for s in header.signals):
        findings.append(QualityFinding("inverted_polarity", "Signals are stored inverted."))
    declared = header.n_records
    if declared <= 0:
        findings.append(QualityFinding(
            "record_count_unknown", "The header does not say how long the recording is; the "
            "records in the file were counted.", count=present,
        ))  # fmt: skip
    elif declared < present or (declared == present and rest):
        findings.append(QualityFinding(
            "data_beyond_end", "There is more in the file than the header declares; it is not "
            "read.", count=present - declared,
        ))  # fmt: skip
    elif declared > present:
        findings.append(
            QualityFinding(
                "truncated", "The file ends before the recording does.", count=declared - present
            )
        )
    return (min(declared, present) if declared > 0 else present), findings


def _runs(
    file: BinaryIO, header: EdfHeader, n_records: int, options: ReadOptions
) -> tuple[tuple[int, int], ...]:
    """Runs of records without a gap, as (first, behind the last)."""
    if header.file_format.endswith("+D"):
        return gap_free_runs(file, header, n_records, options)
    return ((0, n_records),)


@dataclass(frozen=True, eq=False)
class EdfSegment:
    """A run of data records of some signals that share a rate; values in physical units.

    Parameters
    ----------
    file : binary file
        The open file.
    header : EdfHeader
        Its layout.
    first, last : int
        The run of records; ``last`` is behind it.
    indices : tuple of int
        The chosen signals.
    """

    file: BinaryIO
    header: EdfHeader
    first: int
    last: int
    indices: tuple[int, ...]

    @property
    def _record_times(self) -> int:
        """Samples a channel in one record."""
        return self.header.signals[self.indices[0]].n_samples

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return (self.last - self.first) * self._record_times

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples ``start`` up to but not including ``stop``.

        Parameters
        ----------
        start, stop : int
            Sample indices, ``0 <= start <= stop <= n_times``.

        Returns
        -------
        ndarray of float32, shape (n_channels, stop - start)
            Signal in the physical units that the header states.
        """
        if self.header.record_bytes > MAX_BLOCK_BYTES:
            return self._read_by_channel(start, stop)
        times = self._record_times
        begin, end = start // times, math.ceil(stop / times)
        samples = self.header.record_samples
        block = self._samples((self.first + begin) * samples, (end - begin) * samples)
        block = block.reshape(end - begin, samples)
        values = np.empty((len(self.indices), (end - begin) * times), np.float32)
        for row, index in enumerate(self.indices):
            first = self.header.first_samples[index]
            self._scale(index, block[:, first : first + times], values[row].reshape(-1, times))
        return values[:, start - begin * times : stop - begin * times]

    def _read_by_channel(self, start: int, stop: int) -> SignalArray:
        """Read only the samples that were asked for, where records are very long."""
        times = self._record_times
        values = np.empty((len(self.indices), stop - start), np.float32)
        for record in range(start // times, math.ceil(stop / times)):
            low, high = max(start, record * times), min(stop, (record + 1) * times)
            for row, index in enumerate(self.indices):
                position = (self.first + record) * self.header.record_samples
                position += self.header.first_samples[index] + low - record * times
                samples = self._samples(position, high - low)
                self._scale(index, samples, values[row, low - start : high - start])
        return values

    def _scale(self, index: int, samples: npt.NDArray[np.signedinteger], out: SignalArray) -> None:
        """Turn digital into physical values; 24 bits fit a float32 without loss."""
        signal = self.header.signals[index]
        gain, offset = signal.gain or 0.0, signal.offset or 0.0
        np.multiply(samples, np.float32(gain), out=out, dtype=np.float32, casting="unsafe")
        if offset:
            out += np.float32(offset)

    def _samples(self, position: int, count: int) -> npt.NDArray[np.signedinteger]:
        """Read digital values from a position counted in samples behind the header."""
        width = self.header.sample_bytes
        self.file.seek(self.header.header_bytes + position * width)
        data = self.file.read(count * width)
        if len(data) != count * width:
            raise EOFError("the file became shorter while it was read")
        raw = np.frombuffer(data, np.uint8)
        if width == 2:
            return raw.view("<i2")
        wide = np.zeros((count, 4), np.uint8)
        wide[:, 1:] = raw.reshape(count, 3)
        shifted: npt.NDArray[np.signedinteger] = wide.view("<i4")[:, 0] >> 8
        return shifted
