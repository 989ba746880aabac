"""What was planted in a made-up cohort, so that tests can look for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sex = Literal["F", "M"]
Diagnosis = Literal["healthy", "epilepsy"]


@dataclass(frozen=True)
class Signature:
    """The stable part of somebody's EEG spectrum.

    Parameters
    ----------
    background_rms : float
        Root mean square of the background between 0.5 and 70 Hz at an average channel, in µV.
    exponent : float
        Exponent of the background's power spectral density, which falls as
        1 / frequency^exponent.
    alpha_peak_hz : float
        Centre of the alpha rhythm, in Hz.
    alpha_power : float
        Power of the alpha rhythm where it is strongest, in µV².
    beta_power : float
        Power of the central beta rhythm where it is strongest, in µV².
    gains : tuple of float
        Amplitude factor of each of the 19 standard channels.
    """

    background_rms: float
    exponent: float
    alpha_peak_hz: float
    alpha_power: float
    beta_power: float
    gains: tuple[float, ...]


@dataclass(frozen=True)
class PatientTruth:
    """One made-up patient.

    Parameters
    ----------
    patient : str
        Participant key, ``sub-NNN``.
    hospital : str
        Hospital key.
    age : int
        Age in years.
    sex : {"F", "M"}
        Sex.
    diagnosis : {"healthy", "epilepsy"}
        Class that decides whether spikes, seizures and focal slowing are planted.
    signature : Signature
        The stable part of the patient's spectrum.
    focus : str, optional
        Standard channel nearest to the epileptic focus.
    """

    patient: str
    hospital: str
    age: int
    sex: Sex
    diagnosis: Diagnosis
    signature: Signature
    focus: str | None = None


@dataclass(frozen=True)
class SessionTruth:
    """One made-up recording. All times are in seconds from the start.

    Parameters
    ----------
    patient : str
        Participant key.
    session : str
        Session key, ``ses-NN``.
    sfreq : int
        Sampling rate in Hz.
    seconds : int
        Length.
    labels : tuple of str
        Channel labels as they stand in the file.
    kinds : tuple of str
        Kind of each channel in BIDS terms: ``EEG``, ``EOG`` or ``ECG``.
    signature : Signature
        The patient's signature as it was on that day.
    line_frequency, line_amplitude : float
        Mains interference: frequency in Hz and typical amplitude in µV.
    blinks, spikes, muscle : tuple of float
        Onsets of eye blinks, epileptic spikes and bursts of muscle activity.
    seizure : tuple of float, optional
        Start and end of a seizure.
    flat_channels : tuple of str
        Labels of electrodes that were off.
    """

    patient: str
    session: str
    sfreq: int
    seconds: int
    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    signature: Signature
    line_frequency: float
    line_amplitude: float
    blinks: tuple[float, ...]
    spikes: tuple[float, ...]
    muscle: tuple[float, ...]
    seizure: tuple[float, float] | None
    flat_channels: tuple[str, ...]

    @property
    def n_times(self) -> int:
        """Number of samples a channel."""
        return self.sfreq * self.seconds


@dataclass(frozen=True)
class CohortTruth:
    """Everything that was planted in a cohort.

    Parameters
    ----------
    patients : tuple of PatientTruth
        One a patient, in the order of ``participants.tsv``.
    sessions : tuple of SessionTruth
        One a recording, by patient and session.
    """

    patients: tuple[PatientTruth, ...]
    sessions: tuple[SessionTruth, ...]

    def sessions_of(self, patient: str) -> tuple[SessionTruth, ...]:
        """Give the recordings of one patient.

        Parameters
        ----------
        patient : str
            Participant key.

        Returns
        -------
        tuple of SessionTruth
            In the order of the sessions; empty for an unknown key.
        """
        return tuple(session for session in self.sessions if session.patient == patient)
