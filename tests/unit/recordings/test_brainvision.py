"""BrainVision: values, gaps, and the files that a header names."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.recordings.formats import may_be_recording, recognise
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.parts import parts_of

# mne takes seconds to load, and every file is read by a process of its own.
slow = pytest.mark.slow

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def eeg():
    return np.random.default_rng(7).normal(0, 20, (3, 3000))


@slow
def test_brainvision(apart, files, tmp_path, read_all, eeg):
    recording, read = read_all(files.write_brainvision(tmp_path, eeg))
    assert (recording.ch_names, recording.sfreq) == (("Fp1", "T7"), 250.0)
    np.testing.assert_allclose(read, np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5)


@slow
def test_brainvision_in_millivolts(files, tmp_path, read_all, eeg):
    path = files.write_brainvision(tmp_path, eeg, unit="mV", resolution=1e-4)
    np.testing.assert_allclose(read_all(path)[1], np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5)


@slow
def test_brainvision_with_an_unknown_unit(files, tmp_path, read_all, eeg):
    path = files.write_brainvision(tmp_path, eeg, unit="bits")
    with pytest.raises(RecordingError, match="a unit of voltage"):
        read_all(path)
    np.testing.assert_allclose(
        read_all(path, unit="uV")[1], np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5
    )


@slow
def test_a_new_segment_is_a_gap(files, tmp_path, read_all, eeg):
    markers = [("New Segment", 1), ("Stimulus", 500), ("New Segment", 1001)]
    recording, read = read_all(files.write_brainvision(tmp_path, eeg, markers=markers))
    assert [s.n_times for s in recording.segments] == [1000, 2000]
    np.testing.assert_allclose(read, np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5)


@slow
def test_brainvision_without_its_signal(files, tmp_path, read_all, eeg):
    path = files.write_brainvision(tmp_path, eeg)
    (tmp_path / "a.eeg").unlink()
    with pytest.raises(RecordingError) as caught:
        read_all(path)
    assert "a.eeg" not in str(caught.value)


def refused(read_all, path):
    """Read a file that must be refused; give the error."""
    with pytest.raises(RecordingError) as caught:
        read_all(path)
    return caught.value


@slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links and both spellings")
@pytest.mark.parametrize(
    ("names", "stated"),
    [
        (("a.vhdr", "samples.dat", "events.mrk"), None),
        (("a.VHDR", "a.EEG", "a.VMRK"), None),
        (("new name.vhdr", "new name.eeg", "new name.vmrk"), ("$b.eeg", "$b.vmrk")),
        (("new.vhdr", "old.eeg", "new.vmrk"), ("old.eeg", "old.vmrk")),
    ],
)
def test_files_of_other_names_are_read_and_belong_to_it(
    files, tmp_path, read_all, eeg, names, stated
):
    markers = [("New Segment", 1), ("New Segment", 1001)]
    path = files.write_brainvision(tmp_path, eeg, names=names, stated=stated, markers=markers)
    recording, read = read_all(path)
    assert [s.n_times for s in recording.segments] == [1000, 2000]
    np.testing.assert_allclose(read, np.round(eeg[:2] / 0.1) * 0.1, rtol=1e-5)
    assert {part.name for part in parts_of(path)} == set(names)


@pytest.mark.parametrize(
    "name", ["../b.eeg", "..", "sub/b.eeg", "C:\\eeg\\b.eeg", "/etc/hostname", "b.eeg:stream"]
)
@pytest.mark.parametrize("which", [0, 1])
def test_a_name_that_leads_out_of_the_folder_is_refused(
    files, tmp_path, read_all, eeg, name, which
):
    inner = tmp_path / "inner"
    (inner / "sub").mkdir(parents=True)
    for folder in (tmp_path, inner / "sub"):
        (folder / "b.eeg").write_bytes(b"other")
    stated = (name, "a.vmrk") if which == 0 else ("a.eeg", name)
    path = files.write_brainvision(inner, eeg, stated=stated)
    error = refused(read_all, path)
    assert error.code == "part_outside"
    assert "b.eeg" not in str(error)
    assert all(part.parent == inner for part in parts_of(path))


@pytest.mark.parametrize("gone", ["a.eeg", "a.vmrk"])
def test_a_file_that_is_named_and_not_there(files, tmp_path, read_all, eeg, gone):
    path = files.write_brainvision(tmp_path, eeg)
    (tmp_path / gone).unlink()
    assert refused(read_all, path).code == "part_missing"


def test_markers_that_the_header_does_not_name_are_not_overlooked(files, tmp_path, read_all, eeg):
    path = files.write_brainvision(tmp_path, eeg)
    path.write_text(path.read_text().replace("MarkerFile=a.vmrk\n", ""))
    assert "MarkerFile=" in refused(read_all, path).remedy


def test_a_header_that_says_nothing(files, tmp_path, read_all, eeg):
    path = files.write_brainvision(tmp_path, eeg)
    path.write_bytes(path.read_bytes()[:60])
    assert refused(read_all, path).code == "part_missing"
    assert parts_of(path) == [path]


def test_samples_of_a_header_of_another_name_are_no_recording_of_their_own(files, tmp_path, eeg):
    files.write_brainvision(tmp_path, eeg, names=("a.vhdr", "b.eeg", "b.vmrk"))
    (tmp_path / "c.eeg").write_bytes(b"x")
    found = {path.name for path in tmp_path.iterdir() if may_be_recording(path)}
    assert found == {"a.vhdr", "c.eeg"}


@pytest.mark.parametrize(
    "first", ["BrainVision Data Exchange Header File Version 2.0",
              "Brain Vision V-Amp Data Header File Version 1.0",
              "\ufeffBrain Vision Core Data Exchange Header File, Version 1.0"],
)  # fmt: skip
def test_every_wording_of_the_first_line(tmp_path, first):
    (tmp_path / "a.vhdr").write_text(first, encoding="utf-8")
    assert recognise(tmp_path / "a.vhdr", ReadOptions()) == "brainvision"
