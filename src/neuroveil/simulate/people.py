"""Draw the people of a cohort and what happens in each of their recordings."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from neuroveil.simulate.spec import CohortSpec
from neuroveil.simulate.truth import (
    CohortTruth,
    Diagnosis,
    PatientTruth,
    SessionTruth,
    Sex,
    Signature,
)
from neuroveil.types.catalogue import STANDARD_CHANNELS

FOCI: tuple[str, ...] = ("T7", "T8", "F7", "F8", "P7", "P8")
"""Where a focus may sit: the temporal lobes and their neighbours, the commonest place."""

PERSON_MEAN = {"rms": 0.75, "exponent": 1.55, "alpha": 1.95, "beta": 1.15}
PERSON_SPREAD = {"rms": 0.1, "exponent": 0.15, "alpha": 0.25, "beta": 0.2, "gain": 0.05}
"""Means and standard deviations between people: log10 of µV or µV², or plain for the exponent.
Chosen so that features of clean recordings lie where those of public recordings of healthy
adults lie, within about one spread, and rows are about as long."""

DAY_SHARE = 0.2
"""A person differs from day to day by this share of the spread between people."""

_OLD_NAMES = {"T7": "T3", "T8": "T4", "P7": "T5", "P8": "T6"}


def plan_cohort(spec: CohortSpec) -> CohortTruth:
    """Draw patients and recordings without making any signal.

    Parameters
    ----------
    spec : CohortSpec
        Size and make-up.

    Returns
    -------
    CohortTruth
        What :func:`~neuroveil.simulate.simulate_cohort` plants for this specification.
    """
    patients = tuple(_draw_patient(spec, number) for number in range(spec.n_patients))
    if spec.n_in_two_hospitals:
        patients = _seen_again(patients, spec.n_in_two_hospitals)
    sessions = tuple(
        _draw_session(spec, number, patient, session)
        for number, patient in enumerate(patients)
        for session in range(spec.n_sessions)
    )
    return CohortTruth(patients, sessions)


def _seen_again(patients: tuple[PatientTruth, ...], n_again: int) -> tuple[PatientTruth, ...]:
    """Make the last patients the first ones again, at their own hospital and key."""
    again = (
        replace(person, patient=row.patient, hospital=row.hospital)
        for person, row in zip(patients[:n_again], patients[-n_again:], strict=True)
    )
    return (*patients[:-n_again], *again)


def stream(spec: CohortSpec, *key: int) -> np.random.Generator:
    """Random numbers that belong to one patient or recording, whatever the cohort's size.

    Parameters
    ----------
    spec : CohortSpec
        Holds the seed.
    *key : int
        Patient number and purpose.

    Returns
    -------
    numpy.random.Generator
        Always the same one for the same seed and key.
    """
    return np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=key))


def _draw_patient(spec: CohortSpec, number: int) -> PatientTruth:
    rng = stream(spec, number, 0)
    # Bresenham's rule: the share holds in every run of patients, not just on average.
    share = spec.epilepsy_share
    has_epilepsy = math.floor((number + 1) * share) > math.floor(number * share)
    diagnosis: Diagnosis = "epilepsy" if has_epilepsy else "healthy"
    sex: Sex = "F" if rng.random() < 0.5 else "M"
    return PatientTruth(
        patient=f"sub-{number + 1:04d}",
        hospital=f"hospital-{number * spec.n_hospitals // spec.n_patients + 1}",
        age=int(rng.integers(18, 81)),
        sex=sex,
        diagnosis=diagnosis,
        signature=_draw_signature(rng),
        focus=str(rng.choice(FOCI)) if has_epilepsy else None,
    )


def _draw_signature(rng: np.random.Generator) -> Signature:
    mean, spread = PERSON_MEAN, PERSON_SPREAD

    def power_of_ten(name: str) -> float:
        return float(10 ** (mean[name] + spread[name] * np.clip(rng.standard_normal(), -2.5, 2.5)))

    return Signature(
        background_rms=power_of_ten("rms"),
        exponent=float(np.clip(rng.normal(mean["exponent"], spread["exponent"]), 1.1, 2.0)),
        alpha_peak_hz=float(rng.uniform(8.6, 11.8)),
        alpha_power=power_of_ten("alpha"),
        beta_power=power_of_ten("beta"),
        gains=tuple((10 ** rng.normal(0.0, spread["gain"], len(STANDARD_CHANNELS))).tolist()),
    )


def _on_another_day(rng: np.random.Generator, person: Signature) -> Signature:
    spread = {name: DAY_SHARE * value for name, value in PERSON_SPREAD.items()}
    gains = np.array(person.gains) * 10 ** rng.normal(0.0, spread["gain"], len(person.gains))
    return replace(
        person,
        background_rms=float(person.background_rms * 10 ** rng.normal(0.0, spread["rms"])),
        exponent=float(person.exponent + rng.normal(0.0, spread["exponent"])),
        alpha_peak_hz=float(person.alpha_peak_hz + np.clip(rng.normal(0.0, 0.08), -0.2, 0.2)),
        alpha_power=float(person.alpha_power * 10 ** rng.normal(0.0, spread["alpha"])),
        beta_power=float(person.beta_power * 10 ** rng.normal(0.0, spread["beta"])),
        gains=tuple(gains.tolist()),
    )


def _draw_session(
    spec: CohortSpec, number: int, patient: PatientTruth, session: int
) -> SessionTruth:
    rng = stream(spec, number, 1, session)
    seconds = round(spec.seconds * rng.uniform(0.9, 1.1))
    has_epilepsy = patient.diagnosis == "epilepsy"
    labels, kinds = _channels(spec, number, patient)
    eeg_labels = [label for label, kind in zip(labels, kinds, strict=True) if kind == "EEG"]
    is_flat = (number * spec.n_sessions + session) % 12 == 5
    return SessionTruth(
        patient=patient.patient,
        session=f"ses-{session + 1:02d}",
        # Every fourth patient was seen on another device the next time.
        sfreq=spec.sampling_rates[
            (number + (session if number % 4 == 3 else 0)) % len(spec.sampling_rates)
        ],
        seconds=seconds,
        labels=labels,
        kinds=kinds,
        signature=_on_another_day(rng, patient.signature),
        line_frequency=spec.line_frequency,
        line_amplitude=float(10 ** rng.normal(0.5, 0.2)),
        blinks=_onsets(rng, 6.0, seconds),
        spikes=_onsets(rng, 14.0, seconds) if has_epilepsy else (),
        muscle=_onsets(rng, 3.0, seconds),
        seizure=_draw_seizure(rng, seconds) if has_epilepsy and number % 3 == 1 else None,
        flat_channels=(str(rng.choice(eeg_labels)),) if is_flat else (),
    )


def _channels(
    spec: CohortSpec, number: int, patient: PatientTruth
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the channels the way the patient's hospital does."""
    rng = stream(spec, number, 2)
    prefixed = int(patient.hospital.rpartition("-")[2]) % 2 == 0
    eeg = (
        [f"EEG {_OLD_NAMES.get(name, name)}-REF" for name in STANDARD_CHANNELS]
        if prefixed
        else list(STANDARD_CHANNELS)
    )
    eog = ["VEOGU", "VEOGL"] if rng.random() < 0.6 else []
    ecg = ["ECG"] if rng.random() < 0.5 else []
    kinds = ("EEG",) * len(eeg) + ("EOG",) * len(eog) + ("ECG",) * len(ecg)
    return tuple(eeg + eog + ecg), kinds


def _onsets(rng: np.random.Generator, per_minute: float, seconds: int) -> tuple[float, ...]:
    """Events at random times, at least a second apart and away from both ends."""
    count = rng.poisson(per_minute * seconds / 60)
    candidates = np.sort(rng.uniform(0.5, seconds - 1.5, count))
    kept: list[float] = []
    for onset in candidates.tolist():
        if not kept or onset - kept[-1] >= 1.0:
            kept.append(round(onset, 3))
    return tuple(kept)


def _draw_seizure(rng: np.random.Generator, seconds: int) -> tuple[float, float]:
    length = float(rng.uniform(0.12, 0.2)) * seconds
    start = float(rng.uniform(0.2, 0.6)) * seconds
    return round(start, 3), round(start + length, 3)
