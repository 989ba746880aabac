"""Recordings of every kind, real and made, and the reference implementation beside them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from neuroveil.types.catalogue import STANDARD_CHANNELS
from neuroveil.types.recording import ArraySource, Recording, RecordingFeatures

MakeRecording = Callable[..., Recording]


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    path = Path(__file__).with_name("reference_implementation.py")
    spec = importlib.util.spec_from_file_location("reference_implementation", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def means() -> Callable[[RecordingFeatures], Any]:
    """Values as a patient gets them: sums over counts, NaN where missing."""

    def compute(found: RecordingFeatures) -> Any:
        with np.errstate(invalid="ignore"):
            return found.sums / np.where(found.counts > 0, found.counts, np.nan)

    return compute


def pink_noise(rng: np.random.Generator, n_channels: int, seconds: float, sfreq: float) -> Any:
    """EEG-like noise of about 10 µV whose spectrum does not depend on the sampling rate."""
    rate = 4000.0
    n_fine = round(seconds * rate)
    frequencies = np.fft.rfftfreq(n_fine, 1 / rate)
    shape = np.where((frequencies > 0.2) & (frequencies < 90), 1, 0) / np.maximum(frequencies, 0.2)
    spectrum = rng.standard_normal((n_channels, len(frequencies), 2)) @ np.array([1, 1j])
    n_times = round(seconds * sfreq)
    keep = n_times // 2 + 1
    values = np.fft.irfft((spectrum * shape)[:, :keep], n_times, axis=1) * n_times
    return values / np.sqrt(np.sum(shape**2) * 4) * 10


@pytest.fixture(scope="session")
def noise() -> Callable[..., Any]:
    """The same noise at any sampling rate: ``noise(seed, n_channels, seconds, sfreq)``."""

    def make(seed: int, n_channels: int, seconds: float, sfreq: float) -> Any:
        return pink_noise(np.random.default_rng(seed), n_channels, seconds, sfreq)

    return make


@pytest.fixture(scope="session")
def make_recording() -> MakeRecording:
    """Wrap arrays (n_channels, n_times), one a segment, as a recording."""

    def make(segments: list[Any], sfreq: float, n_eog: int = 0, **more: Any) -> Recording:
        n_eeg = segments[0].shape[0] - n_eog
        names = STANDARD_CHANNELS if n_eeg <= 19 else [f"E{index}" for index in range(n_eeg)]
        return Recording(
            ch_names=tuple(names[:n_eeg]),
            eog_names=tuple(f"EOG{index}" for index in range(n_eog)),
            sfreq=sfreq,
            segments=tuple(ArraySource(np.asarray(each, dtype=np.float32)) for each in segments),
            **more,
        )

    return make


@pytest.fixture(scope="session")
def real_signal(eegmat: Path) -> Callable[[str], tuple[Any, float]]:
    """EEG of one file in microvolts, shape (19, n_times), and its sampling rate."""
    import mne

    def read(name: str) -> tuple[Any, float]:
        raw = mne.io.read_raw_edf(eegmat / f"{name}.edf", preload=True, verbose="error")
        eeg = [each for each in raw.ch_names if each.startswith("EEG ") and "A2-A1" not in each]
        return raw.get_data(eeg) * 1e6, float(raw.info["sfreq"])

    return read
