"""The real recordings of eegmat, with the traps their README names."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from neuroveil.recordings import (
    ReadOptions,
    inspect_recording,
    opened_recording,
    roster_from_pattern,
)
from neuroveil.types.catalogue import STANDARD_CHANNELS

OLD_NAMES = {"T7": "T3", "T8": "T4", "P7": "T5", "P8": "T6"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Subject00_1", "Subject09_2", "Subject23_1"])
def test_values_agree_with_mne(eegmat, name):
    """To the precision of float32: the stored values have 16 bits."""
    import mne

    raw = mne.io.read_raw_edf(eegmat / f"{name}.edf", preload=True, verbose="ERROR")
    picks = [f"EEG {OLD_NAMES.get(channel, channel)}" for channel in STANDARD_CHANNELS]
    theirs = raw.get_data(picks) * 1e6
    with opened_recording(eegmat / f"{name}.edf", ReadOptions()) as recording:
        ours = np.concatenate([s.read(0, s.n_times) for s in recording.segments], axis=1)
    assert recording.sfreq == raw.info["sfreq"] == 500.0
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-5)


def test_ecg_and_the_mastoid_channel_stay_out(eegmat):
    found = inspect_recording(eegmat / "Subject00_1.edf", ReadOptions())
    assert found.ch_names == STANDARD_CHANNELS
    assert found.eog_names == ()
    assert (found.n_file_channels, found.file_format) == (22, "EDF+C")
    assert (found.highpass_hz, found.lowpass_hz) == (0.5, 45.0)
    assert found.findings == ()


def test_identities_come_from_file_names_and_the_list(eegmat):
    """The header's sex contradicts the list, and its patient number is another."""
    cohort = tuple(f"Subject{i:02d}" for i in range(17))
    roster = roster_from_pattern(
        eegmat, "{patient}_{session}.edf", eegmat / "subject-info.csv", patients=cohort
    )
    assert tuple(entry.patient for entry in roster.entries) == cohort
    assert all([f.session for f in e.recordings] == ["1", "2"] for e in roster.entries)
    assert roster.entries[0].attributes["Gender"] == "F"


def test_reading_edf_needs_numpy_only(eegmat):
    """Workers that read EDF must stay small: nothing heavy may be imported."""
    code = (
        "import sys; from pathlib import Path\n"
        "from neuroveil.recordings import ReadOptions, opened_recording, roster_from_bids\n"
        f"with opened_recording(Path({str(eegmat / 'Subject00_2.edf')!r}), ReadOptions()) as r:\n"
        "    r.segments[0].read(0, 1000)\n"
        "heavy = {'mne', 'scipy', 'pandas', 'h5py', 'pymatreader', 'pydantic', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
