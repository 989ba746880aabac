"""FIF."""

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


def test_a_recording_in_several_files_is_refused(tmp_path, read_all, eeg):
    """The second name stands in the first file, and could be any file."""
    raw_of(np.tile(eeg, 70)).save(
        tmp_path / "a_raw.fif", buffer_size_sec=10.0, split_size="2MB", verbose="ERROR"
    )
    assert (tmp_path / "a_raw-1.fif").is_file()
    with pytest.raises(RecordingError, match="a recording in one file") as caught:
        read_all(tmp_path / "a_raw.fif")
    assert caught.value.code == "split"
