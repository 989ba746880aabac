"""What every reader gives: channels as the file has them, and stretches of raw signal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt

from neuroveil.recordings.channels import ChannelKind
from neuroveil.recordings.options import ReadOptions
from neuroveil.types.recording import FloatArray, QualityFinding, SignalArray

UNREADABLE_REMEDY = "Export the recording again, or leave this file out of the study."


@dataclass(frozen=True)
class FileChannel:
    """One channel as the file describes it.

    Parameters
    ----------
    label : str
        The file's own label. Private: never in a message.
    unit : str or bytes or None
        The file's own spelling of the unit; None or blank where it states none.
    sfreq : float or None
        Sampling rate in Hz; None where the file states none.
    kind : str, optional
        Kind that the file declares, where it does.
    highpass_hz, lowpass_hz : float, optional
        Filters that the file declares, in Hz.
    problem : str, optional
        Why the channel cannot be used, for example ``"its calibration is impossible"``.
    """

    label: str
    unit: str | bytes | None
    sfreq: float | None
    kind: ChannelKind | None = None
    highpass_hz: float | None = None
    lowpass_hz: float | None = None
    problem: str | None = None


class RawSegment(Protocol):
    """A gap-free stretch of the chosen channels, in the units of the file."""

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        ...

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples ``start`` up to but not including ``stop``.

        Parameters
        ----------
        start, stop : int
            Sample indices, ``0 <= start <= stop <= n_times``.

        Returns
        -------
        ndarray of float32, shape (n_channels, stop - start)
            Signal in the units of the file.
        """
        ...


SegmentMaker = Callable[[tuple[int, ...]], tuple[RawSegment, ...]]


@dataclass(frozen=True, eq=False)
class FileContents:
    """An opened file before it is harmonised.

    Parameters
    ----------
    file_format : str
        Name of the format for a reader, for example ``"EDF+C"``.
    channels : tuple of FileChannel
        All channels in the file's order.
    segments : callable
        Makes the stretches of signal of some channels (given by index; they share one
        sampling rate) in time order.
    resources : ExitStack
        What has to be closed in the end.
    findings : tuple of QualityFinding
        What was noticed about the file's structure.
    """

    file_format: str
    channels: tuple[FileChannel, ...]
    segments: SegmentMaker
    resources: ExitStack
    findings: tuple[QualityFinding, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class MicrovoltSegment:
    """A stretch of signal in microvolts, read when asked; a ``ChunkSource``.

    Parameters
    ----------
    raw : RawSegment
        The chosen channels in the file's units.
    factors : ndarray of float64, shape (n_channels,)
        Microvolts per file unit.
    options : ReadOptions
        For the role in errors.
    """

    raw: RawSegment
    factors: FloatArray
    options: ReadOptions

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return len(self.factors)

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return self.raw.n_times

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples ``start`` up to but not including ``stop``.

        Parameters
        ----------
        start, stop : int
            Sample indices, ``0 <= start <= stop <= n_times``.

        Returns
        -------
        ndarray of float32, shape (n_channels, stop - start)
            Signal in microvolts.

        Raises
        ------
        IndexError
            If the indices lie outside the segment.
        RecordingError
            If the file cannot be read there.
        """
        if not 0 <= start <= stop <= self.n_times:
            raise IndexError(f"samples {start} to {stop} of a segment of {self.n_times}")
        if start == stop:
            return np.empty((self.n_channels, 0), np.float32)
        try:
            # What leaves the range of float32 becomes infinite; like NaN, it is for the
            # rejection of windows to find.
            with np.errstate(over="ignore", invalid="ignore"):
                values = self.raw.read(start, stop)
                if bool((self.factors != 1.0).any()):
                    values *= self.factors[:, np.newaxis].astype(np.float32)
        except (OSError, EOFError, ValueError, RuntimeError) as error:
            raise self.options.refusal(
                "samples that can be read", f"an error of the reader ({type(error).__name__})",
                "The file may be damaged or was changed while it was read. " + UNREADABLE_REMEDY,
                code="reader_failed",
            ) from None  # fmt: skip
        return values


@dataclass(frozen=True, eq=False)
class MatrixSegment:
    """Chosen channels of a matrix in memory, on disk or in an HDF5 file.

    Parameters
    ----------
    matrix : array_like, two-dimensional
        Anything that can be sliced like an array.
    indices : tuple of int
        The chosen channels.
    channels_first : bool
        Whether the matrix is channels x samples.
    gains : ndarray of float64, shape (n_channels,), optional
        File units per stored unit, for integer samples.
    """

    matrix: npt.NDArray[np.generic]
    indices: tuple[int, ...]
    channels_first: bool = True
    gains: FloatArray | None = None

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return int(self.matrix.shape[1 if self.channels_first else 0])

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples ``start`` up to but not including ``stop``.

        Parameters
        ----------
        start, stop : int
            Sample indices, ``0 <= start <= stop <= n_times``.

        Returns
        -------
        ndarray of float32, shape (n_channels, stop - start)
            Signal in the units of the file.
        """
        values = np.empty((len(self.indices), stop - start), np.float32)
        if self.channels_first:
            for row, index in enumerate(self.indices):
                self._put(values, row, self.matrix[index, start:stop])
        else:
            block = self.matrix[start:stop, :]
            for row, index in enumerate(self.indices):
                self._put(values, row, block[:, index])
        return values

    def _put(self, values: SignalArray, row: int, samples: npt.NDArray[np.generic]) -> None:
        """Store one channel, scaled in double precision before it is rounded."""
        if self.gains is None:
            values[row] = samples
        else:
            values[row] = samples * self.gains[row]


@dataclass(frozen=True, eq=False)
class PartOfSegment:
    """A stretch of a longer one, between two interruptions.

    Parameters
    ----------
    whole : RawSegment
        What it is cut from.
    first, last : int
        Its first sample and the one behind its last.
    """

    whole: RawSegment
    first: int
    last: int

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return self.last - self.first

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples ``start`` up to but not including ``stop``.

        Parameters
        ----------
        start, stop : int
            Sample indices, ``0 <= start <= stop <= n_times``.

        Returns
        -------
        ndarray of float32, shape (n_channels, stop - start)
            Signal in the units of the file.
        """
        return self.whole.read(self.first + start, self.first + stop)


def cut_at(whole: RawSegment, breaks: Iterable[int]) -> tuple[RawSegment, ...]:
    """Cut a stretch of signal where the recording was interrupted.

    Parameters
    ----------
    whole : RawSegment
        The signal.
    breaks : iterable of int
        First samples after an interruption, in any order.

    Returns
    -------
    tuple of RawSegment
        Stretches in time order, none of them empty.
    """
    inner = sorted({b for b in breaks if 0 < b < whole.n_times})
    if not inner:
        return (whole,)
    edges = [0, *inner, whole.n_times]
    return tuple(PartOfSegment(whole, a, b) for a, b in pairwise(edges))


def gap_findings(n_segments: int) -> tuple[QualityFinding, ...]:
    """Say that a recording was interrupted, where it was.

    Parameters
    ----------
    n_segments : int
        Number of stretches.

    Returns
    -------
    tuple of QualityFinding
        Empty for a single stretch.
    """
    if n_segments < 2:
        return ()
    return (QualityFinding(
        "gaps", f"The recording is interrupted {n_segments - 1} times.", count=n_segments - 1
    ),)  # fmt: skip
