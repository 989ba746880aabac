"""Find recordings and patients, read them safely, harmonise channels and units.

This is the only room that reads EEG files. Reading EDF and BDF needs numpy alone; mne, h5py
and pymatreader are imported when a file needs them.
"""

from neuroveil.recordings.formats import SUPPORTED_SUFFIXES
from neuroveil.recordings.opening import opened_recording
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.parts import parts_of
from neuroveil.recordings.roster import (
    roster_from_bids,
    roster_from_manifest,
    roster_from_pattern,
)
from neuroveil.recordings.roster_tables import ListedRow, read_patient_list
from neuroveil.recordings.summary import RecordingSummary, bipolar_channels, inspect_recording

__all__ = [
    "SUPPORTED_SUFFIXES",
    "ListedRow",
    "ReadOptions",
    "RecordingSummary",
    "bipolar_channels",
    "inspect_recording",
    "opened_recording",
    "parts_of",
    "read_patient_list",
    "roster_from_bids",
    "roster_from_manifest",
    "roster_from_pattern",
]
