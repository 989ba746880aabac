"""Cohorts of real recordings for the paper's tables: eegmat, or a study of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.errors import RecordingError, StudyError, StudyMistake
from neuroveil.evaluate.reproduction import ReproductionCohort, cohort_of_rows
from neuroveil.evaluate.reproduction.printed import N_PATIENTS, N_POSITIVE
from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import study_scaling
from neuroveil.privacy import scale_rows
from neuroveil.study import Study
from neuroveil.types.catalogue import FEATURE_NAMES
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling

_REST, _TASK = "1", "2"
_MISSING_FEATURE = "high_gamma_power"
"""The recordings of eegmat end at 45 Hz; where high gamma begins there is nothing."""


def eegmat_cohort(
    recordings: Path, folder: Path, n_workers: int | None = None, progress: Progress = no_progress
) -> ReproductionCohort:
    """Take 17 people of eegmat, 12 at rest and 5 at mental arithmetic.

    Rest and arithmetic can be told apart across people, so this label has something to be
    found; good and bad counters, the label of the data set, cannot. The public constants
    come from Subject17 to Subject23, who are not in the cohort.

    Parameters
    ----------
    recordings : Path
        Folder with the recordings of eegmat 1.0.0.
    folder : Path
        Where features are kept.
    n_workers : int, optional
        Processes; default: all cores.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    ReproductionCohort
        190 columns; Subject12 to Subject16 are positive. Internal.

    Raises
    ------
    StudyError
        If the recordings are not there.
    RecordingError
        If one of them cannot be used.
    MachineError
        If the machine kept a recording from being read.
    """
    if not (recordings / f"Subject00_{_REST}.edf").is_file():
        raise StudyError([StudyMistake(
            "--eegmat", "a folder with the recordings of eegmat 1.0.0", "none of them",
            "Download the data set from PhysioNet, or leave --eegmat out.",
        )])  # fmt: skip
    people = [f"Subject{number:02d}" for number in range(N_PATIENTS)]
    n_rest = N_PATIENTS - N_POSITIVE
    rows, scaling = [], None
    for session, chosen in ((_REST, people[:n_rest]), (_TASK, people[n_rest:])):
        study = _eegmat_study(recordings, private_folder(folder), chosen, session)
        found, scaling = _scaled_rows(study, n_workers, progress)
        rows.append(found)
    assert scaling is not None  # both halves have the same constants
    positive = np.arange(N_PATIENTS) >= n_rest
    return cohort_of_rows(
        np.concatenate(rows), positive, scaling, "eegmat",
        f"{n_rest} people at rest and {N_POSITIVE} others at mental arithmetic (positive) from "
        "eegmat 1.0.0; public constants from seven people who are not among them",
    )  # fmt: skip


def study_cohort(
    study: Study,
    label: str,
    positive: str,
    n_workers: int | None = None,
    progress: Progress = no_progress,
) -> ReproductionCohort:
    """Take 12 negative and 5 positive patients of a study, in the order of its roster.

    Parameters
    ----------
    study : Study
        Checked settings.
    label : str
        Column of the roster.
    positive : str
        Its value for the positive class; every other value is negative.
    n_workers : int, optional
        Processes; default: all cores.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    ReproductionCohort
        Internal.

    Raises
    ------
    StudyError
        If the roster has no such column.
    RecordingError
        If there are fewer patients of a class.
    MachineError
        If the machine kept a recording from being read.
    """
    extraction = extract_study(study, n_workers, progress)
    extraction.require_settled()
    table = extraction.table
    if label not in table.attributes:
        raise StudyError([StudyMistake(
            "--label", "a column of the roster", repr(label),
            f"Choose from: {', '.join(sorted(table.attributes)) or 'none; add one'}.",
        )])  # fmt: skip
    scaling = study_scaling(study, table)
    is_positive = np.array([value == positive for value in table.attributes[label]])
    description = (
        f"the first {N_PATIENTS - N_POSITIVE} negative and {N_POSITIVE} positive patients of a "
        f"study, scaled with {scaling.name}"
    )
    return cohort_of_rows(scale_rows(table, scaling), is_positive, scaling, "study", description)


def _eegmat_study(recordings: Path, folder: Path, people: list[str], session: str) -> Study:
    document: dict[str, Any] = {
        "input": {
            "layout": "pattern", "folder": str(recordings.resolve()),
            "pattern": "{patient}_{session}.edf", "patients": people, "sessions": [session],
            "population": "adults", "highpass_hz": 0.5, "lowpass_hz": 45.0,
        },
        "signal": {"preset": "harmonised", "line_frequency_hz": 50},
        "features": {"names": [name for name in FEATURE_NAMES if name != _MISSING_FEATURE]},
        "output": {"internal": "features"},
    }  # fmt: skip
    return Study.model_validate({**document, "root": folder})


def _scaled_rows(
    study: Study, n_workers: int | None, progress: Progress
) -> tuple[FloatArray, Scaling]:
    extraction = extract_study(study, n_workers, progress)
    extraction.require_settled()
    if extraction.n_patients_without_data:
        # A row of public constants would stand in, and count as a person at rest or at work.
        raise RecordingError(
            "--eegmat", "a usable recording of each of the 17 people",
            f"{extraction.n_patients_without_data} people without one",
            "Download the data set again, whole.",
        )  # fmt: skip
    scaling = study_scaling(study, extraction.table)
    return scale_rows(extraction.table, scaling), scaling
