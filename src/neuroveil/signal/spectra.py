"""Welch's method on many overlapping windows at once.

The Hann window is applied to the transform instead of to the samples: multiplying by
``0.5 - 0.5 cos(2 pi n / N)`` is ``X[k] = 0.5 Y[k] - 0.25 (Y[k-1] + Y[k+1])``, and taking a
segment's mean away is setting ``Y[0]`` to zero. So each segment is transformed where it lies,
and only the bins that are used are windowed (Harris 1978, Proc. IEEE 66, 51-83). Segments that
overlapping windows share are transformed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import fft

from neuroveil.signal.settings import EDGE_FRACTION, SEGMENT_SAMPLES, SEGMENT_STEP
from neuroveil.signal.windows import WindowGrid
from neuroveil.types.catalogue import SPECTRUM_RANGE_HZ
from neuroveil.types.recording import FloatArray, SignalArray

HANN_POWER = 3.0 / 8.0 * SEGMENT_SAMPLES
"""Sum of the squared periodic Hann window (no unit)."""


@dataclass(frozen=True)
class Welch:
    """Power spectral density of windows, up to the end of the spectrum's range.

    Parameters
    ----------
    grid : WindowGrid
        The windows.
    """

    grid: WindowGrid

    @cached_property
    def frequencies(self) -> FloatArray:
        """Frequencies of the bins in Hz, from the first above zero, shape (n_bins,)."""
        bins = np.arange(1, SEGMENT_SAMPLES // 2, dtype=np.float64) * self.bin_width
        return np.asarray(bins[bins < SPECTRUM_RANGE_HZ[1]], dtype=np.float64)

    @property
    def bin_width(self) -> float:
        """Distance of two bins, in Hz."""
        return self.grid.sfreq / SEGMENT_SAMPLES

    @property
    def segments_per_window(self) -> int:
        """Whole segments that a window holds."""
        return (self.grid.window - SEGMENT_SAMPLES) // SEGMENT_STEP + 1

    def densities(self, signal: SignalArray) -> SignalArray:
        """Estimate the power spectral density of every window.

        Parameters
        ----------
        signal : ndarray of float32, shape (n_channels, n_times)
            Signal in microvolts, the samples of consecutive windows.

        Returns
        -------
        ndarray of float32, shape (n_channels, n_windows, n_bins)
            In µV²/Hz, one-sided, for :attr:`frequencies`.
        """
        grid, count = self.grid, self.segments_per_window
        segments = sliding_window_view(signal, SEGMENT_SAMPLES, axis=-1)
        if grid.hop % SEGMENT_STEP == 0:
            powers = self._powers(segments[:, ::SEGMENT_STEP])
            starts = grid.hop // SEGMENT_STEP
            mean = sliding_window_view(powers, count, axis=1)[:, ::starts].mean(axis=-1)
        else:
            span = grid.window - SEGMENT_SAMPLES + 1
            by_window = sliding_window_view(segments, span, axis=1)[:, :: grid.hop]
            by_window = np.moveaxis(by_window, -1, 2)[:, :, ::SEGMENT_STEP]
            mean = self._powers(by_window).mean(axis=2)
        return np.asarray(mean, dtype=np.float32)

    def _powers(self, segments: SignalArray) -> SignalArray:
        """Transform, detrend, window and square; the last axis becomes frequency."""
        n_bins = len(self.frequencies)
        transform = fft.rfft(segments, axis=-1)[..., : n_bins + 2]
        transform[..., 0] = 0.0
        windowed = transform[..., :-2] + transform[..., 2:]
        windowed *= -0.5
        windowed += transform[..., 1:-1]
        # half of the Hann transform: 0.25 in power, doubled for the one-sided spectrum
        scale = np.float32(2.0 * 0.25 / (self.grid.sfreq * HANN_POWER))
        power = windowed.real**2
        power += windowed.imag**2
        power *= scale
        return power

    def band_powers(
        self, densities: SignalArray, bands: tuple[tuple[float, float], ...]
    ) -> FloatArray:
        """Sum densities over half-open bands.

        Parameters
        ----------
        densities : ndarray of float32, shape (n_channels, n_windows, n_bins)
            In µV²/Hz.
        bands : tuple of (float, float)
            ``[low, high)`` in Hz.

        Returns
        -------
        ndarray of float64, shape (n_channels, n_windows, n_bands)
            Power in µV²: sum of the bins times their width.
        """
        weights = np.stack(
            [(self.frequencies >= low) & (self.frequencies < high) for low, high in bands], axis=1
        )
        return np.asarray(densities @ (weights * np.float32(self.bin_width)), dtype=np.float64)

    def spectral_edge(self, densities: SignalArray) -> FloatArray:
        """Find the frequency below which 95 % of the power lies.

        Parameters
        ----------
        densities : ndarray of float32, shape (n_channels, n_windows, n_bins)
            In µV²/Hz.

        Returns
        -------
        ndarray of float64, shape (n_channels, n_windows)
            Frequency in Hz of the first bin in 0.5 to 70 Hz at which the summed power
            reaches 95 %; the lowest bin where there is no power at all.
        """
        first = int(np.searchsorted(self.frequencies, SPECTRUM_RANGE_HZ[0]))
        summed = np.cumsum(densities[..., first:], axis=-1, dtype=np.float64)
        below = summed < EDGE_FRACTION * summed[..., -1:]
        return np.asarray(self.frequencies[first + below.sum(axis=-1)], dtype=np.float64)
