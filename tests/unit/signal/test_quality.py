"""Artefacts: every kind is found, costs its own windows only, and is told."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.signal import RejectionSettings, SignalSettings, extract_features

SFREQ = 256.0
ON, OFF = SignalSettings(), SignalSettings(rejection=RejectionSettings(enabled=False))


@pytest.fixture
def clean(noise):
    """Five channels, 30 s, 29 windows; a new copy each time."""
    return noise(11, 5, 30.0, SFREQ)


def lost(found):
    """Windows that each channel lost."""
    return (found.n_windows - found.counts[:, 0]).tolist()


def codes(found):
    return {(finding.code, finding.channel): finding.count for finding in found.findings}


def test_a_clean_recording_keeps_everything(clean, make_recording):
    found = extract_features(make_recording([clean], SFREQ), ON)
    assert found.n_windows == found.n_windows_kept == 29
    assert lost(found) == [0] * 5
    assert found.findings == ()
    assert found.seconds == 30.0


def test_a_pop_costs_the_windows_that_hold_it(clean, make_recording):
    clean[2, 2600] += 4000.0
    found = extract_features(make_recording([clean], SFREQ), ON)
    # sample 2600 lies in the windows that start at 9 and 10 s
    assert lost(found) == [0, 0, 2, 0, 0]
    assert found.n_windows_kept == 29
    assert codes(found) == {("rejected_windows", "F3"): 2}


def test_a_pop_does_not_reach_other_channels_through_the_reference(clean, make_recording, means):
    before = means(extract_features(make_recording([clean], SFREQ), ON))
    clean[2, 2600] += 4000.0
    after = means(extract_features(make_recording([clean], SFREQ), ON))
    contaminated = means(extract_features(make_recording([clean], SFREQ), OFF))
    others = [0, 1, 3, 4]
    assert np.abs(after[others] / before[others] - 1).max() < 0.1
    assert np.abs(contaminated[others] / before[others] - 1).max() > 1.0


@pytest.mark.parametrize(
    ("kind", "code"),
    [("flat", "flat_channel"), ("mains", "disconnected_channel"), ("noise", "noisy_channel"),
     ("clipped", "clipped_channel"), ("nan", "missing_samples_channel")],
)  # fmt: skip
def test_a_bad_channel_is_named_and_left_out(clean, make_recording, means, kind, code):
    times = np.arange(clean.shape[1]) / SFREQ
    rng = np.random.default_rng(0)
    clean[4] = {
        "flat": np.full_like(times, 12.5),
        "mains": 150.0 * np.sin(2 * np.pi * 50 * times + 0.1),
        "noise": rng.standard_normal(len(times)) * 200,
        "clipped": np.clip(clean[4], -3.0, 3.0),
        "nan": np.where(times % 1 < 0.01, np.nan, clean[4]),
    }[kind]
    found = extract_features(make_recording([clean], SFREQ), ON)
    assert lost(found) == [0, 0, 0, 0, 29]
    assert list(codes(found)) == [(code, "F7")]
    # as if the channel had never been there
    without = extract_features(make_recording([clean[:4]], SFREQ), ON)
    np.testing.assert_allclose(found.sums[:4], without.sums, rtol=1e-5)
    assert (found.sums[4] == 0).all()


def test_a_short_flat_stretch_costs_its_windows(clean, make_recording):
    clean[1, 2560 : 2560 + 256] = clean[1, 2560]
    found = extract_features(make_recording([clean], SFREQ), ON)
    assert lost(found) == [0, 2, 0, 0, 0]


def test_movement_on_most_channels_costs_the_window_everywhere(clean, make_recording):
    clean[:3, 2600] += 4000.0
    found = extract_features(make_recording([clean], SFREQ), ON)
    assert lost(found) == [2] * 5
    assert found.n_windows_kept == 27
    assert codes(found)["rejected_windows_all_channels", None] == 2


def test_rejection_can_be_switched_off(clean, make_recording):
    clean[0] = 7.0
    clean[1] *= 100.0
    found = extract_features(make_recording([clean], SFREQ), OFF)
    assert lost(found) == [0] * 5
    assert found.findings == ()


@pytest.mark.parametrize("settings", [ON, OFF], ids=["on", "off"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("error")
def test_samples_that_are_no_numbers_cost_their_windows(
    clean, make_recording, means, settings, bad
):
    before = means(extract_features(make_recording([clean], SFREQ), settings))
    clean[3, 1400:1500] = bad
    clean[3, 1500] = -bad
    found = extract_features(make_recording([clean], SFREQ), settings)
    assert lost(found) == [0, 0, 0, 2, 0]
    assert np.isfinite(found.sums).all()
    assert np.abs(means(found) / before - 1).max() < 0.1


@pytest.mark.parametrize("settings", [ON, OFF], ids=["on", "off"])
def test_a_recording_without_any_number_gives_nothing(make_recording, settings):
    found = extract_features(make_recording([np.full((3, 2000), np.nan)], SFREQ), settings)
    assert (found.counts == 0).all()
    assert (found.sums == 0).all()
    assert found.n_windows_kept == 0


@pytest.mark.parametrize("settings", [ON, OFF], ids=["on", "off"])
def test_one_channel_is_no_average_reference(clean, make_recording, settings):
    found = extract_features(make_recording([clean[:1]], SFREQ), settings)
    assert (found.counts == 0).all()
    assert codes(found) == {("too_few_reference_channels", None): 29}
    alone = SignalSettings(average_reference=False)
    assert (extract_features(make_recording([clean[:1]], SFREQ), alone).counts == 29).all()


def test_a_bipolar_recording_is_never_re_referenced(clean, make_recording):
    bipolar = make_recording([clean], SFREQ, montage="bipolar")
    plain = SignalSettings(average_reference=False)
    as_bipolar = extract_features(bipolar, ON).sums
    np.testing.assert_array_equal(
        as_bipolar, extract_features(make_recording([clean], SFREQ), plain).sums
    )
    referenced = extract_features(make_recording([clean], SFREQ), ON).sums
    assert not np.allclose(as_bipolar, referenced, rtol=0.01)


def test_messages_hold_no_values(clean, make_recording):
    clean[0, 2600] += 12345.0
    clean[1] = 6789.0
    found = extract_features(make_recording([clean], SFREQ), ON)
    text = " ".join(finding.message for finding in found.findings)
    assert "12345" not in text
    assert "6789" not in text


def test_exactly_half_is_not_more_than_half(clean, make_recording):
    """Fractions are exceeded, not reached: 2 of 4 channels, then 5 of 10 windows."""
    values = clean[:4, : 20 * 256].copy()
    values[:2, 2600] += 4000.0
    found = extract_features(make_recording([values], SFREQ), ON)
    assert lost(found) == [2, 2, 0, 0]
    values = clean[:4, : 20 * 256].copy()
    values[0, 256 : 10 * 256 : 512] += 4000.0
    found = extract_features(make_recording([values], SFREQ), SignalSettings(overlap=0.0))
    assert found.n_windows == 10
    assert lost(found) == [5, 0, 0, 0]


@pytest.mark.parametrize("microvolts", [25.0, 50.0, 200.0])
def test_a_square_wave_for_calibration_at_the_start_costs_its_windows(
    clean, make_recording, means, microvolts
):
    """The same step on all channels, as recorders write it before the patient is connected."""
    times = np.arange(clean.shape[1]) / SFREQ
    square = np.where((times % 1.0) < 0.5, microvolts, -microvolts)
    marked = np.where(times < 10.0, square, clean).astype(np.float32)
    found = extract_features(make_recording([marked], SFREQ), ON)
    alone = extract_features(make_recording([clean[:, int(10 * SFREQ) :]], SFREQ), ON)
    assert found.n_windows_kept <= alone.n_windows + 1
    np.testing.assert_allclose(means(found), means(alone), rtol=0.15)
