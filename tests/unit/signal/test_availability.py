"""What cannot be measured is missing, not wrong."""

from __future__ import annotations

import pytest

from neuroveil.errors import RecordingError
from neuroveil.signal import SignalSettings, extract_features
from neuroveil.types.catalogue import FEATURE_NAMES

HIGH, EDGE = "high_gamma_power", "spectral_edge_frequency_95"


@pytest.mark.parametrize(
    ("sfreq", "highpass", "lowpass", "missing"),
    [
        (500.0, None, None, set()),
        (500.0, 0.5, 70.0, set()),
        (500.0, 0.53, None, set()),
        (500.0, None, 45.0, {HIGH}),
        (500.0, None, 69.0, {HIGH}),
        (500.0, None, 40.0, {HIGH, "gamma_power"}),
        (500.0, 1.0, None, {"delta_power"}),
        (500.0, 5.0, None, {"delta_power", "theta_power"}),
        (160.0, None, None, set()),
        (128.0, None, None, {HIGH, EDGE}),
        (100.0, None, None, {HIGH, EDGE}),
        (90.0, None, None, {HIGH, EDGE, "gamma_power"}),
        (64.0, None, 20.0, {HIGH, EDGE, "gamma_power", "beta_power"}),
    ],
)
def test_a_cut_band_is_missing(noise, make_recording, sfreq, highpass, lowpass, missing):
    recording = make_recording(
        [noise(0, 3, 8.0, sfreq)], sfreq, highpass_hz=highpass, lowpass_hz=lowpass
    )
    found = extract_features(recording, SignalSettings())
    zero = {name for name, count in zip(FEATURE_NAMES, found.counts[0], strict=True) if not count}
    assert zero == missing
    assert (found.sums[:, [name in missing for name in FEATURE_NAMES]] == 0).all()
    told = [each.message for each in found.findings if each.code == "missing_feature"]
    assert {message.split()[0] for message in told} == missing


def test_features_come_in_the_order_of_the_settings(noise, make_recording):
    recording = make_recording([noise(0, 3, 8.0, 256.0)], 256.0)
    whole = extract_features(recording, SignalSettings())
    chosen = ("alpha_power", "line_length")
    part = extract_features(recording, SignalSettings(features=chosen))
    assert part.features == chosen
    assert (part.sums == whole.sums[:, [FEATURE_NAMES.index(name) for name in chosen]]).all()


@pytest.mark.parametrize("sfreq", [128.0, 199.9, 513.0, 1000.0])
def test_paper_preset_refuses_other_rates(noise, make_recording, sfreq):
    recording = make_recording([noise(0, 2, 4.0, sfreq)], sfreq)
    with pytest.raises(RecordingError, match="200 to 512 Hz"):
        extract_features(recording, SignalSettings(preset="paper"))


@pytest.mark.parametrize("sfreq", [200.0, 512.0])
def test_paper_preset_accepts_its_edges(noise, make_recording, sfreq):
    recording = make_recording([noise(0, 2, 4.0, sfreq)], sfreq)
    found = extract_features(recording, SignalSettings(preset="paper"))
    assert found.n_windows == found.n_windows_kept == 3


@pytest.mark.parametrize("sfreq", [0.0, -256.0, 1.0, float("nan"), float("inf"), 1e6])
def test_impossible_rates_are_refused(noise, make_recording, sfreq):
    recording = make_recording([noise(0, 2, 4.0, 256.0)], sfreq)
    with pytest.raises(RecordingError, match="sampling rate"):
        extract_features(recording, SignalSettings())
