"""Units and calibration: a wrong scale is refused or corrected, never passed on."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import RecordingError

FP1 = ("Fp1",)


@pytest.mark.parametrize(
    ("unit", "factor", "physical"),
    [("uV", 1, (-3276.8, 3276.7)), (b"\xb5V", 1, (-3276.8, 3276.7)),
     ("mV", 1e-3, (-3.2768, 3.2767)),
     ("V", 1e-6, ("-3.2E-03", "3.2E-03")), ("nV", 1e3, (-3276800, 3276700))],
)  # fmt: skip
def test_the_same_signal_in_any_unit(signal, write_edf, read_all, unit, factor, physical):
    channel = signal("Fp1", 1280, unit=unit, physical=physical)
    true = channel.values.copy()
    channel.values = true * factor
    _, values = read_all(write_edf([channel]), channels=FP1)
    np.testing.assert_allclose(values[0], true, atol=0.11)


@pytest.mark.parametrize("unit", ["", "?V", "bits", b"\x00\x00"])
def test_unknown_units_need_the_study(signal, write_edf, read_all, unit):
    path = write_edf([signal("Fp1", 1280, unit=unit)])
    with pytest.raises(RecordingError, match="a unit of voltage"):
        read_all(path, channels=FP1)
    _, values = read_all(path, channels=FP1, unit="uV")
    assert 15 < values.std() < 25


def test_a_stated_unit_goes_before_the_studys_and_an_override_before_both(
    signal, write_edf, read_all
):
    path = write_edf([signal("Fp1", 1280, unit="uV")])
    assert 15 < read_all(path, channels=FP1, unit="mV")[1].std() < 25
    with pytest.raises(RecordingError, match="typical amplitude"):
        read_all(path, channels=FP1, unit_override="mV")


@pytest.mark.parametrize("scale", [1e-3, 1e-6, 1e3, 1e6])
def test_amplitudes_that_cannot_be_eeg_are_refused(signal, write_edf, read_all, scale):
    """A file that says µV and holds mV, V or nV."""
    limit = 200 * scale
    path = write_edf([signal("Fp1", np.random.default_rng(0).normal(0, 20 * scale, 1280),
                             physical=(f"{-limit:.1E}", f"{limit:.1E}"))])  # fmt: skip
    with pytest.raises(RecordingError, match="typical amplitude"):
        read_all(path, channels=FP1)


def test_some_flat_channels_do_not_hide_or_cause_a_wrong_unit(signal, write_edf, read_all, codes):
    flat = [signal(name, np.zeros(1280)) for name in ("F3", "F4", "C3", "C4", "P3", "P4")]
    recording, values = read_all(write_edf([*flat, signal("Fp1", 1280)]))
    assert codes(recording) == set()
    assert values.shape[0] == 7


def test_a_flat_recording_is_read_and_named(signal, write_edf, read_all, codes):
    recording, _ = read_all(write_edf([signal("Fp1", np.zeros(1280))]), channels=FP1)
    assert codes(recording) == {"flat_recording"}


def test_slow_drift_does_not_look_like_a_wrong_unit(signal, write_edf, read_all):
    drift = np.linspace(-3000, 3000, 1280) + np.random.default_rng(1).normal(0, 20, 1280)
    assert read_all(write_edf([signal("Fp1", drift)]), channels=FP1)[1].shape == (1, 1280)


@pytest.mark.parametrize(
    "calibration",
    [{"digital": (0, 0)}, {"digital": (32767, -32768)}, {"physical": (5, 5)},
     {"physical": ("nan", "inf")}, {"physical": ("1_0", "2_0")}, {"physical": ("", "")},
     {"physical": ("abc", 1)}, {"physical": ("-1E300", "1E300")},
     {"digital": (0, "1E99")}, {"physical": ("1.000,5", 1)}],
)  # fmt: skip
def test_an_impossible_calibration_costs_the_channel(
    signal, write_edf, read_all, codes, calibration
):
    channels = [signal("Fp1", 1280, **calibration), signal("Fp2", 1280)]
    recording, _ = read_all(write_edf(channels))
    assert recording.ch_names == ("Fp2",)
    assert "unusable_channel" in codes(recording)
    with pytest.raises(RecordingError, match="none usable"):
        read_all(write_edf(channels[:1]))


def test_inverted_polarity_is_turned_back(signal, write_edf, read_all, codes):
    channel = signal("Fp1", 1280, physical=(3276.7, -3276.8))
    recording, values = read_all(write_edf([channel]), channels=FP1)
    np.testing.assert_allclose(values[0], channel.values, atol=0.051)
    assert codes(recording) == {"inverted_polarity"}


def test_a_decimal_comma_is_a_point(signal, write_edf, read_all, codes):
    channel = signal("Fp1", 1280, physical=("-3276,8", "3276,7"))
    recording, values = read_all(write_edf([channel]), channels=FP1)
    np.testing.assert_allclose(values[0], channel.values, atol=0.051)
    assert codes(recording) == {"decimal_comma"}


def test_an_asymmetric_range_keeps_its_offset(signal, write_edf, read_all):
    channel = signal("Fp1", np.random.default_rng(2).normal(1000, 20, 1280),
                     physical=(-100, 3000), digital=(0, 4095))  # fmt: skip
    _, values = read_all(write_edf([channel]), channels=FP1)
    np.testing.assert_allclose(values[0], channel.values, atol=0.4)
