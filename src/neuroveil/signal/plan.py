"""How a recording is cut into windows, and into blocks that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from neuroveil.errors import RecordingError
from neuroveil.signal.filters import SUPPORT_SECONDS, FilterChain
from neuroveil.signal.resample import RateConversion
from neuroveil.signal.settings import (
    HARMONISED_INPUT_RATES_HZ,
    HARMONISED_RATE_HZ,
    PAPER_INPUT_RATES_HZ,
    SignalSettings,
)
from neuroveil.signal.windows import WindowGrid
from neuroveil.types.recording import Recording

DEFAULT_BLOCK_SECONDS = 120.0
MAX_BLOCK_BYTES = 24 * 2**20


@dataclass(frozen=True)
class Block:
    """Consecutive windows that are filtered together.

    Parameters
    ----------
    segment : int
        Which stretch of the recording.
    first_window : int
        Index of the first window within the segment.
    n_windows : int
        How many.
    n_times_out : int
        Length of the block's transform, in samples after resampling.
    """

    segment: int
    first_window: int
    n_windows: int
    n_times_out: int


@dataclass(frozen=True, eq=False)
class ExtractionPlan:
    """Everything about an extraction that follows from rates, lengths and settings.

    Parameters
    ----------
    recording : Recording
        What to read.
    settings : SignalSettings
        What to compute.
    chain : FilterChain
        Resampling and filters.
    grid : WindowGrid
        Windows on the samples after resampling.
    windows : tuple of int
        Windows of each segment.
    max_block : int
        Largest transform, in samples after resampling.
    """

    recording: Recording
    settings: SignalSettings
    chain: FilterChain
    grid: WindowGrid
    windows: tuple[int, ...]
    max_block: int

    @property
    def support(self) -> int:
        """Samples after resampling that a block needs on either side of its windows."""
        up = self.chain.conversion.up
        return -(-int(SUPPORT_SECONDS * self.grid.sfreq) // up) * up

    @property
    def n_windows(self) -> int:
        """Windows of the whole recording."""
        return sum(self.windows)

    @property
    def n_eeg(self) -> int:
        """Number of EEG channels."""
        return len(self.recording.ch_names)

    @property
    def rereferences(self) -> bool:
        """True where the average reference is taken: never on a bipolar recording."""
        return self.settings.average_reference and self.recording.montage == "referential"

    def first_window_of(self, segment: int) -> int:
        """Find where a segment's windows start in the whole recording.

        Parameters
        ----------
        segment : int
            Which segment.

        Returns
        -------
        int
            Number of windows in the segments before it.
        """
        return self._window_starts[segment]

    def hops_of(self, segment: int) -> int:
        """Count the hops that a segment's windows cover.

        Parameters
        ----------
        segment : int
            Which segment.

        Returns
        -------
        int
            Number of hops; 0 where the segment has no window.
        """
        windows = self.windows[segment]
        return windows + self.grid.hops_per_window - 1 if windows else 0

    def first_hop_of(self, segment: int) -> int:
        """Find where a segment's hops start in the whole recording.

        Parameters
        ----------
        segment : int
            Which segment.

        Returns
        -------
        int
            Number of hops in the segments before it.
        """
        return self._hop_starts[segment]

    @property
    def n_hops(self) -> int:
        """Hops of the whole recording."""
        return self._hop_starts[-1]

    @cached_property
    def _window_starts(self) -> tuple[int, ...]:
        return tuple(accumulate(self.windows, initial=0))

    @cached_property
    def _hop_starts(self) -> tuple[int, ...]:
        hops = (self.hops_of(segment) for segment in range(len(self.windows)))
        return tuple(accumulate(hops, initial=0))

    def blocks(self) -> Iterator[Block]:
        """List the blocks in time order.

        Yields
        ------
        Block
            Blocks whose windows follow each other without gap or repetition.
        """
        for segment, total in enumerate(self.windows):
            done = 0
            while done < total:
                length = self.block_length(total - done)
                n_windows = min(total - done, self._capacity(length))
                yield Block(segment, done, n_windows, length)
                done += n_windows

    def block_length(self, n_windows: int) -> int:
        """Choose the shortest transform for some windows, within the limit.

        Parameters
        ----------
        n_windows : int
            Windows that are left, at least 1.

        Returns
        -------
        int
            Samples after resampling: ``conversion.up`` times a power of two.
        """
        length = self.chain.conversion.up
        while self._capacity(length) < n_windows and (
            length < self.max_block or self._capacity(length) < 1
        ):
            length *= 2
        return length

    def _capacity(self, length: int) -> int:
        # A block starts on a multiple of `up`, up to `up - 1` samples before its windows.
        free = length - 2 * self.support - (self.chain.conversion.up - 1)
        return self.grid.count(free) if free > 0 else 0


def plan_extraction(
    recording: Recording, settings: SignalSettings, block_seconds: float | None = None
) -> ExtractionPlan:
    """Check a recording's shape and rate, and plan its extraction.

    Parameters
    ----------
    recording : Recording
        What to read.
    settings : SignalSettings
        What to compute.
    block_seconds : float, optional
        Least length of a block in seconds; by default 120, less where that would need more
        than 24 MiB.

    Returns
    -------
    ExtractionPlan
        The plan.

    Raises
    ------
    RecordingError
        If the rate is not accepted by the preset, or a segment has another number of
        channels than the recording names.
    """
    chain = FilterChain(_conversion(recording.sfreq, settings), float(settings.line_frequency_hz))
    sfreq = chain.conversion.sfreq_out
    n_rows = len(recording.ch_names) + len(recording.eog_names)
    for segment in recording.segments:
        if segment.n_channels != n_rows:
            raise RecordingError(
                "recording", f"{n_rows} channels in every segment",
                f"a segment with {segment.n_channels}", "Read the file again.",
            )  # fmt: skip
    hops = settings.hops_per_window
    grid = WindowGrid(round(settings.window_seconds * sfreq / hops), hops, sfreq)
    windows = tuple(
        grid.count(chain.conversion.n_times_out(segment.n_times)) for segment in recording.segments
    )
    max_block = _max_block(chain.conversion, n_rows, block_seconds)
    return ExtractionPlan(recording, settings, chain, grid, windows, max_block)


def _conversion(sfreq: float, settings: SignalSettings) -> RateConversion:
    paper = settings.preset == "paper"
    low, high = PAPER_INPUT_RATES_HZ if paper else HARMONISED_INPUT_RATES_HZ
    if not low <= sfreq <= high:
        raise RecordingError(
            "recording", f"a sampling rate of {low:g} to {high:g} Hz for this preset",
            f"{sfreq:g} Hz",
            'Use signal.preset = "harmonised", which resamples.' if paper
            else "Check the sampling rate in the file.",
        )  # fmt: skip
    if paper:
        return RateConversion(sfreq)
    return RateConversion.between(sfreq, HARMONISED_RATE_HZ)


def _max_block(conversion: RateConversion, n_rows: int, block_seconds: float | None) -> int:
    length = conversion.up
    while length < (block_seconds or DEFAULT_BLOCK_SECONDS) * conversion.sfreq_out:
        length *= 2
    if block_seconds is None:
        bytes_a_sample = 4 * max(1, n_rows) * max(1.0, conversion.down / conversion.up)
        while length * bytes_a_sample > MAX_BLOCK_BYTES:
            length //= 2
    return length
