"""Curry, ANT Neuro and EGI's folders, through mne and the libraries of the extra ``formats``."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.recordings import ReadOptions, inspect_recording
from neuroveil.recordings.readers import open_directly

N_TIMES = 3000

# mne takes seconds to load, and every file is read by a process of its own.
slow = pytest.mark.slow


@pytest.fixture
def eeg():
    return np.random.default_rng(11).normal(0, 20, (3, N_TIMES))


@pytest.fixture
def write(files, tmp_path, eeg):
    """Write one of the three kinds; needs the library that reads it."""
    libraries = {"curry": "curryreader", "mff": "mffpy", "ant": "antio"}

    def made(kind, **how):
        pytest.importorskip(libraries[kind])
        return getattr(files, f"write_{kind}")(tmp_path, eeg, **how)

    return made


SENSORS = {"file_channels": ("Fp1", "T3", "ECG")}


@slow
@pytest.mark.parametrize(("kind", "step"), [("curry", 1e-3), ("mff", 1e-3), ("ant", 1 / 64)])
def test_values_names_and_rate(write, read_all, eeg, canary, kind, step):
    path = write(kind)
    recording, read = read_all(path, **SENSORS)
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    assert len(recording.segments) == 1
    np.testing.assert_allclose(read, eeg[:2], atol=step)
    assert canary not in repr(inspect_recording(path, ReadOptions(**SENSORS)))


@slow
def test_units_of_curry(write, read_all):
    """mne takes millivolts for volts."""
    with pytest.raises(RecordingError, match="typical amplitude"):
        read_all(write("curry", unit="mV"))
    with pytest.raises(RecordingError, match="a unit of voltage"):
        read_all(write("curry", unit="fT"))


def test_epochs_and_two_rates_of_curry_are_refused(write, read_all):
    with pytest.raises(RecordingError, match="continuous") as caught:
        read_all(write("curry", trials=3))
    assert caught.value.code == "epochs"
    path = write("curry", ending=".dpo")
    path.with_suffix(".cdt.dpa").unlink()
    parameters = path.with_suffix(".cdt.dpo")
    parameters.write_text(parameters.read_text().replace("FreqHz = 250", "FreqHz = 500"))
    with pytest.raises(RecordingError, match="one sampling rate"):
        read_all(path)


@slow
def test_a_curry_file_that_was_cut_off(write, read_all):
    path = write("curry")
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(RecordingError, match="a Curry file"):
        read_all(path)


@slow
def test_a_pause_of_an_egi_folder_is_a_gap(write, read_all, eeg):
    path = write("mff", epochs=((0, 1000), (1500, 3500)))
    recording, read = read_all(path, **SENSORS)
    assert [s.n_times for s in recording.segments] == [1000, 2000]
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-5)


@slow
def test_sensors_of_an_egi_folder_need_names(write, read_all):
    with pytest.raises(RecordingError):
        read_all(write("mff"))


@pytest.mark.parametrize(
    ("reader", "library", "name"),
    [("curry", "curryreader", "a.cdt"), ("ant", "antio", "a.cnt"), ("egi", "mffpy", "a.mff")],
)
def test_the_extra_is_named_where_its_library_is_not_there(
    tmp_path, monkeypatch, reader, library, name
):
    """mne says so with an error that looks like a damaged file."""
    path = tmp_path / name
    path.mkdir() if name.endswith(".mff") else path.write_bytes(b"x")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(RecordingError, match="extra 'formats'") as caught:
        open_directly(reader, path, ReadOptions())
    assert caught.value.code == "library_missing"
