"""Interrupted recordings (EDF+D): stretches without a gap, and none made up."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.errors import RecordingError


def lengths(recording):
    return [segment.n_times for segment in recording.segments]


@pytest.fixture
def channel(signal):
    return signal("EEG Fp1", 1280)


@pytest.mark.parametrize(
    "case",
    [
        (["+0", "+1", "+2", "+3", "+4"], [5]),
        (["+0", "+1", "+62", "+63", "+64"], [2, 3]),
        (["+0", "+10", "+20", "+30", "+40"], [1, 1, 1, 1, 1]),
        (["+0.5", "+1.5", "+2.5", "+3.5", "+4.5"], [5]),
        (["+0", "+1.001", "+2.001", "+3", "+4"], [5]),  # less than one sample of jitter
        (["+0", "+1", "+2.005", "+3.005", "+4.005"], [2, 3]),  # more than one sample
        (["+0", "+1", "+0.5", "+1.5", "+2.5"], [2, 3]),  # time runs back
        (["+0", "+1", "", "+3", "+4"], [2, 1, 2]),  # a record without a time
        (["-2", "-1", "+0", "+1", "+2"], [5]),
    ],
)
@pytest.mark.parametrize("kind", ["EDF", "BDF"])
def test_gaps_become_segments(channel, write_edf, read_all, case, kind):
    onsets, expected = case
    path = write_edf([channel], onsets=onsets, variant="+D", kind=kind)
    recording, values = read_all(path)
    assert lengths(recording) == [256 * n for n in expected]
    assert ("gaps" in {f.code for f in recording.findings}) == (len(expected) > 1)
    np.testing.assert_allclose(values[0], channel.values, atol=0.051)


def test_a_continuous_file_has_one_segment(channel, write_edf, read_all):
    path = write_edf([channel], onsets=["+0", "+1", "+2", "+3", "+4"], variant="+C")
    assert lengths(read_all(path)[0]) == [1280]


def test_interrupted_without_times_is_refused(channel, write_edf, read_all):
    with pytest.raises(RecordingError, match="no annotation signal"):
        read_all(write_edf([channel], variant="+D"))
    path = write_edf([channel], onsets=["+0"] * 5, variant="+D", record_seconds="0")
    with pytest.raises(RecordingError, match="no record duration"):
        read_all(path, sfreq=256.0)
