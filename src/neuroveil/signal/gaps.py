"""Samples that are no numbers: where they are, and what stands in for them in a filter.

A filter spreads one bad sample over seconds. So that only the windows which hold such samples
are lost, each gap is bridged by a straight line between its neighbours before filtering; the
windows themselves are rejected. A gap at the beginning or end of a segment repeats its one
neighbour, and a channel without any number becomes zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from neuroveil.types.recording import SignalArray


@dataclass(frozen=True)
class Gap:
    """A stretch of samples that are no numbers on one channel of one segment.

    Parameters
    ----------
    row : int
        Which channel.
    start, stop : int
        Samples of the segment, ``stop`` excluded.
    before, after : float
        Values of the neighbouring samples, in microvolts.
    """

    row: int
    start: int
    stop: int
    before: float
    after: float


class GapFinder:
    """Collects gaps while a segment goes by, so that one pass can do other things as well.

    Parameters
    ----------
    n_rows : int
        Number of channels.
    """

    def __init__(self, n_rows: int) -> None:
        self._open = [-1] * n_rows
        self._last: list[float | None] = [None] * n_rows
        self._end = 0
        self._gaps: list[Gap] = []

    def add(self, start: int, values: SignalArray) -> None:
        """Look at the next chunk.

        Parameters
        ----------
        start : int
            Its first sample within the segment.
        values : ndarray of float32, shape (n_channels, n_times)
            Signal in microvolts.
        """
        self._end = start + values.shape[1]
        with np.errstate(invalid="ignore"):
            sums = values.sum(axis=1)
        for row, total in enumerate(sums):
            if np.isfinite(total) and self._open[row] < 0:
                self._last[row] = float(values[row, -1])
            else:
                self._add_row(row, start, values[row])

    def _add_row(self, row: int, start: int, samples: SignalArray) -> None:
        is_number = np.isfinite(samples)
        for first, last, is_good in _runs(is_number):
            if is_good:
                if self._open[row] >= 0:
                    self._finish(row, start + first, float(samples[first]))
                self._last[row] = float(samples[last - 1])
            elif self._open[row] < 0:
                self._open[row] = start + first

    def _finish(self, row: int, stop: int, after: float | None) -> None:
        before = self._last[row]
        left = before if before is not None else after
        right = after if after is not None else before
        self._gaps.append(Gap(row, self._open[row], stop, left or 0.0, right or 0.0))
        self._open[row] = -1

    def close(self) -> list[Gap]:
        """End the segment.

        Returns
        -------
        list of Gap
            All gaps, in order of their ends.
        """
        for row, start in enumerate(self._open):
            if start >= 0:
                self._finish(row, self._end, None)
        return self._gaps


def _runs(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[tuple[int, int, bool]]:
    """Split into stretches of equal values: first, last + 1, value."""
    edges = [0, *(np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist(), len(flags)]
    for first, last in pairwise(edges):
        yield first, last, bool(flags[first])


def fill_gaps(values: SignalArray, start: int, gaps: list[Gap]) -> SignalArray:
    """Bridge the gaps that a stretch of signal touches.

    Parameters
    ----------
    values : ndarray of float32, shape (n_channels, n_times)
        Signal in microvolts; channels beyond it are left alone.
    start : int
        Its first sample within the segment.
    gaps : list of Gap
        The segment's gaps.

    Returns
    -------
    ndarray of float32, shape (n_channels, n_times)
        The same array where no gap touches it, else a copy without gaps.
    """
    stop = start + values.shape[1]
    touching = [
        gap for gap in gaps
        if gap.start < stop and gap.stop > start and gap.row < values.shape[0]
    ]  # fmt: skip
    if not touching:
        return values
    filled = values.copy()
    for gap in touching:
        first, last = max(gap.start, start), min(gap.stop, stop)
        share = (np.arange(first, last) - gap.start + 1) / (gap.stop - gap.start + 1)
        line = gap.before + (gap.after - gap.before) * share
        filled[gap.row, first - start : last - start] = line
    return filled
