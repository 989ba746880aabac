"""Rosters that would count a person twice, wait for ever, or lead out of a file."""

import os

import h5py
import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.recordings import (
    ReadOptions,
    opened_recording,
    roster_from_manifest,
    roster_from_pattern,
)
from neuroveil.recordings.roster_problems import comparable_key


@pytest.mark.parametrize("other", ["sub-0001", "SUB-0001", "00\u200b01", " 0001 ", "００01"])
def test_spellings_of_one_key_are_one_key(other):
    assert comparable_key("0001") == comparable_key(other)
    assert comparable_key("0001") != comparable_key("0002")


def test_a_key_with_and_without_its_prefix_is_refused(tmp_path):
    (tmp_path / "m.csv").write_text("patient,path\n0001,\nsub-0001,\n")
    with pytest.raises(RecordingError, match="differ"):
        roster_from_manifest(tmp_path / "m.csv", tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_named_pipes_are_no_recordings_and_no_lists(tmp_path):
    os.mkfifo(tmp_path / "P1_1.edf")
    (tmp_path / "P2_1.edf").write_bytes(b"")
    roster = roster_from_pattern(tmp_path, "{patient}_{session}.edf")
    assert [entry.patient for entry in roster.entries] == ["P2"]
    os.mkfifo(tmp_path / "m.csv")
    with pytest.raises(RecordingError, match="can be opened"):
        roster_from_manifest(tmp_path / "m.csv", tmp_path)


def test_a_soft_link_through_an_external_link_is_not_followed(tmp_path):
    names = [b"Fp1", b"Cz", b"O1"]
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["data"] = np.random.default_rng(1).normal(0, 20, (3, 2560))
    with h5py.File(tmp_path / "mine.h5", "w") as mine:
        mine["ext"] = h5py.ExternalLink("other.h5", "/")
        mine["data"] = h5py.SoftLink("/ext/data")
        mine["channels"] = np.array(names)
        mine.attrs["sfreq"] = 256.0
    options = ReadOptions(channels=("Fp1", "Cz", "O1"), unit="uV")
    with pytest.raises(RecordingError), opened_recording(tmp_path / "mine.h5", options):
        pass
