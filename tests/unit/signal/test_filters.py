"""Filters, resampling and edges against the libraries that made their designs known."""

from __future__ import annotations

import mne
import numpy as np
import pytest
from scipy import signal

from neuroveil.signal.blocks import reflected
from neuroveil.signal.filters import FilterChain, bandpass_taps, notch_gain
from neuroveil.signal.resample import RateConversion


@pytest.mark.parametrize("sfreq", [160.0, 200.0, 250.0, 256.0, 499.907, 500.0, 512.0])
def test_bandpass_is_the_default_design_of_mne(sfreq):
    expected = mne.filter.create_filter(None, sfreq, 0.5, 70.0, verbose="error")
    np.testing.assert_allclose(bandpass_taps(sfreq), expected, atol=1e-15)


def test_bandpass_has_the_stated_transitions():
    taps = bandpass_taps(256.0)
    frequencies, response = signal.freqz(taps, worN=2**16, fs=256.0)
    gain = np.abs(response)
    assert gain[0] < 1e-12
    assert gain[np.searchsorted(frequencies, 0.25)] == pytest.approx(0.5, abs=0.01)
    assert gain[np.searchsorted(frequencies, 78.75)] == pytest.approx(0.5, abs=0.01)
    inside = (frequencies > 0.5) & (frequencies < 70.0)
    assert np.abs(20 * np.log10(gain[inside])).max() < 0.04
    assert 20 * np.log10(gain[frequencies > 87.5].max()) < -51
    np.testing.assert_array_equal(taps, taps[::-1])


@pytest.mark.parametrize("line", [50.0, 60.0])
@pytest.mark.parametrize("sfreq", [200.0, 256.0, 500.0])
def test_notch_is_filtfilt_of_iirnotch(line, sfreq):
    frequencies = np.linspace(0, sfreq / 2, 1001)
    _, response = signal.freqz(*signal.iirnotch(line, 30.0, fs=sfreq), worN=frequencies, fs=sfreq)
    gain = notch_gain(frequencies, line, sfreq)
    np.testing.assert_allclose(gain, np.abs(response) ** 2, atol=1e-12)
    assert notch_gain(np.array([line]), line, sfreq)[0] < 1e-20


@pytest.mark.parametrize(
    ("sfreq", "up", "down"),
    [(250.0, 128, 125), (256.0, 1, 1), (500.0, 64, 125), (512.0, 1, 2), (1000.0, 32, 125),
     (200.0, 32, 25), (199.0, 256, 199)],
)  # fmt: skip
def test_rates_are_exact_fractions(sfreq, up, down):
    conversion = RateConversion.between(sfreq, 256.0)
    assert (conversion.up, conversion.down) == (up, down)
    assert conversion.sfreq_out == 256.0


@pytest.mark.parametrize("sfreq", [173.61, 499.907, 99.999, 1024.3, 31_111.1])
def test_odd_rates_are_close(sfreq):
    conversion = RateConversion.between(sfreq, 256.0)
    assert conversion.sfreq_out == pytest.approx(256.0, rel=2e-5)
    assert conversion.up <= 4096


def test_taper_leaves_what_is_measured_alone():
    for sfreq in (250.0, 500.0, 1000.0):
        conversion = RateConversion.between(sfreq, 256.0)
        gain = conversion.taper(np.array([0.0, 70.0, 87.5, min(sfreq, 256.0) / 2]))
        np.testing.assert_allclose(gain, [1.0, 1.0, 1.0, 0.0], atol=1e-15)


def test_chain_keeps_amplitude_and_phase_when_it_resamples():
    conversion = RateConversion.between(500.0, 256.0)
    gain = FilterChain(conversion, 50.0).gain(4096)
    times_in, times_out = np.arange(8000) / 500.0, np.arange(4096) / 256.0
    wave = np.cos(2 * np.pi * 10.0 * times_in + 0.3)
    spectrum = np.fft.rfft(wave)[: len(gain)] * gain
    result = np.fft.irfft(spectrum, 4096)
    np.testing.assert_allclose(result, np.cos(2 * np.pi * 10.0 * times_out + 0.3), atol=3e-3)


@pytest.mark.parametrize(("before", "after"), [(5, 9), (0, 7), (11, 0)])
def test_edges_are_numpys_odd_reflection(before, after):
    values = np.random.default_rng(0).standard_normal((3, 30)).astype(np.float32)
    expected = np.pad(values, ((0, 0), (before, after)), "reflect", reflect_type="odd")
    expected = np.concatenate([expected[:, :before], expected[:, before + 30 :]], axis=1)
    np.testing.assert_allclose(reflected(values, before, after), expected, atol=1e-5)


def test_edges_of_a_short_stretch_go_on_reflecting():
    line = np.arange(4, dtype=np.float32)[None] * 2.0
    before, after = np.split(reflected(line, 10, 10)[0], 2)
    np.testing.assert_array_equal(before, np.arange(-10, 0) * 2.0)
    np.testing.assert_array_equal(after, np.arange(4, 14) * 2.0)
    single = np.array([[7.0]], dtype=np.float32)
    np.testing.assert_array_equal(reflected(single, 2, 3), np.full((1, 5), 7.0))
