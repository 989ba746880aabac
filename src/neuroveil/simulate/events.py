"""What comes and goes: blinks, muscle, epileptic spikes, seizures, heartbeats."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from neuroveil.simulate.head import electrode_positions, field_around
from neuroveil.simulate.truth import PatientTruth, SessionTruth
from neuroveil.types.recording import FloatArray, SignalArray

BLINK_UV, SPIKE_UV, SEIZURE_UV, MUSCLE_UV, HEARTBEAT_UV = 150.0, 80.0, 70.0, 9.0, 900.0
"""Typical peak amplitudes (muscle: root mean square) where each is strongest, in µV."""

SEIZURE_HZ = 3.0
"""Rate of the spike-and-wave discharges of a seizure, in Hz."""

EOG_FACTORS: tuple[float, float] = (1.6, -1.1)
"""How the electrodes above and below the eye see a blink, against Fp1."""


def blinks(rng: np.random.Generator, session: SessionTruth) -> tuple[SignalArray, SignalArray]:
    """Eye blinks at the scalp and at the two eye electrodes.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    session : SessionTruth
        Gives the onsets.

    Returns
    -------
    scalp : ndarray of float32, shape (19, n_times)
        In microvolts, strongest over the forehead.
    eyes : ndarray of float32, shape (2, n_times)
        In microvolts, with opposite signs above and below the eye.
    """
    length = np.arange(int(0.35 * session.sfreq)) / (0.35 * session.sfreq)
    kernel = np.sin(np.pi * length) ** 2
    amplitudes = BLINK_UV * rng.uniform(0.7, 1.3, len(session.blinks))
    course = _train(session, session.blinks, amplitudes, kernel)
    forwards = electrode_positions()[:, 1]
    field = np.clip(forwards / forwards.max(), 0.0, 1.0) ** 3
    return _outer(field, course), _outer(np.array(EOG_FACTORS), course)


def epileptic_activity(
    rng: np.random.Generator, patient: PatientTruth, session: SessionTruth
) -> SignalArray:
    """Spikes with their slow waves around the focus, and a generalised seizure.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    patient : PatientTruth
        Gives the focus.
    session : SessionTruth
        Gives onsets and the seizure.

    Returns
    -------
    ndarray of float32, shape (19, n_times)
        In microvolts; zeros for a patient without a focus.
    """
    if patient.focus is None:
        return np.zeros((19, session.n_times), np.float32)
    kernel = _spike_and_wave(session.sfreq)
    amplitudes = SPIKE_UV * rng.uniform(0.6, 1.4, len(session.spikes))
    activity = _outer(
        field_around(patient.focus), _train(session, session.spikes, amplitudes, kernel)
    )
    if session.seizure is not None:
        start, end = session.seizure
        onsets = np.arange(start, end - 1 / SEIZURE_HZ, 1 / SEIZURE_HZ).tolist()
        amplitudes = SEIZURE_UV * rng.uniform(0.85, 1.15, len(onsets))
        frontal = 0.6 + 0.4 * electrode_positions()[:, 1]
        activity += _outer(frontal, _train(session, onsets, amplitudes, kernel))
    return activity


def muscle(rng: np.random.Generator, session: SessionTruth) -> SignalArray:
    """Bursts of muscle activity over one temple: noise that grows with frequency.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    session : SessionTruth
        Gives the onsets.

    Returns
    -------
    ndarray of float32, shape (19, n_times)
        In microvolts.
    """
    activity = np.zeros((19, session.n_times), np.float32)
    for onset in session.muscle:
        length = int(rng.uniform(0.4, 0.9) * session.sfreq)
        first = int(onset * session.sfreq)
        # Differences of white noise rise with frequency up to the Nyquist frequency.
        noise = np.diff(rng.standard_normal(length + 1)) / np.sqrt(2)
        burst = MUSCLE_UV * np.hanning(length) * noise
        field = field_around(str(rng.choice(("T7", "T8"))))
        activity[:, first : first + length] += np.outer(field, burst)
    return activity


def heartbeats(rng: np.random.Generator, session: SessionTruth) -> SignalArray:
    """An electrocardiogram with R peaks and T waves.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    session : SessionTruth
        Gives length and sampling rate.

    Returns
    -------
    ndarray of float32, shape (1, n_times)
        In microvolts.
    """
    interval = rng.uniform(0.75, 1.0)
    count = int(session.seconds / interval) + 1
    onsets = np.cumsum(interval * rng.normal(1.0, 0.03, count))
    times = np.arange(int(0.5 * session.sfreq)) / session.sfreq
    kernel = np.exp(-0.5 * ((times - 0.05) / 0.012) ** 2)
    kernel += 0.25 * np.exp(-0.5 * ((times - 0.3) / 0.04) ** 2)
    course = _train(session, onsets.tolist(), np.full(count, HEARTBEAT_UV), kernel)
    return course[None, :].astype(np.float32)


def _spike_and_wave(sfreq: int) -> FloatArray:
    """A sharp negative spike of 70 ms and a slow wave of 250 ms after it."""
    times = np.arange(int(0.33 * sfreq)) / sfreq
    spike = -np.exp(-0.5 * ((times - 0.04) / 0.012) ** 2)
    wave = 0.5 * np.sin(np.pi * np.clip((times - 0.08) / 0.25, 0.0, 1.0)) ** 2
    return np.asarray(spike + wave)


def _train(
    session: SessionTruth, onsets: Iterable[float], amplitudes: FloatArray, kernel: FloatArray
) -> FloatArray:
    """A time course with one kernel at every onset; shape (n_times,)."""
    course = np.zeros(session.n_times + len(kernel))
    for onset, amplitude in zip(onsets, amplitudes, strict=True):
        first = int(onset * session.sfreq)
        if first < session.n_times:
            course[first : first + len(kernel)] += amplitude * kernel
    return course[: session.n_times]


def _outer(field: FloatArray, course: FloatArray) -> SignalArray:
    return field.astype(np.float32)[:, None] * course.astype(np.float32)[None, :]
