"""Public recordings in, public constants out: how references are made, ours included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from platform import python_version

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.pipeline.cache import content_digest
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.recordings import ReadOptions, opened_recording
from neuroveil.reference import (
    Provenance,
    Reference,
    ReferenceDescription,
    ReferenceSamples,
    build_reference,
)
from neuroveil.signal import SignalSettings, extract_features
from neuroveil.types.catalogue import FEATURE_NAMES
from neuroveil.types.recording import FloatArray, RecordingFile, Roster, RosterEntry

EEGMAT_PEOPLE: tuple[str, ...] = tuple(f"Subject{number:02d}" for number in range(17, 24))
"""The seven people of the public data set that the built-in reference rests on. The others
are a cohort in tests and examples, so they must stay out of it."""

_PACKAGES = ("neuroveil", "numpy", "scipy", "mne")


def build_reference_from_recordings(
    roster: Roster,
    read: ReadOptions,
    signal: SignalSettings,
    description: ReferenceDescription,
    progress: Progress = no_progress,
) -> Reference:
    """Extract the features of public recordings and estimate constants from them.

    Parameters
    ----------
    roster : Roster
        Public people and their recordings; each recording is one sample.
    read : ReadOptions
        How the recordings are read; its channels are the reference's.
    signal : SignalSettings
        How features are taken; its features are the reference's.
    description : ReferenceDescription
        Name, preset, provenance and caveats. Counts, settings and software versions are
        filled in here.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Reference
        The same for the same recordings and settings.

    Raises
    ------
    StudyError
        If the description names another preset than the settings.
    RecordingError
        If a recording cannot be used, or too few people have a feature.
    """
    if description.preset != signal.preset:
        raise StudyError([StudyMistake(
            "reference.preset", f"the preset of the signal settings, {signal.preset!r}",
            repr(description.preset), "Describe the reference with the preset that makes it.",
        )])  # fmt: skip
    samples = ReferenceSamples(
        values=np.stack(list(_values(roster, read, signal, progress))),
        people=tuple(entry.patient for entry in roster.entries for _ in entry.recordings),
        channels=read.channels,
        features=signal.features,
    )
    settings = {
        "signal": signal.public_params(),
        "montage": read.montage,
        "highpass_hz": read.highpass_hz,
        "lowpass_hz": read.lowpass_hz,
    }
    software = {"python": python_version(), **{name: version(name) for name in _PACKAGES}}
    digests = sorted(
        content_digest(file.path) for entry in roster.entries for file in entry.recordings
    )
    provenance = replace(
        description.provenance, recording_digests=tuple(digests), settings=settings,
        software=software,
    )  # fmt: skip
    return build_reference(samples, replace(description, provenance=provenance))


def build_eegmat_reference(
    folder: Path, preset: str, progress: Progress = no_progress
) -> Reference:
    """Make the built-in reference again from the recordings it rests on.

    Parameters
    ----------
    folder : Path
        Holds the files of *EEG During Mental Arithmetic Tasks* 1.0.0, of which
        ``Subject17_1.edf`` to ``Subject23_2.edf`` are used.
    preset : {"harmonised", "paper"}
        Feature preset.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Reference
        Equal to the built-in file apart from software versions.

    Raises
    ------
    StudyError
        If there is no such preset.
    RecordingError
        If a recording is missing or cannot be used.
    """
    # The files were low-passed at 45 Hz before they were published, which their headers do
    # not say: high gamma is empty in them, so it is not part of this reference.
    features = tuple(name for name in FEATURE_NAMES if name != "high_gamma_power")
    signal = SignalSettings(preset=preset, features=features)  # type: ignore[arg-type]
    read = ReadOptions(highpass_hz=0.5, lowpass_hz=45.0)
    description = ReferenceDescription(
        name=f"eegmat-rest7-{preset}",
        version="1",
        preset=signal.preset,
        provenance=_EEGMAT,
        caveats=_EEGMAT_CAVEATS,
    )
    entries = tuple(
        RosterEntry(
            person,
            tuple(RecordingFile(folder / f"{person}_{part}.edf", str(part)) for part in (1, 2)),
        )
        for person in EEGMAT_PEOPLE
    )
    return build_reference_from_recordings(Roster(entries), read, signal, description, progress)


def _values(
    roster: Roster, read: ReadOptions, signal: SignalSettings, progress: Progress
) -> Iterator[FloatArray]:
    """Mean over windows of every recording, on the channels and features asked for."""
    done = 0
    for entry in roster.entries:
        for file in entry.recordings:
            role = f"recording {done + 1} of {roster.n_recordings}"
            with opened_recording(file.path, replace(read, role=role)) as recording:
                found = extract_features(recording, signal)
            values = np.full((len(read.channels), len(signal.features)), np.nan)
            rows = [read.channels.index(name) for name in found.ch_names]
            columns = [signal.features.index(name) for name in found.features]
            with np.errstate(invalid="ignore"):
                means = np.where(found.counts > 0, found.sums / found.counts, np.nan)
            values[np.ix_(rows, columns)] = means
            done += 1
            progress(done, roster.n_recordings, "extracting public recordings")
            yield values


_EEGMAT = Provenance(
    dataset="EEG During Mental Arithmetic Tasks (eegmat)",
    dataset_version="1.0.0",
    source="doi:10.13026/C2JQ1P",
    licence="Open Data Commons Attribution License (ODC-By) 1.0",
    attribution=(
        "Contains information from EEG During Mental Arithmetic Tasks 1.0.0 (PhysioNet), which "
        "is made available under the ODC Attribution License 1.0."
    ),
    citation=(
        "Zyma I, Tukaev S, Seleznov I, Kiyono K, Popov A, Chernykh M, Shpenkov O. "
        "Electroencephalograms during Mental Arithmetic Task Performance. Data. 2019; 4(1):14."
    ),
    population="seven healthy students aged 16 to 22, six women and one man, awake",
    covers=("adults",),
    recordings=(
        "Subject17 to Subject23, each at rest (about 3 minutes) and during mental arithmetic "
        "(about 1 minute)"
    ),
    n_people=0,
    n_recordings=0,
    recording_digests=(),
    settings={},
    software={},
)

_EEGMAT_CAVEATS = (
    "These constants rest on seven healthy students aged 16 to 22, six women and one man. "
    "Seven people fix a centre to about 0.4 of a spread, and a spread to about a third.",
    "They were recorded awake, at rest and during mental arithmetic, in one laboratory with "
    "one device. Patients, children, elderly people and sleepers differ systematically.",
    "The recordings were filtered to 0.5-45 Hz and cleaned of artefacts by their authors: "
    "there are no constants for high gamma, and gamma, beta and line length may be lower "
    "than in unfiltered recordings with muscle activity.",
    "The covariance is a product of channels and features; seven people cannot show whether "
    "that structure holds.",
)
