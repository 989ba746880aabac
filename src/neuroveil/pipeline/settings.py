"""From the study's sections to the settings that each room understands."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from importlib import metadata
from platform import python_version

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.pipeline.linked_roster import link_roster
from neuroveil.recordings import (
    ReadOptions,
    roster_from_bids,
    roster_from_manifest,
    roster_from_pattern,
)
from neuroveil.signal import RejectionSettings, SignalSettings
from neuroveil.study import Study
from neuroveil.types.catalogue import Column, columns_for
from neuroveil.types.recording import Roster

_READING = (
    "neuroveil", "numpy", "scipy", "mne", "h5py", "pymatreader", "curryreader", "mffpy", "mat-io",
    "antio",
)  # fmt: skip
_PACKAGES = ("neuroveil", "numpy", "scipy", "opendp", "dp-accounting", "mne", "pyarrow")


def find_roster(study: Study) -> Roster:
    """Fix the study's patients, each person once, before any signal is read.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Roster
        Its length is the public n of the release.

    Raises
    ------
    RecordingError
        If patients and files do not fit together.
    LinkageError
        If the outcome of linkage does not fit the roster.
    """
    return link_roster(study, _roster_of_files(study))


def _roster_of_files(study: Study) -> Roster:
    source = study.input
    folder = study.path(source.folder)
    participants = study.path(source.participants) if source.participants else None
    chosen = {"patients": source.patients, "sessions": source.sessions}
    if source.layout == "manifest":
        assert source.manifest is not None
        return roster_from_manifest(study.path(source.manifest), folder, **chosen)
    if source.layout == "pattern":
        assert source.pattern is not None
        return roster_from_pattern(folder, source.pattern, participants, **chosen)
    return roster_from_bids(folder, participants=participants, **chosen)


def read_options(study: Study, role: str = "recording") -> ReadOptions:
    """Say how one recording is to be read.

    Parameters
    ----------
    study : Study
        Checked settings.
    role : str
        What an error may call the recording, for example ``"recording 3 of 41"``.

    Returns
    -------
    ReadOptions
        For :func:`neuroveil.recordings.opened_recording`.
    """
    source = study.input
    return ReadOptions(
        channels=study.montage.channels,
        montage=study.montage.kind,
        unit=source.unit,
        unit_override=source.unit_override,
        sfreq=source.sfreq_hz,
        highpass_hz=source.highpass_hz,
        lowpass_hz=source.lowpass_hz,
        file_channels=source.file_channels,
        role=role,
    )


def signal_settings(study: Study) -> SignalSettings:
    """Say how features are taken.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    SignalSettings
        For :func:`neuroveil.signal.extract_features`.
    """
    options = study.signal
    chosen = options.rejection.model_dump(exclude_none=True)
    return SignalSettings(
        preset=options.preset,
        line_frequency_hz=options.line_frequency_hz,
        features=study.features.names,
        rejection=RejectionSettings(**chosen),
        eog_regression=options.eog_regression,
    )


def study_columns(study: Study) -> tuple[Column, ...]:
    """List the columns that the study releases, whatever the cohort holds.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    tuple of Column
        Channel by channel.
    """
    return columns_for(study.montage.channels, study.features.names)


def settings_digest(study: Study) -> str:
    """Digest everything besides the recording that its features depend on.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    document = {
        "read": asdict(read_options(study)),
        "signal": signal_settings(study).public_params(),
        "versions": reading_versions(),
    }
    return sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()


@cache
def reading_versions() -> dict[str, str]:
    """List the versions that features depend on.

    Returns
    -------
    dict of str to str
        Version by package; ``""`` where it is not installed.
    """
    found = {}
    for name in _READING:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


@cache
def software_versions() -> dict[str, str]:
    """List the versions that a result depends on.

    Returns
    -------
    dict of str to str
        Version by package, and of Python.
    """
    return {"python": python_version(), **{name: metadata.version(name) for name in _PACKAGES}}


def require_epsilon(study: Study) -> float:
    """Give the study's epsilon, or say that it is missing.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    float
        Epsilon of the rows.

    Raises
    ------
    StudyError
        If neither the study nor the command line sets it.
    """
    if study.privacy.epsilon is None:
        raise StudyError([StudyMistake(
            "privacy.epsilon", "a positive number", "nothing",
            "Set it in [privacy], or give --epsilon.",
        )])  # fmt: skip
    return study.privacy.epsilon
