"""What was planted is what is found, with plain spectra and nothing of neuroveil's own."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from neuroveil.types.catalogue import STANDARD_CHANNELS
from neuroveil.types.recording import FloatArray

OCCIPITAL = [STANDARD_CHANNELS.index("O1"), STANDARD_CHANNELS.index("O2")]
FRONTAL = [STANDARD_CHANNELS.index("Fp1"), STANDARD_CHANNELS.index("Fp2")]


def separation(positive: FloatArray, negative: FloatArray) -> float:
    """Probability that a positive case lies above a negative one (area under the ROC curve)."""
    return float((positive[:, None] > negative[None, :]).mean())


def flat_rows(session: Any) -> list[int]:
    return [session.labels.index(label) for label in session.flat_channels]


@pytest.mark.slow
def test_alpha_peak_is_where_it_was_planted(cohort: Any) -> None:
    errors = []
    for session in cohort.truth.sessions:
        rows = [row for row in OCCIPITAL if row not in flat_rows(session)]
        frequencies, densities = cohort.spectra(session)
        inside = (frequencies >= 7.5) & (frequencies <= 13)
        bump = densities[rows][:, inside].mean(axis=0)
        # The 1/f slope pulls the raw maximum down, so it is taken out first.
        bump = bump * frequencies[inside] ** session.signature.exponent
        centre = (bump**2 * frequencies[inside]).sum() / (bump**2).sum()
        errors.append(abs(centre - session.signature.alpha_peak_hz))
    assert np.median(errors) < 0.25
    assert max(errors) < 0.8


def test_alpha_is_stronger_at_the_back(cohort: Any, band_powers: FloatArray) -> None:
    alpha = band_powers[:, :, 2]
    unaffected = [row for row, s in enumerate(cohort.truth.sessions) if not s.flat_channels]
    difference = alpha[unaffected][:, OCCIPITAL].mean(axis=1) - alpha[unaffected][:, FRONTAL].mean(
        axis=1
    )
    assert (difference > 0).all()
    assert np.median(10**difference) > 3


def test_sessions_of_a_person_are_nearer_than_other_people(
    cohort: Any, band_powers: FloatArray
) -> None:
    logs = band_powers.copy()
    for row, session in enumerate(cohort.truth.sessions):
        logs[row, flat_rows(session)] = np.nan
    scaled = (logs - np.nanmedian(logs, axis=0)) / np.nanstd(logs, axis=0)
    templates, probes = scaled[::2], scaled[1::2]
    squares = np.nanmean((templates[:, None] - probes[None]) ** 2, axis=(2, 3))
    own = np.sqrt(np.diag(squares))
    others = np.sqrt(squares[~np.eye(len(squares), dtype=bool)])
    assert (squares.argmin(axis=1) == np.arange(len(squares))).all()
    assert np.median(own) < 0.5 * np.median(others)


def test_spectrum_falls_with_the_planted_exponent(cohort: Any) -> None:
    fitted, planted = [], []
    for session in cohort.truth.sessions:
        frequencies, densities = cohort.spectra(session)
        # Between the beta rhythm and mains: nothing but background and a little muscle.
        inside = (frequencies >= 28) & (frequencies <= 46)
        rows = [STANDARD_CHANNELS.index(name) for name in ("Fz", "Cz", "Pz", "P3", "P4")]
        rows = [row for row in rows if row not in flat_rows(session)]
        density = np.log10(densities[rows][:, inside]).mean(axis=0)
        fitted.append(-np.polyfit(np.log10(frequencies[inside]), density, 1)[0])
        planted.append(session.signature.exponent)
    assert np.corrcoef(fitted, planted)[0, 1] > 0.7


def test_epilepsy_can_be_told_from_health(cohort: Any, band_powers: FloatArray) -> None:
    # Theta against its neighbours on a log scale: size and slope of the background drop out.
    slowing = (band_powers[:, :, 1] - band_powers[:, :, [0, 3]].mean(axis=2)).mean(axis=1)
    has_epilepsy = np.repeat(
        [patient.diagnosis == "epilepsy" for patient in cohort.truth.patients], 2
    )
    assert separation(slowing[has_epilepsy], slowing[~has_epilepsy]) > 0.8


def test_focus_is_slower_than_its_mirror_image(cohort: Any, band_powers: FloatArray) -> None:
    mirror = {"T7": "T8", "T8": "T7", "F7": "F8", "F8": "F7", "P7": "P8", "P8": "P7"}
    differences = []
    for number, patient in enumerate(cohort.truth.patients):
        if patient.focus is None:
            continue
        theta = band_powers[2 * number : 2 * number + 2, :, 1].max(axis=0)
        here, there = (STANDARD_CHANNELS.index(c) for c in (patient.focus, mirror[patient.focus]))
        differences.append(theta[here] - theta[there])
    assert np.mean(np.array(differences) > 0) > 0.8


def test_seizure_has_its_rhythm_at_three_hertz(cohort: Any) -> None:
    from scipy.signal import welch

    sessions = [session for session in cohort.truth.sessions if session.seizure is not None]
    assert sessions
    for session in sessions:
        start, end = (int(moment * session.sfreq) for moment in session.seizure)
        fz = cohort.signals(session)[STANDARD_CHANNELS.index("Fz")]
        seizure, before = fz[start:end], fz[:start]
        frequencies, during = welch(seizure, session.sfreq, nperseg=4 * session.sfreq)
        _, outside = welch(before, session.sfreq, nperseg=4 * session.sfreq)
        at_three = np.abs(frequencies - 3.0) <= 0.25
        assert during[at_three].sum() > 4 * outside[at_three].sum()


def test_blinks_stand_at_their_onsets(cohort: Any) -> None:
    session = next(s for s in cohort.truth.sessions if "EOG" in s.kinds and len(s.blinks) > 3)
    signals = cohort.signals(session)
    upper, lower = signals[session.labels.index("VEOGU")], signals[session.labels.index("VEOGL")]
    for onset in session.blinks:
        peak = int((onset + 0.175) * session.sfreq)
        before = int((onset - 0.1) * session.sfreq)
        assert upper[peak] - upper[before] > 80
        assert lower[peak] - lower[before] < -40


def test_mains_stand_out_at_their_frequency(cohort: Any) -> None:
    for session in cohort.truth.sessions[:6]:
        frequencies, densities = cohort.spectra(session)
        line = np.argmin(np.abs(frequencies - session.line_frequency))
        neighbours = np.r_[line - 12 : line - 4, line + 5 : line + 13]
        ratio = densities[:, line] / np.maximum(densities[:, neighbours].mean(axis=1), 1e-9)
        assert np.median(ratio) > 5


def test_flat_channels_are_flat_and_few(cohort: Any) -> None:
    flat = [session for session in cohort.truth.sessions if session.flat_channels]
    assert 0 < len(flat) < len(cohort.truth.sessions) / 6
    for session in cohort.truth.sessions:
        is_flat = np.ptp(cohort.signals(session), axis=1) == 0
        names = {label for label, flag in zip(session.labels, is_flat, strict=True) if flag}
        assert names == set(session.flat_channels)


def test_amplitudes_are_those_of_eeg(cohort: Any) -> None:
    for session in cohort.truth.sessions:
        eeg = cohort.signals(session)[: len(STANDARD_CHANNELS)]
        deviation = np.delete(eeg, flat_rows(session), axis=0).std(axis=1)
        assert deviation.min() > 5
        assert deviation.max() < 100
        assert np.abs(eeg).max() < 800


@pytest.mark.parametrize("low_to_high", [(0.5, 1.0), (70.0, 94.0)])
def test_no_recording_is_empty_at_the_ends_of_the_spectrum(
    cohort: Any, low_to_high: tuple[float, float]
) -> None:
    session = cohort.truth.sessions[0]
    frequencies, densities = cohort.spectra(session)
    inside = (frequencies >= low_to_high[0]) & (frequencies < low_to_high[1])
    assert (densities[:, inside].mean(axis=1) > 1e-3).all()


def test_events_are_a_second_apart(cohort: Any) -> None:
    for session in cohort.truth.sessions:
        for onsets in (session.blinks, session.spikes, session.muscle):
            assert all(later - earlier >= 0.999 for earlier, later in pairwise(onsets))
            assert all(0 <= onset <= session.seconds - 1 for onset in onsets)
