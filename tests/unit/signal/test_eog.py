"""Eye movements are regressed out where eye channels exist, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.signal import RejectionSettings, SignalSettings, extract_features

SFREQ = 256.0
SETTINGS = SignalSettings(rejection=RejectionSettings(enabled=False))
WITHOUT = SignalSettings(rejection=RejectionSettings(enabled=False), eog_regression=False)


@pytest.fixture
def blinking(noise):
    """Four EEG channels without and with blinks, and two eye channels."""
    eeg = noise(21, 4, 60.0, SFREQ)
    times = np.arange(eeg.shape[1]) / SFREQ
    blinks = sum(np.exp(-0.5 * ((times - t) / 0.1) ** 2) for t in np.arange(3, 58, 4.3)) * 150
    sideways = noise(22, 1, 60.0, SFREQ)[0] * 3
    seen = eeg + np.outer([0.8, 0.5, 0.1, 0.02], blinks) + np.outer([0.2, -0.2, 0.1, 0], sideways)
    # an eye channel is never silent between blinks
    return eeg, seen, np.stack([blinks, sideways]) + noise(23, 2, 60.0, SFREQ) * 0.2


def test_blinks_are_taken_out(blinking, make_recording, means):
    clean, seen, eyes = blinking
    truth = means(extract_features(make_recording([clean], SFREQ), SETTINGS))
    both = make_recording([np.concatenate([seen, eyes])], SFREQ, n_eog=2)
    corrected = extract_features(both, SETTINGS)
    np.testing.assert_allclose(means(corrected), truth, rtol=0.05)
    assert ("eog_regression", 2) in [(each.code, each.count) for each in corrected.findings]
    untouched = means(extract_features(both, WITHOUT))
    alone = means(extract_features(make_recording([seen], SFREQ), SETTINGS))
    np.testing.assert_array_equal(untouched, alone)
    delta = SETTINGS.features.index("delta_power")
    assert untouched[0, delta] > 3 * truth[0, delta]


def test_amplitudes_are_judged_after_the_regression(blinking, make_recording):
    _, seen, eyes = blinking
    tight = RejectionSettings(amplitude_uv=90.0)
    both = make_recording([np.concatenate([seen, eyes])], SFREQ, n_eog=2)
    corrected = extract_features(both, SignalSettings(rejection=tight))
    rejected = extract_features(both, SignalSettings(rejection=tight, eog_regression=False))
    assert rejected.counts[0, 0] < 0.6 * rejected.n_windows
    assert corrected.counts[0, 0] > 0.95 * corrected.n_windows


@pytest.mark.parametrize("value", [0.0, 55.5, np.nan])
def test_a_dead_eye_channel_changes_nothing(blinking, make_recording, means, value):
    _, seen, eyes = blinking
    eyes[0] = value
    eyes[1] = value
    both = make_recording([np.concatenate([seen, eyes])], SFREQ, n_eog=2)
    for settings in (SETTINGS, SignalSettings()):
        alone = extract_features(make_recording([seen], SFREQ), settings)
        found = extract_features(both, settings)
        np.testing.assert_allclose(means(found), means(alone), rtol=1e-5)
        np.testing.assert_array_equal(found.counts, alone.counts)


def test_an_eye_channel_given_twice_counts_once(blinking, make_recording, means):
    _, seen, eyes = blinking
    once = make_recording([np.concatenate([seen, eyes])], SFREQ, n_eog=2)
    twice = make_recording([np.concatenate([seen, eyes, eyes[:1]])], SFREQ, n_eog=3)
    np.testing.assert_allclose(
        means(extract_features(twice, SETTINGS)),
        means(extract_features(once, SETTINGS)),
        rtol=1e-3,
    )


@pytest.mark.parametrize("settings", [SETTINGS, SignalSettings()], ids=["off", "on"])
def test_a_failing_eye_channel_costs_its_windows(blinking, make_recording, means, settings):
    _, seen, eyes = blinking
    both = make_recording([np.concatenate([seen, eyes])], SFREQ, n_eog=2)
    expected = means(extract_features(both, settings))
    eyes[1, 5000:6000] = np.nan
    both = make_recording([np.concatenate([seen, eyes])], SFREQ, n_eog=2)
    found = extract_features(both, settings)
    # samples 5000 to 5999 lie in hops 19 to 23, and so in windows 18 to 23
    assert (found.counts == 59 - 6).all()
    assert ("eog_faults", 6) in [(each.code, each.count) for each in found.findings]
    np.testing.assert_allclose(means(found), expected, rtol=0.15)


def test_faults_of_an_eye_channel_do_not_enter_the_fit(blinking, make_recording, reference):
    _, seen, eyes = blinking
    eyes[0, 4000:9000] = 300.0
    eyes[1, 300:900] = np.nan
    seen[2, 2000:2600] = np.nan
    parts = np.concatenate([seen, eyes])
    recording = make_recording([parts[:, :7000], parts[:, 7000:]], SFREQ, n_eog=2)
    for settings in (SETTINGS, SignalSettings()):
        sums, counts = reference.reference_features(recording, settings)
        found = extract_features(recording, settings)
        np.testing.assert_array_equal(found.counts[:, 0], counts)
        np.testing.assert_allclose(found.sums, sums, rtol=1e-4)
