"""Signals as they travel from the readers to the feature engine. All of it is private."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
SignalArray = npt.NDArray[np.float32]

Montage = Literal["referential", "bipolar"]


class ChunkSource(Protocol):
    """Random access to a gap-free stretch of signal, in microvolts.

    A source may hold the samples in memory or read them from disk when asked, so that a
    long recording never has to be in memory at once.
    """

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        ...

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
            Signal in microvolts.
        """
        ...


@dataclass(frozen=True, eq=False)
class ArraySource:
    """A stretch of signal that is already in memory.

    Parameters
    ----------
    values : ndarray of float32, shape (n_channels, n_times)
        Signal in microvolts.
    """

    values: SignalArray

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return int(self.values.shape[0])

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return int(self.values.shape[1])

    def read(self, start: int, stop: int) -> SignalArray:
        """Read samples ``start`` up to but not including ``stop``.

        Parameters
        ----------
        start, stop : int
            Sample indices.

        Returns
        -------
        ndarray of float32, shape (n_channels, stop - start)
            Signal in microvolts.
        """
        return self.values[:, start:stop]


@dataclass(frozen=True)
class QualityFinding:
    """Something noticed about a recording; goes into the internal report only.

    Parameters
    ----------
    code : str
        Short stable name, for example ``"flat_channel"`` or ``"missing_channel"``.
    message : str
        One sentence for a reader, without patient keys, dates or paths.
    channel : str, optional
        Canonical channel name that it concerns.
    count : int, optional
        How many windows, samples or channels.
    """

    code: str
    message: str
    channel: str | None = None
    count: int | None = None


@dataclass(frozen=True)
class RecordingFile:
    """One file on the roster.

    Parameters
    ----------
    path : Path
        Where the file is. Private: may hold a name.
    session : str
        Session label, ``""`` where there is none.
    """

    path: Path
    session: str = ""


@dataclass(frozen=True)
class RosterEntry:
    """One patient of the study, fixed before any signal is read.

    Parameters
    ----------
    patient : str
        The key from the roster; never from a recording's header. Private.
    recordings : tuple of RecordingFile
        May be empty: the patient still counts, and gets the public fallback row.
    attributes : dict of str to str
        Other columns of the roster, such as diagnosis, age, sex. Private.
    """

    patient: str
    recordings: tuple[RecordingFile, ...]
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Roster:
    """All patients of the study in a fixed order; its length is the public n.

    Parameters
    ----------
    entries : tuple of RosterEntry
        One entry a patient, sorted by key, no key twice.
    findings : tuple of QualityFinding
        What was noticed while the files were matched to patients.
    """

    entries: tuple[RosterEntry, ...]
    findings: tuple[QualityFinding, ...] = ()

    @property
    def n_patients(self) -> int:
        """Number of patients on the roster."""
        return len(self.entries)

    @property
    def n_recordings(self) -> int:
        """Number of files of all patients."""
        return sum(len(entry.recordings) for entry in self.entries)


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording that has been opened and harmonised, ready for features.

    Parameters
    ----------
    ch_names : tuple of str
        Canonical names of the EEG channels that belong to the study's montage and are
        present in the file, in the montage's order.
    eog_names : tuple of str
        Names of eye channels, used for regression only.
    sfreq : float
        Sampling rate in Hz.
    segments : tuple of ChunkSource
        Gap-free stretches in time order. Each has ``len(ch_names) + len(eog_names)``
        channels: EEG first, then EOG. No window crosses from one into the next.
    highpass_hz, lowpass_hz : float, optional
        Filters that were applied before the file was written, in Hz.
    montage : {"referential", "bipolar"}
        Bipolar recordings are never re-referenced.
    findings : tuple of QualityFinding
        What was noticed while reading.
    """

    ch_names: tuple[str, ...]
    eog_names: tuple[str, ...]
    sfreq: float
    segments: tuple[ChunkSource, ...]
    highpass_hz: float | None = None
    lowpass_hz: float | None = None
    montage: Montage = "referential"
    findings: tuple[QualityFinding, ...] = ()

    @property
    def n_times(self) -> int:
        """Number of samples a channel over all segments."""
        return sum(segment.n_times for segment in self.segments)

    @property
    def seconds(self) -> float:
        """Length over all segments, in seconds."""
        return self.n_times / self.sfreq


@dataclass(frozen=True, eq=False)
class RecordingFeatures:
    """Window features of one recording, summed so that recordings can be pooled.

    Pooling several recordings of a patient window by window is adding their sums and
    counts; the patient's value is ``sums / counts``, missing where the count is 0.

    Parameters
    ----------
    ch_names : tuple of str
        Canonical names of the rows.
    features : tuple of str
        Feature names of the columns.
    sums : ndarray of float64, shape (n_channels, n_features)
        Sum over kept windows, linear scale, in the features' units.
    counts : ndarray of int64, shape (n_channels, n_features)
        Number of windows in each sum.
    n_windows : int
        Windows in the recording, before rejection.
    n_windows_kept : int
        Windows in which at least one channel was kept.
    seconds : float
        Length of the recording, in seconds.
    findings : tuple of QualityFinding
        From reading and from artefact rejection. Internal.
    """

    ch_names: tuple[str, ...]
    features: tuple[str, ...]
    sums: FloatArray
    counts: npt.NDArray[np.int64]
    n_windows: int
    n_windows_kept: int
    seconds: float
    findings: tuple[QualityFinding, ...] = ()
