"""Write a cohort in the layout of the Brain Imaging Data Structure (BIDS 1.9)."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np

from neuroveil.simulate.background import AMPLIFIER_HZ
from neuroveil.simulate.spec import CohortSpec
from neuroveil.simulate.truth import CohortTruth, SessionTruth
from neuroveil.types.recording import SignalArray

MICROVOLTS_PER_STEP = 0.1
"""Resolution of the files: 16-bit steps of 0.1 µV reach ± 3.28 mV."""

DESCRIPTION_FILE = "dataset_description.json"
SPEC_DIGEST_KEY = "NeuroveilCohortSpecDigest"

_README = """\
A made-up cohort, written by `neuroveil simulate`. Nobody in it exists.

Each person has an EEG spectrum of their own that stays nearly the same from one session to the
next. People with the diagnosis "epilepsy" have focal spikes and slowing, some have a seizure.
Blinks, muscle activity, mains interference, drift and here and there a flat channel are there
because real recordings have them.
"""

_PARTICIPANTS_DICTIONARY = {
    "age": {"Description": "Age of the made-up person", "Units": "years"},
    "sex": {"Description": "Sex", "Levels": {"F": "female", "M": "male"}},
    "diagnosis": {
        "Description": "Class that was planted in the signals",
        "Levels": {
            "healthy": "no epileptic activity",
            "epilepsy": "spikes, focal slowing, and for some a seizure",
        },
    },
    "hospital": {"Description": "Hospital where the recordings were made"},
}


def session_folder(root: Path, session: SessionTruth) -> Path:
    """Folder of one recording.

    Parameters
    ----------
    root : Path
        The data set.
    session : SessionTruth
        Which recording.

    Returns
    -------
    Path
        ``root/sub-NNNN/ses-NN/eeg``.
    """
    return root / session.patient / session.session / "eeg"


def recording_path(root: Path, session: SessionTruth) -> Path:
    """File that holds the signals of one recording.

    Parameters
    ----------
    root : Path
        The data set.
    session : SessionTruth
        Which recording.

    Returns
    -------
    Path
        Ends in ``_task-rest_eeg.edf``.
    """
    return session_folder(root, session) / f"{_stem(session)}_eeg.edf"


def write_session(root: Path, session: SessionTruth, signals: SignalArray) -> None:
    """Write one recording and its two side files.

    The EDF+ file comes last and appears all at once, so a recording that is there is whole.

    Parameters
    ----------
    root : Path
        The data set.
    session : SessionTruth
        What the recording holds.
    signals : ndarray of float32, shape (n_channels, n_times)
        In microvolts.
    """
    folder = session_folder(root, session)
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / f"{_stem(session)}_eeg.json", _sidecar(session))
    flat = set(session.flat_channels)
    rows = [
        f"{label}\t{kind}\tuV\t{session.sfreq}\t{'bad' if label in flat else 'good'}"
        for label, kind in zip(session.labels, session.kinds, strict=True)
    ]
    _write_text(
        folder / f"{_stem(session)}_channels.tsv",
        "\n".join(["name\ttype\tunits\tsampling_frequency\tstatus", *rows]) + "\n",
    )
    unfinished = folder / f"{_stem(session)}_eeg.edf.unfinished"
    _write_edf(unfinished, session, signals)
    unfinished.replace(recording_path(root, session))


def write_data_set_files(root: Path, spec: CohortSpec, truth: CohortTruth) -> None:
    """Write what stands at the top of the data set.

    Parameters
    ----------
    root : Path
        The data set; must exist.
    spec : CohortSpec
        What the cohort was made from; kept in the description so it can be made again.
    truth : CohortTruth
        Only what a real hospital would know of it is written: participants, not signatures.
    """
    _write_text(root / "README", _README)
    rows = [f"{p.patient}\t{p.age}\t{p.sex}\t{p.diagnosis}\t{p.hospital}" for p in truth.patients]
    _write_text(
        root / "participants.tsv",
        "\n".join(["participant_id\tage\tsex\tdiagnosis\thospital", *rows]) + "\n",
    )
    _write_json(root / "participants.json", _PARTICIPANTS_DICTIONARY)
    description = {
        "Name": "Made-up EEG cohort",
        "BIDSVersion": "1.9.0",
        "DatasetType": "raw",
        "License": "CC0",
        "GeneratedBy": [{"Name": "neuroveil simulate", "Version": version("neuroveil")}],
        "NeuroveilCohortSpec": asdict(spec),
        SPEC_DIGEST_KEY: spec.digest,
    }
    _write_json(root / DESCRIPTION_FILE, description)


def _stem(session: SessionTruth) -> str:
    return f"{session.patient}_{session.session}_task-rest"


def _sidecar(session: SessionTruth) -> dict[str, object]:
    return {
        "TaskName": "rest",
        "TaskDescription": "Sitting quietly, eyes mostly closed",
        "SamplingFrequency": session.sfreq,
        "PowerLineFrequency": session.line_frequency,
        "EEGReference": "linked mastoids",
        "EEGPlacementScheme": "10-20",
        "SoftwareFilters": "n/a",
        "HardwareFilters": {
            "Amplifier": {"HighPassHz": AMPLIFIER_HZ[0], "LowPassHz": AMPLIFIER_HZ[1]}
        },
        "RecordingType": "continuous",
        "RecordingDuration": session.seconds,
        "EEGChannelCount": session.kinds.count("EEG"),
        "EOGChannelCount": session.kinds.count("EOG"),
        "ECGChannelCount": session.kinds.count("ECG"),
        "EMGChannelCount": 0,
        "MiscChannelCount": 0,
        "TriggerChannelCount": 0,
    }


def _write_edf(path: Path, session: SessionTruth, signals: SignalArray) -> None:
    from edfio import Edf, EdfAnnotation, EdfSignal

    limits = np.iinfo(np.int16)
    steps = np.clip(np.rint(signals / np.float32(MICROVOLTS_PER_STEP)), limits.min, limits.max)
    low, high = AMPLIFIER_HZ
    edf_signals = [
        EdfSignal.from_digital(
            digital,
            session.sfreq,
            label=label,
            transducer_type="AgAgCl electrode",
            physical_dimension="uV",
            physical_range=(limits.min * MICROVOLTS_PER_STEP, limits.max * MICROVOLTS_PER_STEP),
            prefiltering=f"HP:{low:g}Hz LP:{high:g}Hz",
        )
        for label, digital in zip(session.labels, steps.astype(np.int16), strict=True)
    ]
    start = EdfAnnotation(0.0, None, "Recording starts")
    edf = Edf(edf_signals, data_record_duration=1, annotations=[start])
    with path.open("wb") as file:
        edf.write(file)


def _write_json(path: Path, document: object) -> None:
    _write_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _write_text(path: Path, text: str) -> None:
    # Bytes, so that the files are the same on every system.
    path.write_bytes(text.encode())
