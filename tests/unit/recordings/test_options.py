"""Mistakes in how a study wants its files read are reported together."""

from __future__ import annotations

import pytest

from neuroveil.errors import StudyError
from neuroveil.recordings import ReadOptions


def test_the_default_is_the_standard_montage():
    assert len(ReadOptions().channels) == 19


def test_all_mistakes_at_once():
    with pytest.raises(StudyError) as caught:
        ReadOptions(
            channels=("T3", "A1", "Fz", "Fz", "F7-T7"), unit="?V", sfreq=-1.0,
            lowpass_hz=float("nan"),
        )  # fmt: skip
    where = [mistake.where for mistake in caught.value.mistakes]
    assert where.count("montage.channels") == 4
    assert {"input.unit", "input.sfreq", "input.lowpass_hz"} <= set(where)
    assert "Write 'T7'." in str(caught.value)


def test_a_bipolar_montage_takes_pairs_by_their_current_names():
    ReadOptions(channels=("F7-T7", "T7-P7"), montage="bipolar")
    with pytest.raises(StudyError, match="F7-T7"):
        ReadOptions(channels=("F7-T3",), montage="bipolar")
    with pytest.raises(StudyError):
        ReadOptions(channels=("F7",), montage="bipolar")
