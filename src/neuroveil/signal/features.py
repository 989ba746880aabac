"""The eleven features of every window, on a stretch of filtered, referenced signal.

Everything that is a sum over samples is summed once for each hop, and windows add up their
hops, so that overlapping windows share the work. Sums are plain loops of numpy, not calls of
BLAS, whose threads would take the cores of the other worker processes without being faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from neuroveil.signal.spectra import Welch
from neuroveil.signal.windows import WindowGrid
from neuroveil.types.catalogue import FEATURES
from neuroveil.types.recording import FloatArray, SignalArray

BANDS_HZ = tuple(spec.band_hz for spec in FEATURES if spec.band_hz is not None)


@dataclass(frozen=True)
class WindowFeatures:
    """Computes the whole catalogue on consecutive windows.

    Parameters
    ----------
    grid : WindowGrid
        The windows.
    """

    grid: WindowGrid

    @cached_property
    def welch(self) -> Welch:
        """Spectra of the same windows."""
        return Welch(self.grid)

    def __call__(self, signal: SignalArray) -> FloatArray:
        """Compute all features.

        Parameters
        ----------
        signal : ndarray of float32, shape (n_channels, n_times)
            Filtered signal in microvolts, exactly the samples of consecutive windows.

        Returns
        -------
        ndarray of float64, shape (n_channels, n_windows, 11)
            In the catalogue's order and units.
        """
        mean, mean_square = self._moments(signal)
        densities = self.welch.densities(signal)
        columns = [
            self._line_length(signal),
            np.sqrt(mean_square),
            np.maximum(mean_square - mean**2, 0.0),
            self._zero_crossing_rate(signal, mean),
        ]
        powers = self.welch.band_powers(densities, BANDS_HZ)
        edge = self.welch.spectral_edge(densities)
        return np.concatenate([np.stack(columns, axis=-1), powers, edge[..., None]], axis=-1)

    def _by_hop(self, signal: SignalArray) -> SignalArray:
        return signal.reshape(signal.shape[0], -1, self.grid.hop)

    def _sum_hops(self, sums: SignalArray) -> FloatArray:
        """Add up the hops of each window, in double precision."""
        windows = sliding_window_view(sums, self.grid.hops_per_window, axis=-1)
        return np.asarray(windows.sum(axis=-1, dtype=np.float64))

    def _moments(self, signal: SignalArray) -> tuple[FloatArray, FloatArray]:
        hops = self._by_hop(signal)
        mean = self._sum_hops(hops.sum(axis=-1))
        square = self._sum_hops(np.einsum("chi,chi->ch", hops, hops))
        return mean / self.grid.window, square / self.grid.window

    def _line_length(self, signal: SignalArray) -> FloatArray:
        steps = np.zeros_like(signal)
        np.subtract(signal[:, 1:], signal[:, :-1], out=steps[:, :-1])
        np.abs(steps, out=steps)
        total = self._sum_hops(self._by_hop(steps).sum(axis=-1))
        # the step out of a window into the next sample is not one of its own
        total -= steps[:, self.grid.window - 1 :: self.grid.hop]
        return np.asarray(total / self.grid.window_seconds)

    def _zero_crossing_rate(self, signal: SignalArray, mean: FloatArray) -> FloatArray:
        windows = sliding_window_view(signal, self.grid.window, axis=-1)[:, :: self.grid.hop]
        is_above = windows >= mean.astype(np.float32)[..., None]
        crossings = np.count_nonzero(is_above[..., 1:] != is_above[..., :-1], axis=-1)
        return np.asarray(crossings / self.grid.window_seconds, dtype=np.float64)
