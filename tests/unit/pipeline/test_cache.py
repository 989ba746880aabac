"""The cache holds whole results under names that tell nothing, or nothing."""

import stat

import numpy as np
import pytest

from neuroveil.pipeline.cache import cache_key, keyed_digest, read_features, write_features
from neuroveil.pipeline.settings import reading_versions, settings_digest
from neuroveil.study import load_study
from neuroveil.types.recording import QualityFinding, RecordingFeatures


@pytest.fixture
def features() -> RecordingFeatures:
    return RecordingFeatures(
        ch_names=("Fp1", "Cz"), features=("variance", "alpha_power"),
        sums=np.array([[1.5, 2.0], [3.0, 4.0]]), counts=np.array([[3, 3], [0, 2]]),
        n_windows=4, n_windows_kept=3, seconds=5.0,
        findings=(QualityFinding("flat_channel", "A channel is flat.", "Cz", 1),),
    )  # fmt: skip


def test_a_result_comes_back_as_it_was(tmp_path, features):
    write_features(tmp_path / "a.npz", features)
    again = read_features(tmp_path / "a.npz")
    assert again is not None
    np.testing.assert_array_equal(again.sums, features.sums)
    np.testing.assert_array_equal(again.counts, features.counts)
    assert again.findings == features.findings
    assert (again.ch_names, again.features) == (features.ch_names, features.features)
    assert (again.n_windows, again.n_windows_kept, again.seconds) == (4, 3, 5.0)
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]
    assert stat.S_IMODE((tmp_path / "a.npz").stat().st_mode) == 0o600


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_a_damaged_result_is_done_again(tmp_path, features, keep):
    file = tmp_path / "a.npz"
    write_features(file, features)
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * keep)])
    assert read_features(file) is None
    assert read_features(tmp_path / "absent.npz") is None


def test_digests_are_keyed_and_follow_content_and_settings(tmp_path):
    recording = tmp_path / "r.edf"
    recording.write_bytes(b"some samples")
    one, other = cache_key(tmp_path / "one"), cache_key(tmp_path / "other")
    assert cache_key(tmp_path / "one") == one
    base = keyed_digest(one, recording, "settings")
    assert keyed_digest(one, recording, "settings") == base
    assert keyed_digest(other, recording, "settings") != base
    assert keyed_digest(one, recording, "other settings") != base
    recording.write_bytes(b"other samples")
    assert keyed_digest(one, recording, "settings") != base


def test_a_changed_companion_file_changes_the_digest(tmp_path):
    key, header = b"k" * 32, tmp_path / "r.vhdr"
    header.write_bytes(b"Brain Vision\n[Common Infos]\nDataFile=r.eeg\n")
    (tmp_path / "r.eeg").write_bytes(b"samples")
    base = keyed_digest(key, header, "s")
    (tmp_path / "r.eeg").write_bytes(b"changed")
    assert keyed_digest(key, header, "s") != base
    (tmp_path / "unrelated.eeg").write_bytes(b"x")
    (tmp_path / "r.eeg").write_bytes(b"samples")
    assert keyed_digest(key, header, "s") == base


def test_key_and_folder_are_for_the_owner_only(tmp_path):
    cache_key(tmp_path / "cache")
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "cache" / "cache.key").stat().st_mode) == 0o600


def test_another_version_of_a_reader_is_another_result(monkeypatch, tmp_path):
    (tmp_path / "study.toml").write_text('[input]\nlayout = "bids"\nfolder = "."\n')
    study = load_study(tmp_path)
    before = settings_digest(study)
    assert settings_digest(study) == before
    others = {**reading_versions(), "mne": "0.0"}
    monkeypatch.setattr("neuroveil.pipeline.settings.reading_versions", lambda: others)
    assert settings_digest(study) != before
