"""Who takes part, and which files are whose: fixed before any signal is read.

A patient's identity comes from a list or from file names, never from a recording's header.
The number of patients is public, so it must not depend on which recordings turn out usable:
a patient without any stays on the roster.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from neuroveil.errors import RecordingError
from neuroveil.recordings.formats import FOLDER_SUFFIX, SUPPORTED_SUFFIXES, may_be_recording
from neuroveil.recordings.name_pattern import NamePattern
from neuroveil.recordings.roster_problems import RosterProblems
from neuroveil.recordings.roster_tables import ListedRow, read_patient_list
from neuroveil.types.recording import QualityFinding, RecordingFile, Roster, RosterEntry

Names = tuple[str, ...] | None
Attributes = dict[str, dict[str, str]]
Claims = dict[str, list[RecordingFile]]


def roster_from_bids(
    root: Path,
    *,
    participants: Path | None = None,
    patients: Names = None,
    sessions: Names = None,
) -> Roster:
    """Build the roster of a BIDS dataset.

    Recordings are ``sub-*/[ses-*/]eeg/*_eeg.*`` (EEG-BIDS, Pernet et al. 2019); the key is
    the ``participant_id``, and the list's other columns become attributes.

    Parameters
    ----------
    root : Path
        Folder of the dataset.
    participants : Path, optional
        The list that fixes the patients; ``participants.tsv`` of the dataset if absent.
    patients : tuple of str, optional
        Keys of the patients that take part, where not all of the list do.
    sessions : tuple of str, optional
        Session labels that are used; all if absent.

    Returns
    -------
    Roster
        One entry a patient, sorted by key.

    Raises
    ------
    RecordingError
        If the list or the folder has mistakes; all of them at once.
    """
    _need_folder(root)
    problems = RosterProblems("participants.tsv")
    rows = read_patient_list(participants or root / "participants.tsv", problems.where)
    attributes = _fixed_patients(rows, patients, problems)
    by_folder = {_bids_folder(key): key for key in attributes}
    claims: Claims = {}
    unclaimed = 0
    for folder in sorted(root.glob("sub-*")):
        files = _bids_files(folder, sessions)
        if folder.name in by_folder:
            claims[by_folder[folder.name]] = files
        else:
            unclaimed += len(files)
    problems.raise_if_any()
    return _roster(attributes, claims, unclaimed)


def roster_from_manifest(
    manifest: Path, root: Path, *, patients: Names = None, sessions: Names = None
) -> Roster:
    """Build the roster of a manifest with columns ``patient``, ``path``, ``session``.

    One row a recording. A patient with an empty path has no recording and still counts.
    All other columns become attributes.

    Parameters
    ----------
    manifest : Path
        CSV or TSV file.
    root : Path
        Folder that paths are relative to and must not leave.
    patients : tuple of str, optional
        Keys of the patients that take part, where not all of the list do.
    sessions : tuple of str, optional
        Session labels that are used; all if absent.

    Returns
    -------
    Roster
        One entry a patient, sorted by key.

    Raises
    ------
    RecordingError
        If the list or the folder has mistakes; all of them at once.
    """
    _need_folder(root)
    problems = RosterProblems("manifest")
    rows = read_patient_list(manifest, problems.where)
    if rows and "path" not in rows[0].values:
        raise RecordingError(
            "manifest", "columns 'patient' and 'path'", "no column 'path'", "Add it."
        )
    problems.check_keys(((row.patient, row.number) for row in rows), once=False)
    claims: Claims = {}
    attributes: Attributes = {}
    taken: set[Path] = set()
    for row in rows:
        values = dict(row.values)
        path, session = values.pop("path"), values.pop("session", "")
        if attributes.setdefault(row.patient, values) != values:
            problems.add("row whose attributes differ from the patient's first row", row.number)
        file = _manifest_file(root, path, row.number, problems) if path else None
        if file in taken:
            problems.add("recording listed twice", row.number)
        elif file is not None:
            taken.add(file)
            if sessions is None or session in sessions:
                claims.setdefault(row.patient, []).append(RecordingFile(file, session))
    attributes = _chosen(attributes, patients, problems)
    problems.raise_if_any()
    return _roster(attributes, claims, 0)


def roster_from_pattern(
    root: Path,
    pattern: str,
    participants_file: Path | None = None,
    *,
    patients: Names = None,
    sessions: Names = None,
) -> Roster:
    """Build the roster from file names, for example ``"{patient}_{session}.edf"``.

    Parameters
    ----------
    root : Path
        Folder that the pattern is relative to.
    pattern : str
        Path with ``{patient}``, optionally ``{session}`` and ``*``; folders are allowed.
    participants_file : Path, optional
        CSV or TSV file that fixes the patients and gives attributes; its key column is
        ``patient``, ``participant_id`` or ``subject``, else the first.
    patients : tuple of str, optional
        Keys that fix the patients, or choose among those of the file.
    sessions : tuple of str, optional
        Session labels that are used; all if absent.

    Returns
    -------
    Roster
        One entry a patient, sorted by key.

    Raises
    ------
    RecordingError
        If the pattern, the list or the folder has mistakes; all of them at once.
    """
    _need_folder(root)
    compiled, problems = NamePattern(pattern), RosterProblems("file name pattern")
    claims: Claims = {}
    unclaimed = 0
    for file in _eeg_files(root):
        match = compiled.match(file.relative_to(root).as_posix())
        if match == "ambiguous":
            problems.add("file whose name can be divided in two ways")
        elif match is None or isinstance(match, str):
            unclaimed += 1
        elif sessions is None or match[1] in sessions:
            claims.setdefault(match[0], []).append(RecordingFile(file, match[1]))
    if participants_file is not None:
        problems.where = "patient list"
        rows = read_patient_list(participants_file, problems.where)
        attributes = _fixed_patients(rows, patients, problems)
    else:
        problems.check_keys(((key, 0) for key in sorted(claims)), once=True)
        attributes = {key: {} for key in (claims if patients is None else patients)}
        problems.check_keys(((key, 0) for key in patients or ()), once=True)
    unclaimed += sum(len(files) for key, files in claims.items() if key not in attributes)
    problems.raise_if_any()
    return _roster(attributes, claims, unclaimed)


def _need_folder(root: Path) -> None:
    """Refuse a root that is no folder."""
    if not root.is_dir():
        raise RecordingError("input folder", "a folder", "none", "Check input.folder in the study.")


def _fixed_patients(
    rows: tuple[ListedRow, ...], patients: Names, problems: RosterProblems
) -> Attributes:
    """Patients of a list with one row each."""
    problems.check_keys(((row.patient, row.number) for row in rows), once=True)
    return _chosen({row.patient: row.values for row in rows}, patients, problems)


def _chosen(attributes: Attributes, patients: Names, problems: RosterProblems) -> Attributes:
    """Patients that take part, where the study chooses among those of a list."""
    if patients is None:
        return attributes
    for key in patients:
        if key not in attributes:
            problems.add("chosen patient who is not on the list")
    if len(set(patients)) != len(patients):
        problems.add("patient chosen twice")
    return {key: attributes[key] for key in patients if key in attributes}


def _bids_folder(participant: str) -> str:
    """Folder of a participant; some lists leave the prefix out."""
    return participant if participant.startswith("sub-") else f"sub-{participant}"


def _bids_files(folder: Path, sessions: Names) -> list[RecordingFile]:
    """Recordings of one participant's folder."""
    found = []
    for name in ("", *(name for name in _names(folder) if name.startswith("ses-"))):
        session = name.removeprefix("ses-")
        if sessions is not None and not {session, f"ses-{session}"} & set(sessions):
            continue
        eeg = folder / name / "eeg"
        paths = (eeg / each for each in _names(eeg) if "_eeg." in each and each[0] != ".")
        found += [RecordingFile(path, session) for path in paths if may_be_recording(path)]
    return found


def _names(folder: Path) -> list[str]:
    """What lies in a folder, in a fixed order; nothing where it is none."""
    try:
        return sorted(each.name for each in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        raise RecordingError(
            "roster", "folders of participants that can be looked into", "one that may not be",
            "Correct the rights: recordings must not be left out because they were not seen.",
            code="unreadable",
        ) from None  # fmt: skip


def _manifest_file(root: Path, path: str, row: int, problems: RosterProblems) -> Path | None:
    """Resolve one path of a manifest, or note what is wrong with it."""
    file = Path(os.path.normpath(root / path.replace("\\", "/")))
    if not file.resolve().is_relative_to(root.resolve()):
        problems.add("path outside the input folder", row)
    elif not (file.is_file() or (file.is_dir() and file.suffix.lower() == FOLDER_SUFFIX)):
        problems.add("recording that is not there", row)
    elif file.suffix.lower() not in SUPPORTED_SUFFIXES:
        problems.add("file of an unsupported kind", row)
    else:
        return file
    return None


def _eeg_files(root: Path) -> Iterator[Path]:
    """All files (and folders of EGI) under a folder that may be recordings, in a fixed order."""
    for folder, subfolders, names in os.walk(root):
        whole = [name for name in subfolders if name.lower().endswith(FOLDER_SUFFIX)]
        subfolders[:] = sorted(
            name for name in subfolders if not name.startswith(".") and name not in whole
        )
        for name in sorted([*names, *whole]):
            path = Path(folder) / name
            if not name.startswith(".") and may_be_recording(path):
                yield path


def _roster(attributes: Attributes, claims: Claims, unclaimed: int) -> Roster:
    """Put entries and findings together."""
    entries = tuple(
        RosterEntry(key, _ordered(claims.get(key, ())), attributes[key])
        for key in sorted(attributes)
    )
    if not entries:
        raise RecordingError(
            "patient list", "at least one patient", "none",
            "Check input.folder and the list or pattern.",
        )  # fmt: skip
    findings = []
    without = sum(not entry.recordings for entry in entries)
    if without:
        findings.append(QualityFinding(
            "patients_without_recording", f"{without} patients have no recording; they stay on "
            "the roster and get the public fallback row.", count=without,
        ))  # fmt: skip
    if unclaimed:
        findings.append(QualityFinding(
            "unclaimed_files", f"{unclaimed} recordings belong to no patient of the roster and "
            "are not used.", count=unclaimed,
        ))  # fmt: skip
    return Roster(entries, tuple(findings))


def _ordered(files: Iterable[RecordingFile]) -> tuple[RecordingFile, ...]:
    """Recordings in an order that does not depend on the file system."""
    return tuple(sorted(files, key=lambda file: (file.session, str(file.path))))
