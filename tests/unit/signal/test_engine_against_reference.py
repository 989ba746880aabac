"""The engine gives what the slow and obvious implementation gives.

The promise is 1e-4; the tests hold it to 1e-5.
"""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.signal import RejectionSettings, SignalSettings, extract_features

TOLERANCE = 1e-5
ON, OFF = RejectionSettings(), RejectionSettings(enabled=False)
# lower limits than usual, so that clean recordings lose windows and a channel too
STRICT = RejectionSettings(amplitude_uv=70.0, bad_channel_fraction=0.4, bad_window_fraction=0.3)


def assert_agrees(reference, recording, settings):
    sums, counts = reference.reference_features(recording, settings)
    found = extract_features(recording, settings)
    np.testing.assert_array_equal(found.counts, np.repeat(counts[:, None], 11, axis=1))
    np.testing.assert_allclose(found.sums, sums, rtol=TOLERANCE)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "harmonised"])
@pytest.mark.parametrize("rejection", [ON, OFF, STRICT], ids=["on", "off", "strict"])
def test_real_recording(reference, real_signal, make_recording, preset, rejection):
    values, sfreq = real_signal("Subject03_2")
    recording = make_recording([values], sfreq)
    settings = SignalSettings(preset=preset, rejection=rejection)
    found = assert_agrees(reference, recording, settings)
    if rejection is STRICT:
        assert 0 < found.counts[:, 0].min() < found.counts[:, 0].max() < found.n_windows


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "harmonised"])
@pytest.mark.parametrize("rejection", [ON, OFF], ids=["on", "off"])
def test_real_recording_with_eye_channels(
    reference, real_signal, make_recording, preset, rejection
):
    values, sfreq = real_signal("Subject01_2")
    # the two frontopolar channels stand in for eye channels
    values = np.concatenate([values[2:], values[:2]])
    recording = make_recording([values], sfreq, n_eog=2)
    assert_agrees(reference, recording, SignalSettings(preset=preset, rejection=rejection))


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["paper", "harmonised"])
def test_real_recording_in_segments_with_gaps_and_faults(
    reference, real_signal, make_recording, preset
):
    values, sfreq = real_signal("Subject09_2")
    values[3, 3000:3100] = np.nan
    values[4, :9000] = np.nan
    values[5] = values[5, 0]
    values[6, 12_000:14_000] = values[6].max() + 300
    values[7] += 900 * np.sin(2 * np.pi * 3 * np.arange(values.shape[1]) / sfreq)
    values[8, 5000:7000] = values[8, 5000]
    values[9] = 80 * np.sin(2 * np.pi * 50 * np.arange(values.shape[1]) / sfreq)
    parts = [values[:, :7777], values[:, 7777:8500], values[:, 8500:25_001], values[:, 25_001:]]
    found = assert_agrees(reference, make_recording(parts, sfreq), SignalSettings(preset=preset))
    codes = {finding.code for finding in found.findings}
    assert {"short_segment", "flat_channel", "noisy_channel", "disconnected_channel"} <= codes


@pytest.mark.slow
def test_real_recording_left_bipolar(reference, real_signal, make_recording):
    values, sfreq = real_signal("Subject12_2")
    recording = make_recording([values[:-1] - values[1:]], sfreq, montage="bipolar")
    assert_agrees(reference, recording, SignalSettings(rejection=STRICT))


@pytest.mark.parametrize("sfreq", [128.0, 200.0, 250.0, 256.0, 499.5, 512.0, 1000.0])
def test_made_recording_at_any_rate(reference, noise, make_recording, sfreq):
    values = noise(1, 4, 21.3, sfreq)
    # its own 90 Hz end lies above what 128 and 200 Hz can carry; only bands below are asked for
    recording = make_recording([values], sfreq)
    sums, counts = reference.reference_features(recording, SignalSettings())
    found = extract_features(recording, SignalSettings())
    is_present = found.counts[0] > 0
    assert is_present.sum() == (9 if sfreq == 128.0 else 11)
    np.testing.assert_allclose(found.sums[:, is_present], sums[:, is_present], rtol=TOLERANCE)
    assert (found.counts[:, 0] == counts).all()


@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.75])
@pytest.mark.parametrize("preset", ["paper", "harmonised"])
def test_other_windows_and_mains(reference, noise, make_recording, preset, overlap):
    values = noise(2, 3, 17.0, 250.0)
    values += 30 * np.sin(2 * np.pi * 60 * np.arange(values.shape[1]) / 250.0)
    settings = SignalSettings(
        preset=preset, overlap=overlap, line_frequency_hz=60, window_seconds=3.0
    )
    assert_agrees(reference, make_recording([values], 250.0), settings)


@pytest.mark.parametrize("seconds", [2.0, 2.3, 4.9, 8.0, 14.2])
def test_short_stretches(reference, noise, make_recording, seconds):
    values = noise(3, 3, seconds, 250.0) + 400.0
    assert_agrees(reference, make_recording([values], 250.0), SignalSettings())
