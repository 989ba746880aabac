"""Whether a signal can be EEG in microvolts at all: the check that catches wrong units."""

from __future__ import annotations

import numpy as np

from neuroveil.recordings.options import ReadOptions
from neuroveil.types.recording import ChunkSource, FloatArray, QualityFinding

PLAUSIBLE_MICROVOLTS: tuple[float, float] = (0.5, 5000.0)
"""Range for the median robust amplitude of a recording's channels, in microvolts.

Scalp EEG lies at roughly 5 to 100 µV. The range is wide on purpose: it is to catch factors
of a thousand and a million, not to judge quality.
"""

N_PROBES = 8
PROBE_SECONDS = 1.0


def check_amplitude(
    segments: tuple[ChunkSource, ...], n_eeg: int, sfreq: float, options: ReadOptions
) -> tuple[QualityFinding, ...]:
    """Refuse a recording whose amplitude shows that its unit must be wrong.

    Reads at most eight pieces of one second, spread over the recording. The amplitude of a
    channel in a piece is 1.4826 times its median absolute deviation (the standard deviation
    of Gaussian signals). Flat pieces say nothing about the unit and are left out; what is
    judged is the median over all others.

    Parameters
    ----------
    segments : tuple of ChunkSource
        The recording, in microvolts.
    n_eeg : int
        Number of leading channels that are EEG.
    sfreq : float
        Sampling rate in Hz.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    tuple of QualityFinding
        One finding if every piece is flat, else none.

    Raises
    ------
    RecordingError
        If the amplitude lies outside :data:`PLAUSIBLE_MICROVOLTS`.
    """
    amplitudes = np.concatenate([
        _amplitudes(segment.read(start, stop)[:n_eeg])
        for segment, start, stop in _probes(segments, sfreq)
    ])  # fmt: skip
    varying = amplitudes[amplitudes > 0]
    if varying.size == 0:
        return (QualityFinding(
            "flat_recording", "The signal is flat wherever it was looked at, so its unit could "
            "not be checked.",
        ),)  # fmt: skip
    low, high = PLAUSIBLE_MICROVOLTS
    middle = float(np.median(varying))
    if not low <= middle <= high:
        side = f"below {low:g} µV" if middle < low else f"above {high:g} µV"
        raise options.refusal(
            f"EEG with a typical amplitude of {low:g} to {high:g} µV", f"one {side}",
            "Its unit is probably stated wrongly, or no electrode was connected. Correct the "
            "export, or set the unit that the study's files really have.",
            code="implausible_amplitude",
        )  # fmt: skip
    return ()


def _probes(segments: tuple[ChunkSource, ...], sfreq: float) -> list[tuple[ChunkSource, int, int]]:
    """Choose pieces at the middles of equal parts of the whole recording."""
    length = max(2, round(PROBE_SECONDS * sfreq))
    ends = np.cumsum([segment.n_times for segment in segments])
    probes = []
    for part in range(N_PROBES):
        middle = int(ends[-1] * (2 * part + 1) // (2 * N_PROBES))
        number = int(np.searchsorted(ends, middle, side="right"))
        segment = segments[number]
        offset = middle - int(ends[number] - segment.n_times)
        start = max(0, min(offset, segment.n_times - length))
        probes.append((segment, start, min(start + length, segment.n_times)))
    return probes


def _amplitudes(block: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> FloatArray:
    """Robust amplitude of every channel of a block, NaN samples left out, 0 where flat."""
    if not block.shape[1]:
        return np.zeros(len(block))
    if not np.isfinite(block).all():
        return np.array([_amplitude(channel[np.isfinite(channel)]) for channel in block])
    centred = block - _middle(block)[:, np.newaxis]
    spread: FloatArray = 1.4826 * _middle(np.abs(centred)).astype(np.float64)
    return spread


def _middle(
    block: np.ndarray[tuple[int, int], np.dtype[np.float32]],
) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Median of every row, the upper one where there are two: half the work of both."""
    half = block.shape[1] // 2
    middle: np.ndarray[tuple[int], np.dtype[np.float32]] = np.partition(block, half, axis=1)[
        :, half
    ]
    return middle


def _amplitude(finite: np.ndarray[tuple[int], np.dtype[np.float32]]) -> float:
    """Robust amplitude of finite samples."""
    if finite.size < 2:
        return 0.0
    values = finite.astype(np.float64)
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))
