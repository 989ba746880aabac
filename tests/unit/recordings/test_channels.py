"""Labels of the usual layouts: each kind of label, and what must not be taken for EEG."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.recordings.channels import canonical_channel, parse_label
from neuroveil.types.catalogue import STANDARD_CHANNELS

REFERENTIAL = {
    # TUH
    "EEG FP1-REF": "Fp1", "EEG T3-LE": "T7", "EEG T4-LE": "T8", "EEG T5-REF": "P7",
    "EEG T6-REF": "P8", "EEG CZ-REF": "Cz", "EEG FZ-AR": "Fz",
    # Siena, eegmat, PhysioNet's motor imagery, BIDS
    "EEG Fp2": "Fp2", "EEG O1": "O1", "Fc5.": "FC5", "C3..": "C3", "AF7": "AF7",
    # Nihon Kohden, Natus, Micromed
    "EEG Fp1-Ref": "Fp1", "POL C4": "C4", "Fp1-AV": "Fp1", "EEG F7-A1": "F7", "fp1-a1a2": "Fp1",
    "C3-M2": "C3", "P3-G2": "P3", "eeg:pz": "Pz", "EEG_F8_REF": "F8", "O2 - REF": "O2",
    "F3-AVG": "F3", "EEG Fp1 - REF": "Fp1", "EEG\x00F4\x00\x00": "F4", "  cz  ": "Cz",
    # a reader's number behind a repeated label
    "Fz-0": "Fz", "C6-CS2": "C6",
}  # fmt: skip

BIPOLAR = {
    "FP1-F7": "Fp1-F7", "T8-P8": "T8-P8", "F7-T3": "F7-T7", "T5-O1": "P7-O1",
    "EEG Fpz-Cz": "Fpz-Cz", "T8-P8-0": "T8-P8", "T8-P8-1": "T8-P8", "P7-T7": "P7-T7",
    "FT9-FT10": "FT9-FT10", "EEG F3 - C3": "F3-C3",
}  # fmt: skip

OTHERS = {
    "EEG A2-A1": "mastoid", "A1": "mastoid", "EEG A1-REF": "mastoid", "M1": "mastoid",
    "M2-REF": "mastoid", "ECG ECG": "ecg", "EKG EKG": "ecg", "EEG EKG1-REF": "ecg",
    "EKG1-CHIN": "ecg", "EMG-REF": "emg", "Chin 1": "emg", "LEG-L": "emg", "EOG Left": "eog",
    "LOC-ROC": "eog", "EEG LOC-REF": "eog", "E1-M2": "eog", "HEOG": "eog", "VEOG": "eog",
    "EOG horizontal": "eog", "EDF Annotations": "annotation", "BDF Annotations": "annotation",
    "Status": "trigger", "PHOTIC-REF": "trigger", "MK": "trigger", "STI 014": "trigger",
    "BTEleft SD": "other", "CROSStop SD": "other", "-": "other", "": "other", "VNS": "other",
    "SPO2": "other", "HR": "other", "POL X1": "other", "POL E": "other", "POL DC01": "other",
    "EEG 24-REF": "other", "EEG SP1-REF": "other", "EEG C3P-REF": "other", "IBI": "other",
    "BURSTS": "other", "1": "other", "Resp nasal": "other", "EEG": "other", "01-REF": "other",
    "TEMP rect": "other", "FP1-F7-T3": "other",
}  # fmt: skip


@pytest.mark.parametrize(("label", "name"), REFERENTIAL.items())
def test_a_scalp_electrode_against_a_reference_has_one_name(label, name):
    found = parse_label(label)
    assert (found.kind, found.name) == ("eeg", name)


@pytest.mark.parametrize(("label", "name"), BIPOLAR.items())
def test_two_scalp_electrodes_are_a_bipolar_channel(label, name):
    found = parse_label(label)
    assert (found.kind, found.name) == ("bipolar", name)


@pytest.mark.parametrize(("label", "kind"), OTHERS.items())
def test_everything_else_is_no_eeg(label, kind):
    assert parse_label(label).kind == kind
    assert canonical_channel(label) is None


def test_the_standard_montage_is_canonical():
    assert tuple(canonical_channel(name) for name in STANDARD_CHANNELS) == STANDARD_CHANNELS


def test_the_reference_is_kept():
    assert parse_label("EEG T3-LE").reference == "LE"
    assert parse_label("EEG T3").reference == ""


@given(st.text(max_size=100))
def test_any_text_gives_a_known_kind_and_no_text_of_its_own(text):
    found = parse_label(text)
    assert found.kind in {
        "eeg", "bipolar", "mastoid", "eog", "ecg", "emg", "trigger", "annotation", "other",
    }  # fmt: skip
    assert len(found.name) <= 9


@given(st.sampled_from(sorted(REFERENTIAL)), st.sampled_from([str.upper, str.lower, str.title]))
def test_case_does_not_matter(label, change):
    assert parse_label(change(label)).name == parse_label(label).name
