"""EEGLAB datasets: continuous or epoched, with the signal inside or in an ``.fdt`` beside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.recordings.channels import ChannelKind
from neuroveil.recordings.contents import (
    FileChannel,
    MatrixSegment,
    RawSegment,
    SegmentMaker,
    cut_at,
    gap_findings,
)
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.parts import parts_of
from neuroveil.recordings.tree import Matrix, as_matrix, as_number, as_texts
from neuroveil.types.recording import QualityFinding

Parts = tuple[tuple[FileChannel, ...], SegmentMaker, tuple[QualityFinding, ...]]

_KINDS: dict[str, ChannelKind] = {
    "EOG": "eog", "VEOG": "eog", "HEOG": "eog", "ECG": "ecg", "EKG": "ecg", "EMG": "emg",
    "TRIGGER": "trigger", "STIM": "trigger", "MISC": "other", "AUX": "other",
}  # fmt: skip
_REMEDY = "Save the dataset again from EEGLAB."


def eeglab_struct(tree: dict[str, Any]) -> dict[str, Any] | None:
    """Find the EEG struct, or its fields at the top of the file.

    Parameters
    ----------
    tree : dict
        All variables.

    Returns
    -------
    dict or None
        None where the file is no EEGLAB dataset.
    """
    for candidate in (tree.get("EEG"), tree):
        if isinstance(candidate, dict) and {"srate", "nbchan", "data"} <= candidate.keys():
            return candidate
    return None


def eeglab_contents(eeg: dict[str, Any], path: Path, options: ReadOptions) -> Parts:
    """Describe an EEGLAB dataset. EEGLAB's convention is microvolts, without stating it.

    Parameters
    ----------
    eeg : dict
        The struct.
    path : Path
        The ``.set`` file.
    options : ReadOptions
        For the role in errors, and names where the dataset has none.

    Returns
    -------
    channels, segments, findings
        What the file holds.

    Raises
    ------
    RecordingError
        If sizes in the struct contradict each other.
    """
    n_channels, n_times, n_trials = (
        int(as_number(eeg.get(key)) or fallback)
        for key, fallback in (("nbchan", 0), ("pnts", 0), ("trials", 1))
    )
    matrix = _matrix(eeg, path, (n_channels, n_times, n_trials), options)
    channels = _channels(eeg, n_channels, options)
    breaks = _boundaries(eeg) if n_trials == 1 else ()

    def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
        if isinstance(matrix, list):
            return tuple(MatrixSegment(trial, indices) for trial in matrix)
        whole = MatrixSegment(matrix.stored, indices, channels_first=not matrix.transposed)
        return cut_at(whole, breaks)

    return channels, segments, gap_findings(len(segments((0,))))


def _matrix(
    eeg: dict[str, Any], path: Path, sizes: tuple[int, int, int], options: ReadOptions
) -> Matrix | list[Any]:
    """Find the signal: one matrix, or one a trial."""
    n_channels, n_times, n_trials = sizes
    named = as_texts(eeg["data"])
    if named is not None:
        stored = _beside(path, n_channels, n_times * n_trials, options)
        if n_trials == 1:
            return Matrix(stored, transposed=True)
        return [stored[i * n_times : (i + 1) * n_times, :].T for i in range(n_trials)]
    matrix = as_matrix(eeg["data"])
    shape = () if matrix is None else matrix.shape
    wanted = tuple(n for n in sizes if n != 1)
    if matrix is None or tuple(n for n in shape if n != 1) != wanted or n_channels == 0:
        raise options.refusal(
            "an EEGLAB dataset whose data have the stated size",
            "another size",
            _REMEDY,
            code="damaged",
        )
    if len(matrix.shape) == 2 and n_trials == 1:
        return matrix
    values = matrix.load().reshape(sizes)
    return [values[:, :, i] for i in range(n_trials)]


@dataclass(frozen=True)
class _FloatFile:
    """The ``.fdt`` of a dataset: float32, all channels of a sample together."""

    path: Path
    shape: tuple[int, int]

    def __getitem__(self, key: tuple[slice, slice]) -> Any:
        start, stop, _ = key[0].indices(self.shape[0])
        count, offset = (stop - start) * self.shape[1], start * self.shape[1] * 4
        values = np.fromfile(self.path, "<f4", count=count, offset=offset)
        return values.reshape(stop - start, self.shape[1])


def _beside(path: Path, n_channels: int, n_samples: int, options: ReadOptions) -> _FloatFile:
    """Find the signal's own file: the dataset's name, whatever name the dataset states.

    A dataset may have been renamed with its signal, and the stated name could be another
    dataset's signal, or lead out of the folder.
    """
    signal = next((part for part in parts_of(path) if part.suffix.lower() == ".fdt"), None)
    if signal is None:
        raise options.refusal(
            "the .fdt file of the dataset in the same folder, under the same name", "none",
            "Keep the .set and .fdt files together, and name both alike.", code="part_missing",
        )  # fmt: skip
    if signal.stat().st_size != n_channels * n_samples * 4 or n_channels == 0:
        raise options.refusal(
            "an .fdt file of the size that the dataset states", "another size", _REMEDY,
            code="damaged",
        )  # fmt: skip
    return _FloatFile(signal, (n_samples, n_channels))


def _channels(
    eeg: dict[str, Any], n_channels: int, options: ReadOptions
) -> tuple[FileChannel, ...]:
    """Describe the channels by their locations' labels and types."""
    locations = eeg.get("chanlocs")
    locations = locations if isinstance(locations, dict) else {}
    labels = as_texts(locations.get("labels")) or options.file_channels
    if len(labels) != n_channels:
        raise options.refusal(
            f"{n_channels} channel labels", f"{len(labels)}",
            "Set channel locations in EEGLAB, with a label for every channel, as text.",
            code="names_unknown",
        )  # fmt: skip
    types = locations.get("type")
    types = [types] if isinstance(types, str) else types
    if not isinstance(types, list) or len(types) != n_channels:
        types = [""] * n_channels
    sfreq = as_number(eeg.get("srate"))
    return tuple(
        FileChannel(label, "uV", sfreq, _KINDS.get(str(kind).upper()))
        for label, kind in zip(labels, types, strict=True)
    )


def _boundaries(eeg: dict[str, Any]) -> tuple[int, ...]:
    """First samples after a boundary event; latencies count samples from one."""
    events = eeg.get("event")
    if not isinstance(events, dict):
        return ()
    types, latencies = events.get("type"), events.get("latency")
    kinds = as_texts(types) or tuple(str(t) for t in types) if types is not None else ()
    times = np.atleast_1d(np.asarray(_flat(latencies), dtype=np.float64))
    if len(kinds) != len(times):
        return ()
    return tuple(
        max(0, math.ceil(t - 1))
        for kind, t in zip(kinds, times.tolist(), strict=True)
        if kind.lower() == "boundary" and math.isfinite(t)
    )


def _flat(node: Any) -> Any:
    """Numbers of a struct array's field: a list of 1 x 1 arrays, an array or a number."""
    if isinstance(node, list):
        return [as_number(item) or 0.0 for item in node]
    return [] if node is None or isinstance(node, str) else node
