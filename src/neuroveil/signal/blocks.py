"""Blocks of filtered signal: read with overlap, continued at the edges, filtered by FFT."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import fft

from neuroveil.errors import RecordingError
from neuroveil.signal.gaps import Gap, fill_gaps
from neuroveil.signal.plan import Block, ExtractionPlan
from neuroveil.types.recording import ChunkSource, SignalArray

ROWS_AT_ONCE = 4
"""Channels in one call of the FFT: enough to fill vector registers, few enough for the cache."""


class UnmappedGapsError(Exception):
    """Samples that are no numbers were met before they were searched for. Never leaves here."""


@dataclass(frozen=True, eq=False)
class FilteredBlock:
    """Filtered signal of some consecutive windows.

    Parameters
    ----------
    first_window : int
        Index of the first window within the whole recording.
    n_windows : int
        How many windows.
    first_hop : int
        Index of the first hop within the whole recording.
    n_new_hops : int
        How many hops, from the first on, do not come again in the next block.
    values : ndarray of float32, shape (n_channels, n_times)
        Filtered signal in microvolts, EEG first, then EOG, at the rate of the features;
        exactly the samples of the windows.
    """

    first_window: int
    n_windows: int
    first_hop: int
    n_new_hops: int
    values: SignalArray


@dataclass(eq=False)
class BlockFilter:
    """Reads and filters the blocks of a plan, one at a time.

    Parameters
    ----------
    plan : ExtractionPlan
        What to read and how to filter it.
    gaps : list of list of Gap, optional
        Stretches of samples that are no numbers, by segment. Without it such samples raise.
    """

    plan: ExtractionPlan
    gaps: list[list[Gap]] | None = None
    _gains: dict[int, SignalArray] = field(default_factory=dict)

    def filtered_blocks(self, rows: int) -> Iterator[FilteredBlock]:
        """Filter the recording block by block.

        Parameters
        ----------
        rows : int
            How many channels to filter, from the first on: all, or the EEG channels only.

        Yields
        ------
        FilteredBlock
            Blocks in time order.

        Raises
        ------
        UnmappedGapsError
            If samples are no numbers and no gaps were given.
        RecordingError
            If a source gives another shape than it was asked for.
        """
        plan = self.plan
        for block in plan.blocks():
            first_window = plan.first_window_of(block.segment) + block.first_window
            first_hop = plan.first_hop_of(block.segment) + block.first_window
            is_last = block.first_window + block.n_windows == plan.windows[block.segment]
            n_new = block.n_windows + (plan.grid.hops_per_window - 1 if is_last else 0)
            values = self._filter(block, rows)
            yield FilteredBlock(first_window, block.n_windows, first_hop, n_new, values)

    def _filter(self, block: Block, rows: int) -> SignalArray:
        conversion, grid = self.plan.chain.conversion, self.plan.grid
        first_out = block.first_window * grid.hop
        aligned_out = first_out // conversion.up * conversion.up
        start_out = aligned_out - self.plan.support
        start_in = start_out // conversion.up * conversion.down
        n_times_in = block.n_times_out // conversion.up * conversion.down
        signal = self._read_extended(block.segment, start_in, n_times_in, rows)
        gain = self._gain(block.n_times_out)
        n_times = (block.n_windows + grid.hops_per_window - 1) * grid.hop
        offset = first_out - start_out
        filtered = np.empty((rows, n_times), dtype=np.float32)
        for row in range(0, rows, ROWS_AT_ONCE):
            some = slice(row, row + ROWS_AT_ONCE)
            spectrum = fft.rfft(signal[some])[:, : len(gain)]
            spectrum *= gain
            inverse = fft.irfft(spectrum, block.n_times_out, overwrite_x=True)
            filtered[some] = inverse[:, offset : offset + n_times]
        return filtered

    def _gain(self, n_times_out: int) -> SignalArray:
        if n_times_out not in self._gains:
            self._gains[n_times_out] = self.plan.chain.gain(n_times_out)
        return self._gains[n_times_out]

    def _read_extended(self, segment: int, start: int, n_times: int, rows: int) -> SignalArray:
        """Read a stretch that may begin before the segment and end after it."""
        source = self.plan.recording.segments[segment]
        first, last = max(0, start), min(source.n_times, start + n_times)
        values = read_checked(source, first, last)[:rows]
        if self.gaps is not None:
            values = fill_gaps(values, first, self.gaps[segment])
        with np.errstate(invalid="ignore"):
            means = values.mean(axis=1)
        if not bool(np.isfinite(means).all()):
            raise UnmappedGapsError
        before = first - start
        after = n_times - before - values.shape[1]
        signal = np.zeros((rows, n_times), dtype=np.float32)
        inner = signal[:, before : before + values.shape[1]]
        np.subtract(values, means[:, None], out=inner)
        if before:
            signal[:, :before] = reflected(inner, before, 0)
        if after:
            conversion = self.plan.chain.conversion
            reach = min(after, self.plan.support // conversion.up * conversion.down)
            stop = before + values.shape[1] + reach
            signal[:, before + values.shape[1] : stop] = reflected(inner, 0, reach)
        return signal


def read_checked(source: ChunkSource, start: int, stop: int) -> SignalArray:
    """Read a stretch and make sure that it is what was asked for.

    Parameters
    ----------
    source : ChunkSource
        Where to read, in microvolts.
    start, stop : int
        Sample indices.

    Returns
    -------
    ndarray of float32, shape (n_channels, stop - start)
        Signal in microvolts.

    Raises
    ------
    RecordingError
        If the shape is another.
    """
    values = source.read(start, stop)
    expected = (source.n_channels, stop - start)
    if values.shape != expected:
        raise RecordingError(
            "recording", f"a stretch of shape {expected}", f"shape {values.shape}",
            "The file is shorter than its header says; read it again.",
        )  # fmt: skip
    return np.asarray(values, dtype=np.float32)


def reflected(values: SignalArray, before: int, after: int) -> SignalArray:
    """Continue a signal by point reflection about its first and last sample.

    Where the signal is shorter than its continuation the reflection goes on, which adds a
    straight line to a periodic signal; the band-pass filter removes the line.

    Parameters
    ----------
    values : ndarray of float32, shape (n_channels, n_times)
        Signal in microvolts.
    before, after : int
        How many samples to add on either side.

    Returns
    -------
    ndarray of float32, shape (n_channels, before + after)
        The added samples only, those before the signal first, in microvolts.
    """
    n_times = values.shape[1]
    index = np.concatenate([np.arange(-before, 0), np.arange(n_times, n_times + after)])
    if n_times == 1:
        return np.repeat(values, len(index), axis=1)
    periods, place = np.divmod(index, 2 * (n_times - 1))
    is_mirrored = place >= n_times
    place = np.where(is_mirrored, 2 * (n_times - 1) - place, place)
    first, last = values[:, :1], values[:, -1:]
    samples = values[:, place]
    samples = np.where(is_mirrored, 2.0 * last - samples, samples)
    samples += 2.0 * (last - first) * periods.astype(np.float32)
    return np.asarray(samples, dtype=np.float32)
