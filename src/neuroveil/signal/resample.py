"""Change of sampling rate, done on the spectrum of a block.

A stretch of samples is resampled by cutting (or zero-padding) its Fourier transform, as
:func:`scipy.signal.resample` does, with a raised-cosine taper that ends at the lower of the
two Nyquist frequencies. The taper starts above the band-pass filter's stop edge wherever the
rates leave room, so that it touches nothing that is measured; its kernel dies out within a
fraction of a second, so that blocks with enough overlap give the same samples as one
transform over the whole recording.

Both rates must fit a whole number of samples into a block: their ratio is taken as a fraction
with a denominator of at most 4096, exact for every whole-numbered rate and every tenth. For
others, such as 173.61 Hz, the error is at most about one part in 10,000 and mostly far less,
about that of an amplifier's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from neuroveil.signal.availability import USABLE_NYQUIST_FRACTION
from neuroveil.types.recording import FloatArray

MAX_DENOMINATOR = 4096
PASS_EDGE_HZ = 87.5
"""Frequency up to which the taper is 1 where the rates allow, in Hz: the stop edge of the
band-pass filter."""


@dataclass(frozen=True)
class RateConversion:
    """From one sampling rate to another, ``up`` samples for every ``down``.

    Parameters
    ----------
    sfreq_in : float
        Rate of the recording, in Hz.
    up, down : int
        Reduced fraction of the two rates; 1 and 1 where the rate is kept.
    """

    sfreq_in: float
    up: int = 1
    down: int = 1

    @staticmethod
    def between(sfreq_in: float, sfreq_out: float) -> RateConversion:
        """Find the fraction of two rates.

        Parameters
        ----------
        sfreq_in, sfreq_out : float
            Rates in Hz.

        Returns
        -------
        RateConversion
            With ``up / down`` equal to ``sfreq_out / sfreq_in`` within 2e-4.
        """
        ratio = Fraction(sfreq_in / sfreq_out).limit_denominator(MAX_DENOMINATOR)
        return RateConversion(sfreq_in, ratio.denominator, ratio.numerator)

    @property
    def sfreq_out(self) -> float:
        """Rate after conversion, in Hz."""
        return self.sfreq_in * self.up / self.down

    @property
    def is_identity(self) -> bool:
        """True where samples are kept as they are."""
        return self.up == self.down

    def n_times_out(self, n_times_in: int) -> int:
        """Count the samples that a stretch has after conversion.

        Parameters
        ----------
        n_times_in : int
            Samples before.

        Returns
        -------
        int
            Whole samples that fit into the same duration.
        """
        return n_times_in * self.up // self.down

    def first_sample_in(self, sample_out: int) -> int:
        """Find the first original sample at or after a converted one.

        Parameters
        ----------
        sample_out : int
            Index after conversion.

        Returns
        -------
        int
            Index before conversion.
        """
        return -(-sample_out * self.down // self.up)

    def taper(self, frequencies: FloatArray) -> FloatArray:
        """Evaluate the anti-alias taper.

        Parameters
        ----------
        frequencies : ndarray of float64, shape (n_frequencies,)
            In Hz, none negative.

        Returns
        -------
        ndarray of float64, shape (n_frequencies,)
            Gain from 0 to 1 (no unit); all ones where the rate is kept.
        """
        if self.is_identity:
            return np.ones_like(frequencies)
        stop = min(self.sfreq_in, self.sfreq_out) / 2.0
        start = min(PASS_EDGE_HZ, USABLE_NYQUIST_FRACTION * stop)
        phase = np.clip((frequencies - start) / (stop - start), 0.0, 1.0)
        return np.asarray(0.5 * (1.0 + np.cos(np.pi * phase)), dtype=np.float64)
