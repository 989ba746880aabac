"""Ongoing activity: the 1/f background, the rhythms, mains and drift.

Everything is drawn in the frequency domain, where a process with a given power spectral
density is white noise times the square root of that density, and brought back with one
inverse transform for all channels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from neuroveil.simulate.head import background_mixing, field_around, posterior_fields
from neuroveil.simulate.truth import PatientTruth, SessionTruth
from neuroveil.types.catalogue import SPECTRUM_RANGE_HZ
from neuroveil.types.recording import FloatArray, SignalArray

ALPHA_WIDTH_HZ = 0.7
BETA_PEAK_HZ, BETA_WIDTH_HZ = 20.0, 2.5
SLOWING_PEAK_HZ, SLOWING_WIDTH_HZ, SLOWING_POWER = 5.5, 0.8, 60.0
"""Focal slowing next to an epileptic focus: theta activity; power in µV² at the focus."""

AMPLIFIER_HZ: tuple[float, float] = (0.1, 95.0)
"""Pass band of the pretended amplifier, in Hz; stated in the file header."""

DRIFT_RMS, DRIFT_WIDTH_HZ = 15.0, 0.15
"""Slow drift of the electrodes: root mean square in µV, and how fast it is."""

Spectrum = npt.NDArray[np.complex64]


def ongoing_activity(
    rng: np.random.Generator, patient: PatientTruth, session: SessionTruth
) -> SignalArray:
    """Draw everything that goes on all the time at the 19 standard channels.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    patient : PatientTruth
        Whose recording it is.
    session : SessionTruth
        What to plant.

    Returns
    -------
    ndarray of float32, shape (19, n_times)
        In microvolts.
    """
    from scipy import fft

    frequencies = fft.rfftfreq(session.n_times, 1 / session.sfreq)
    drift_weights = _drift_profile(frequencies)
    weights = amplifier_response(frequencies)
    spectrum = _background(rng, session, frequencies)
    for field, profile in _rhythms(patient, session, frequencies):
        spectrum += field.astype(np.float32) @ _white(rng, (field.shape[1], len(profile))) * profile
    spectrum *= np.array(session.signature.gains, np.float32)[:, None]
    spectrum += _white(rng, spectrum.shape) * drift_weights
    spectrum *= weights
    return np.asarray(fft.irfft(spectrum, session.n_times, axis=1), dtype=np.float32)


def amplifier_response(frequencies: FloatArray) -> npt.NDArray[np.float32]:
    """Amplitude response of the pretended amplifier.

    Parameters
    ----------
    frequencies : ndarray of float64, shape (n_frequencies,)
        In Hz.

    Returns
    -------
    ndarray of float32, shape (n_frequencies,)
        Between 0 and 1: second order at the low end, tenth order at the high end.
    """
    low, high = AMPLIFIER_HZ
    with np.errstate(divide="ignore"):
        response = 1 / np.sqrt((1 + (low / frequencies) ** 4) * (1 + (frequencies / high) ** 20))
    return np.asarray(response, dtype=np.float32)


def mains(rng: np.random.Generator, session: SessionTruth) -> SignalArray:
    """Interference from the mains with its third harmonic, phase-locked over channels.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    session : SessionTruth
        Gives frequency and amplitude.

    Returns
    -------
    ndarray of float32, shape (19, n_times)
        In microvolts.
    """
    times = np.arange(session.n_times) / session.sfreq
    pickup = session.line_amplitude * 10 ** rng.normal(0.0, 0.25, (19, 1))
    phase = 2 * np.pi * (session.line_frequency * times + rng.random())
    wave = np.sin(phase)
    if 3 * session.line_frequency < session.sfreq / 2:
        wave = wave + 0.2 * np.sin(3 * phase)
    return np.asarray(pickup * wave, dtype=np.float32)


def _background(
    rng: np.random.Generator, session: SessionTruth, frequencies: FloatArray
) -> Spectrum:
    signature = session.signature

    def density(frequency: FloatArray) -> FloatArray:
        # A knee at half a hertz keeps the slowest activity finite.
        return np.asarray((frequency**2 + 0.25) ** (-signature.exponent / 2))

    profile = _profile(frequencies, density, signature.background_rms**2)
    return (background_mixing().astype(np.float32) @ _white(rng, (19, len(profile)))) * profile


def _rhythms(
    patient: PatientTruth, session: SessionTruth, frequencies: FloatArray
) -> list[tuple[FloatArray, npt.NDArray[np.float32]]]:
    """Fields (19, n_sources) and amplitude profiles of the narrow-band sources."""
    signature = session.signature
    central = np.column_stack([field_around("C3"), field_around("C4")])
    rhythms = [
        (posterior_fields(), signature.alpha_peak_hz, ALPHA_WIDTH_HZ, signature.alpha_power),
        (central, BETA_PEAK_HZ, BETA_WIDTH_HZ, signature.beta_power),
    ]
    if patient.focus is not None:
        focus = field_around(patient.focus)[:, None]
        rhythms.append((focus, SLOWING_PEAK_HZ, SLOWING_WIDTH_HZ, SLOWING_POWER))
    return [
        (field, _profile(frequencies, _bump(peak, width), power))
        for field, peak, width, power in rhythms
    ]


def _bump(peak: float, width: float) -> Callable[[FloatArray], FloatArray]:
    def density(frequency: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-0.5 * ((frequency - peak) / width) ** 2))

    return density


def _profile(
    frequencies: FloatArray, density: Callable[[FloatArray], FloatArray], power: float
) -> npt.NDArray[np.float32]:
    """Amplitude by frequency of a process with this density and power between 0.5 and 70 Hz."""
    values = density(frequencies)
    inside = (frequencies >= SPECTRUM_RANGE_HZ[0]) & (frequencies < SPECTRUM_RANGE_HZ[1])
    return _to_amplitude(values * power / values[inside].sum(), frequencies)


def _drift_profile(frequencies: FloatArray) -> npt.NDArray[np.float32]:
    values = np.exp(-0.5 * (frequencies / DRIFT_WIDTH_HZ) ** 2)
    return _to_amplitude(values * DRIFT_RMS**2 / values.sum(), frequencies)


def _to_amplitude(power_by_bin: FloatArray, frequencies: FloatArray) -> npt.NDArray[np.float32]:
    # A bin's power p comes from a complex value of mean square n²·p/2 (both halves of the
    # spectrum), and _white has mean square 2.
    n_times = 2 * (len(frequencies) - 1)
    return np.asarray(n_times * np.sqrt(power_by_bin) / 2, dtype=np.float32)


def _white(rng: np.random.Generator, shape: tuple[int, ...]) -> Spectrum:
    """Complex white noise whose real and imaginary parts have variance 1."""
    parts = rng.standard_normal((*shape, 2), dtype=np.float32)
    return parts.view(np.complex64)[..., 0]
