"""What must hold for the features of any recording."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from neuroveil.signal import RejectionSettings, SignalSettings, extract_features
from neuroveil.types.catalogue import FEATURE_NAMES, FEATURES

NO_REJECTION = RejectionSettings(enabled=False)
PRESETS = st.sampled_from(["paper", "harmonised"])
FEW = hypothesis_settings(max_examples=15, deadline=None)


def index(name):
    return FEATURE_NAMES.index(name)


COUNTED = [index("zero_crossing_rate"), index("spectral_edge_frequency_95")]
MEASURED = [each for each in range(len(FEATURE_NAMES)) if each not in COUNTED]


def assert_sums_agree(found, expected, rtol):
    """Sums within rounding; where something is counted, rounding may move it once or twice.

    A sample that touches its window's mean may fall on either side (two crossings, 1 Hz in
    one window of 2 s), and a spectral edge may move by a bin of at most 2 Hz.
    """
    np.testing.assert_allclose(found[:, MEASURED], expected[:, MEASURED], rtol=rtol)
    np.testing.assert_allclose(found[:, COUNTED], expected[:, COUNTED], rtol=1e-6, atol=2.01)


@given(preset=PRESETS, seed=st.integers(0, 1000), factor=st.floats(0.01, 100.0))
@FEW
def test_a_scaled_signal_scales_powers_by_the_square(noise, make_recording, preset, seed, factor):
    values = noise(seed, 3, 6.0, 250.0)
    settings = SignalSettings(preset=preset, rejection=NO_REJECTION)
    plain = extract_features(make_recording([values], 250.0), settings).sums
    scaled = extract_features(make_recording([values * factor], 250.0), settings).sums
    power = {spec.name: 2 for spec in FEATURES if spec.unit == "µV²"}
    power |= {"line_length": 1, "root_mean_square": 1}
    expected = plain * [factor ** power.get(name, 0) for name in FEATURE_NAMES]
    assert_sums_agree(scaled, expected, 1e-5)


@given(preset=PRESETS, seed=st.integers(0, 1000), offset=st.integers(-4000, 4000))
@FEW
def test_a_constant_offset_changes_nothing(noise, make_recording, preset, seed, offset):
    # on a grid on which float32 adds the offset without rounding
    values = np.round(noise(seed, 3, 6.0, 250.0) * 2**10) / 2**10
    offsets = np.array([[offset], [0], [-(offset // 3)]])
    settings = SignalSettings(preset=preset)
    plain = extract_features(make_recording([values], 250.0), settings).sums
    moved = extract_features(make_recording([values + offsets], 250.0), settings).sums
    assert_sums_agree(moved, plain, 1e-4)


@given(
    preset=PRESETS,
    sfreq=st.sampled_from([200.0, 250.0, 256.0, 499.5]),
    block_seconds=st.floats(1.0, 60.0),
    cut=st.integers(1, 7000),
)
@FEW
def test_block_size_does_not_change_results(
    noise, make_recording, preset, sfreq, block_seconds, cut
):
    values = noise(5, 5, 50.0, sfreq) * 3
    values[1, 3000:3300] += 400
    values[2, 4000:4100] = np.nan
    values[3, 1000:2500] = values[3, 1000]
    recording = make_recording([values[:, :cut], values[:, cut:]], sfreq, n_eog=1)
    settings = SignalSettings(preset=preset)
    whole = extract_features(recording, settings, block_seconds=1000.0)
    blocks = extract_features(recording, settings, block_seconds=block_seconds)
    np.testing.assert_array_equal(blocks.counts, whole.counts)
    assert_sums_agree(blocks.sums, whole.sums, 3e-5)
    assert blocks.findings == whole.findings
    assert 0 < whole.counts.min() < whole.counts.max()


@given(preset=PRESETS, seed=st.integers(0, 100), lost=st.integers(0, 4))
@FEW
def test_channel_order_does_not_matter(noise, make_recording, preset, seed, lost):
    values = noise(seed, 5, 8.0, 256.0)
    values[lost, 700:900] = np.nan
    settings = SignalSettings(preset=preset)
    straight = extract_features(make_recording([values], 256.0), settings)
    turned = extract_features(make_recording([values[::-1]], 256.0), settings)
    assert_sums_agree(turned.sums[::-1], straight.sums, 2e-5)
    np.testing.assert_array_equal(turned.counts[::-1], straight.counts)


@pytest.mark.parametrize("preset", ["paper", "harmonised"])
@pytest.mark.parametrize(
    ("frequency", "band"),
    [(2.0, "delta_power"), (6.0, "theta_power"), (10.0, "alpha_power"), (20.0, "beta_power"),
     (37.0, "gamma_power"), (62.0, "high_gamma_power")],
)  # fmt: skip
def test_a_sine_puts_its_power_in_its_band(make_recording, means, preset, frequency, band):
    times = np.arange(0, 30, 1 / 250.0)
    sine = 20.0 * np.sin(2 * np.pi * frequency * times + 0.4)
    recording = make_recording([np.stack([sine, -sine])], 250.0)
    found = means(extract_features(recording, SignalSettings(preset=preset)))[0]
    powers = {spec.name: found[index(spec.name)] for spec in FEATURES if spec.band_hz}
    # the Hann window spreads a line over about two bins of 1 Hz on either side
    assert powers[band] > 0.95 * sum(powers.values())
    assert found[index("variance")] == pytest.approx(200.0, rel=0.02)
    assert powers[band] == pytest.approx(200.0, rel=0.05)
    assert found[index("zero_crossing_rate")] == pytest.approx(2 * frequency, rel=0.03)
    assert found[index("spectral_edge_frequency_95")] == pytest.approx(frequency, abs=2.0)
    # 4 times the amplitude a period, less what falls between two samples
    assert 0.85 < found[index("line_length")] / (4 * 20.0 * frequency) <= 1.001


@pytest.mark.parametrize("sfreq", [250.0, 500.0, 512.0, 1000.0])
def test_harmonised_features_do_not_depend_on_the_sampling_rate(
    noise, make_recording, means, sfreq
):
    at_256 = extract_features(make_recording([noise(8, 4, 40.0, 256.0)], 256.0), SignalSettings())
    other = extract_features(make_recording([noise(8, 4, 40.0, sfreq)], sfreq), SignalSettings())
    np.testing.assert_allclose(means(other), means(at_256), rtol=0.03)


def test_paper_features_do_depend_on_the_sampling_rate(noise, make_recording, means):
    """The reason why the harmonised preset exists; if this ends, so can the preset."""
    settings = SignalSettings(preset="paper")
    slow = means(extract_features(make_recording([noise(8, 4, 40.0, 250.0)], 250.0), settings))
    fast = means(extract_features(make_recording([noise(8, 4, 40.0, 500.0)], 500.0), settings))
    assert np.abs(fast / slow - 1).max() > 0.1


def test_pooling_segments_adds_up(noise, make_recording):
    first, second = noise(1, 3, 9.0, 256.0), noise(2, 3, 12.0, 256.0)
    settings = SignalSettings(rejection=NO_REJECTION)
    joint = extract_features(make_recording([first, second], 256.0), settings)
    parts = [extract_features(make_recording([each], 256.0), settings) for each in (first, second)]
    np.testing.assert_allclose(joint.sums, parts[0].sums + parts[1].sums, rtol=1e-6)
    np.testing.assert_array_equal(joint.counts, parts[0].counts + parts[1].counts)
    assert joint.n_windows == 8 + 11
