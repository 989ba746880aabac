"""BrainVision and FIF."""

from __future__ import annotations

import mne
import numpy as np
import pytest

from neuroveil.errors import RecordingError

# mne takes seconds to load, and every file is read by a process of its own.
pytestmark = pytest.mark.slow

NAMES = ("Fp1", "T3", "ECG")


@pytest.fixture
def eeg():
    return np.random.default_rng(7).normal(0, 20, (3, 3000))


def write_brainvision(folder, eeg, unit="µV", resolution=0.1, markers=(), encoding="utf-8"):
    """Write the three files of a recording, as the BrainVision core format 1.0 words them."""
    channels = "\n".join(
        f"Ch{i}={name},,{resolution},{unit}" for i, name in enumerate(NAMES, start=1)
    )
    (folder / "a.vhdr").write_text(
        "Brain Vision Data Exchange Header File Version 1.0\n\n[Common Infos]\n"
        f"Codepage={encoding.upper()}\nDataFile=a.eeg\nMarkerFile=a.vmrk\nDataFormat=BINARY\n"
        "DataOrientation=MULTIPLEXED\nNumberOfChannels=3\nSamplingInterval=4000\n\n"
        f"[Binary Infos]\nBinaryFormat=INT_16\n\n[Channel Infos]\n{channels}\n",
        encoding=encoding,
    )
    lines = "\n".join(
        f"Mk{i}={kind},,{position},1,0" for i, (kind, position) in enumerate(markers, start=1)
    )
    (folder / "a.vmrk").write_text(
        "Brain Vision Data Exchange Marker File, Version 1.0\n\n[Common Infos]\n"
        f"Codepage=UTF-8\nDataFile=a.eeg\n\n[Marker Infos]\n{lines}\n",
        encoding="utf-8",
    )
    np.round(eeg.T / 0.1).astype("<i2").tofile(folder / "a.eeg")
    return folder / "a.vhdr"


def test_brainvision(tmp_path, read_all, eeg):
    recording, read = read_all(write_brainvision(tmp_path, eeg))
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    np.testing.assert_allclose(read, np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5)


def test_brainvision_in_millivolts(tmp_path, read_all, eeg):
    path = write_brainvision(tmp_path, eeg, unit="mV", resolution=1e-4)
    np.testing.assert_allclose(read_all(path)[1], np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5)


def test_brainvision_with_an_unknown_unit(tmp_path, read_all, eeg):
    path = write_brainvision(tmp_path, eeg, unit="bits")
    with pytest.raises(RecordingError, match="a unit of voltage"):
        read_all(path)
    np.testing.assert_allclose(
        read_all(path, unit="uV")[1], np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5
    )


def test_a_new_segment_is_a_gap(tmp_path, read_all, eeg):
    markers = [("New Segment", 1), ("Stimulus", 500), ("New Segment", 1001)]
    recording, read = read_all(write_brainvision(tmp_path, eeg, markers=markers))
    assert [s.n_times for s in recording.segments] == [1000, 2000]
    np.testing.assert_allclose(read, np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5)


def test_brainvision_without_its_signal(tmp_path, read_all, eeg):
    path = write_brainvision(tmp_path, eeg)
    (tmp_path / "a.eeg").unlink()
    with pytest.raises(RecordingError) as caught:
        read_all(path)
    assert "a.eeg" not in str(caught.value)


def raw_of(eeg, canary="x"):
    info = mne.create_info(list(NAMES), 250.0, ["eeg", "eeg", "ecg"])
    info["subject_info"] = {"last_name": canary}
    return mne.io.RawArray(eeg * 1e-6, info, verbose="ERROR")


def test_fif(tmp_path, read_all, canary, eeg):
    raw_of(eeg, canary).save(tmp_path / "a_raw.fif", verbose="ERROR")
    recording, read = read_all(tmp_path / "a_raw.fif")
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    assert (recording.highpass_hz, recording.lowpass_hz) == (None, None)
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-5)
    assert canary not in repr(recording)


def test_filters_of_fif(tmp_path, read_all, eeg):
    raw_of(eeg).filter(1.0, 40.0, verbose="ERROR").save(tmp_path / "a_raw.fif", verbose="ERROR")
    recording, _ = read_all(tmp_path / "a_raw.fif")
    assert (recording.highpass_hz, recording.lowpass_hz) == (1.0, 40.0)


def test_joined_and_paused_recordings_are_cut(tmp_path, read_all, eeg):
    raw = raw_of(eeg)
    raw.set_annotations(mne.Annotations([4.0, 8.0], [0.0, 2.0], ["BAD boundary", "BAD_ACQ_SKIP"]))
    raw.save(tmp_path / "a_raw.fif", verbose="ERROR")
    recording, read = read_all(tmp_path / "a_raw.fif")
    assert [s.n_times for s in recording.segments] == [1000, 1000, 500]
    kept = np.concatenate([eeg[:2, :2000], eeg[:2, 2500:]], axis=1)
    np.testing.assert_allclose(read, kept, rtol=1e-5)


def test_a_recording_that_does_not_start_at_zero(tmp_path, read_all, eeg):
    raw = raw_of(eeg).crop(2.0)
    raw.set_annotations(mne.Annotations([4.0], [0.0], ["BAD boundary"]))
    raw.save(tmp_path / "a_raw.fif", verbose="ERROR")
    assert [s.n_times for s in read_all(tmp_path / "a_raw.fif")[0].segments] == [1000, 1500]


def test_epochs_of_fif(tmp_path, read_all, eeg):
    epochs = mne.make_fixed_length_epochs(raw_of(eeg), 4.0, preload=True, verbose="ERROR")
    epochs.save(tmp_path / "a-epo.fif", verbose="ERROR")
    recording, read = read_all(tmp_path / "a-epo.fif")
    assert [s.n_times for s in recording.segments] == [1000] * 3
    np.testing.assert_allclose(read, eeg[:2], rtol=1e-5)


def test_another_kind_of_fif(tmp_path, read_all, eeg):
    mne.write_cov(tmp_path / "a-cov.fif", mne.compute_raw_covariance(
        raw_of(eeg), picks="eeg", verbose="ERROR"))  # fmt: skip
    with pytest.raises(RecordingError, match="another kind of FIF"):
        read_all(tmp_path / "a-cov.fif")
