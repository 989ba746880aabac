"""Band-pass and notch, both zero-phase, as one gain over frequency.

**Band-pass**: a linear-phase FIR filter, applied centred, of the design that MNE-Python uses by
default (``firwin``, Hamming window): pass band 0.5 to 70 Hz, lower transition 0 to 0.5 Hz
(-6 dB at 0.25 Hz), upper transition 70 to 87.5 Hz (-6 dB at 78.75 Hz; narrower where Nyquist
lies below 87.5 Hz), ripple below 0.04 dB, stop-band attenuation 51 dB, length 3.3 divided by the
lower transition, 6.6 s. It is the difference of two windowed-sinc low-pass filters, each as
long as its own transition needs (Widmann, Schröger & Maess 2015, J. Neurosci. Methods 250).
Its gain at 0 Hz is exactly zero: a constant offset changes nothing.

**Notch**: the second-order resonator of :func:`scipy.signal.iirnotch` with quality 30 at the
mains frequency, forwards and backwards, so that its gain is the squared magnitude response and
its phase zero. In the time domain it dies out by 1e-7 within 3 s.

**Edges**: a stretch without gaps is continued on both sides by point reflection about its first
and last sample (``2 x[0] - x[t]``), again and again where it is shorter than the filter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from neuroveil.signal.resample import RateConversion
from neuroveil.signal.settings import BANDPASS_HZ, NOTCH_QUALITY
from neuroveil.types.recording import FloatArray, SignalArray

HAMMING_LENGTH_FACTOR = 3.3
"""Filter length times transition width for a Hamming window (no unit)."""
SUPPORT_SECONDS = 7.0
"""Half-length beyond which band-pass, notch and resampling together have no weight, in s."""


def bandpass_taps(sfreq: float) -> FloatArray:
    """Design the band-pass filter.

    Parameters
    ----------
    sfreq : float
        Sampling rate at which it is applied, in Hz; above 140.

    Returns
    -------
    ndarray of float64, shape (n_taps,)
        Symmetric, odd number of taps (no unit).
    """
    low, high = BANDPASS_HZ
    low_transition = min(max(0.25 * low, 2.0), low)
    high_transition = min(max(0.25 * high, 2.0), sfreq / 2.0 - high)
    steep = _lowpass_taps(low - low_transition / 2.0, low_transition, sfreq)
    taps = _lowpass_taps(high + high_transition / 2.0, high_transition, sfreq)
    length = math.ceil(HAMMING_LENGTH_FACTOR / min(low_transition, high_transition) * sfreq)
    length += 1 - length % 2
    return _centred(taps, length) - _centred(steep, length)


def _lowpass_taps(cutoff: float, transition: float, sfreq: float) -> FloatArray:
    length = round(HAMMING_LENGTH_FACTOR * sfreq / transition)
    length += 1 - length % 2
    times = np.arange(length) - length // 2
    taps = np.sinc(2.0 * cutoff / sfreq * times) * np.hamming(length)
    return np.asarray(taps / taps.sum(), dtype=np.float64)


def _centred(taps: FloatArray, length: int) -> FloatArray:
    margin = (length - len(taps)) // 2
    return np.pad(taps, (margin, length - len(taps) - margin))


def notch_gain(frequencies: FloatArray, line_frequency: float, sfreq: float) -> FloatArray:
    """Evaluate the notch, forwards and backwards.

    Parameters
    ----------
    frequencies : ndarray of float64, shape (n_frequencies,)
        In Hz.
    line_frequency : float
        Mains frequency in Hz.
    sfreq : float
        Sampling rate at which it is applied, in Hz.

    Returns
    -------
    ndarray of float64, shape (n_frequencies,)
        Squared magnitude response of the resonator (no unit).
    """
    centre = 2.0 * np.pi * line_frequency / sfreq
    gain = 1.0 / (1.0 + math.tan(centre / NOTCH_QUALITY / 2.0))
    delay = np.exp(-2j * np.pi * frequencies / sfreq)
    numerator = gain * (1.0 - 2.0 * math.cos(centre) * delay + delay**2)
    denominator = 1.0 - 2.0 * gain * math.cos(centre) * delay + (2.0 * gain - 1.0) * delay**2
    return np.asarray(np.abs(numerator / denominator) ** 2, dtype=np.float64)


@dataclass(frozen=True)
class FilterChain:
    """Resampling, band-pass and notch of one recording.

    Parameters
    ----------
    conversion : RateConversion
        From the recording's rate to the rate of the features.
    line_frequency : float
        Mains frequency in Hz.
    """

    conversion: RateConversion
    line_frequency: float

    def gain(self, n_times_out: int) -> SignalArray:
        """Evaluate the whole chain for one block length.

        Parameters
        ----------
        n_times_out : int
            Samples of the block after resampling; a multiple of ``conversion.up``.

        Returns
        -------
        ndarray of float32, shape (n_frequencies,)
            Real gain (no unit) for the first bins of the real Fourier transform of the
            block before resampling, with the change of scale between the two lengths.
        """
        conversion = self.conversion
        n_times_in = n_times_out // conversion.up * conversion.down
        n_bins = min(n_times_in, n_times_out) // 2 + 1
        sfreq = conversion.sfreq_out
        frequencies = np.arange(n_bins, dtype=np.float64) * (sfreq / n_times_out)
        taps = bandpass_taps(sfreq)
        around_zero = np.zeros(n_times_out)
        around_zero[: len(taps)] = taps
        around_zero = np.roll(around_zero, -(len(taps) // 2))
        bandpass: FloatArray = np.fft.rfft(around_zero).real[:n_bins].astype(np.float64)
        bandpass[0] = 0.0
        gain = bandpass * notch_gain(frequencies, self.line_frequency, sfreq)
        gain *= conversion.taper(frequencies) * (n_times_out / n_times_in)
        return gain.astype(np.float32)
