"""From the roster to the private feature table: parallel, cached, resumable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from neuroveil.errors import MachineError, RecordingError
from neuroveil.pipeline.cache import (
    KEY_FILE,
    cache_key,
    keyed_digest,
    private_folder,
    read_features,
)
from neuroveil.pipeline.machine import is_of_the_machine, machine_error
from neuroveil.pipeline.pool import Progress, no_progress, run_tasks
from neuroveil.pipeline.settings import (
    find_roster,
    read_options,
    settings_digest,
    signal_settings,
    software_versions,
    study_columns,
)
from neuroveil.pipeline.worker import Outcome, Task, crashed, run_task
from neuroveil.study import Study
from neuroveil.types.catalogue import Column
from neuroveil.types.recording import FloatArray, QualityFinding, RecordingFeatures, Roster
from neuroveil.types.table import FeatureTable

Failure = RecordingError | MachineError


@dataclass(frozen=True, eq=False)
class Extraction:
    """What extraction gave. Internal.

    Parameters
    ----------
    table : FeatureTable
        One row a patient of the roster, also for patients without a usable recording.
    findings : tuple of QualityFinding
        Of the roster and of all recordings.
    failures : tuple of (int, RecordingError or MachineError)
        Recordings that could not be used, or not be tried, by number, in roster order.
    n_recordings : int
        Recordings on the roster.
    n_reused, n_computed : int
        Recordings whose result was there already, and that were done in this run.
    n_windows, n_windows_kept : int
        Windows of all recordings, before and after rejection.
    input_digests : tuple of str
        Keyed digest of every readable recording, in roster order.
    """

    table: FeatureTable
    findings: tuple[QualityFinding, ...]
    failures: tuple[tuple[int, Failure], ...]
    n_recordings: int
    n_reused: int
    n_computed: int
    n_windows: int
    n_windows_kept: int
    input_digests: tuple[str, ...] = field(repr=False)

    @property
    def n_patients_without_data(self) -> int:
        """Patients that will get the public fallback row."""
        return int(np.isnan(self.table.values).all(axis=1).sum())

    def require_settled(self) -> None:
        """Refuse to go on where the machine kept a recording from being tried.

        Raises
        ------
        MachineError
            The first of them. What a row holds must follow from that patient's own
            recordings alone, never from the room that others left.
        """
        for _, failure in self.failures:
            if isinstance(failure, MachineError):
                raise failure

    @property
    def n_missing_cells(self) -> int:
        """Cells that will get the public centre."""
        return int(np.isnan(self.table.values).sum())

    def summary(self) -> dict[str, int]:
        """Give the counts as plain data.

        Returns
        -------
        dict of str to int
            Internal: the counts depend on the cohort.
        """
        return {
            "patients": self.table.n_patients,
            "columns": self.table.n_features,
            "recordings": self.n_recordings,
            "recordings_reused": self.n_reused,
            "recordings_computed": self.n_computed,
            "recordings_failed": len(self.failures),
            "patients_without_data": self.n_patients_without_data,
            "missing_cells": self.n_missing_cells,
            "windows": self.n_windows,
            "windows_kept": self.n_windows_kept,
        }


@dataclass(frozen=True)
class _Source:
    """A recording on the roster with its place in the cache."""

    number: int
    role: str
    row: int
    path: Path
    digest: str | None
    failure: Failure | None = None


def extract_study(
    study: Study,
    n_workers: int | None = None,
    progress: Progress = no_progress,
    scheduler: str | None = None,
) -> Extraction:
    """Take the features of every patient on the study's roster.

    Work that an earlier run finished is used again; an interrupted run goes on where it
    stopped. One bad file never ends the run.

    Parameters
    ----------
    study : Study
        Checked settings.
    n_workers : int, optional
        Processes; default: all cores.
    progress : callable
        Called with (done, total, what).
    scheduler : str, optional
        Address of a Dask scheduler whose workers see the same files, or ``"slurm"``; default:
        this machine alone. Results are the same.

    Returns
    -------
    Extraction
        The private table, and what was noticed.

    Raises
    ------
    RecordingError
        If the roster itself cannot be used.
    StudyError
        If the scheduler cannot be used.
    """
    roster = find_roster(study)
    folder = private_folder(study.path(study.output.internal)) / "cache"
    sources = _sources(study, roster, folder, progress)
    todo = [s for s in sources if s.digest and not _cache_file(folder, s.digest).exists()]
    failures = {s.number: s.failure for s in sources if s.failure is not None}
    runner = _runner(n_workers, scheduler)
    failures |= _compute(study, todo, folder, runner, progress)
    pooled = _Pool(roster, study_columns(study))
    for source in sources:
        if source.digest is None or source.number in failures:
            continue
        features = read_features(_cache_file(folder, source.digest))
        if features is None:  # damaged on disk: do this one again, in this process
            failures |= _compute(study, [source], folder, _runner(1, None), no_progress)
            features = read_features(_cache_file(folder, source.digest))
        if features is not None:
            pooled.add(source.row, features)
    return Extraction(
        table=pooled.table(),
        findings=(*roster.findings, *pooled.findings),
        failures=tuple(sorted(failures.items())),
        n_recordings=len(sources),
        n_reused=sum(s.digest is not None for s in sources) - len(todo),
        n_computed=len(todo) - sum(s.number in failures for s in todo),
        n_windows=pooled.n_windows,
        n_windows_kept=pooled.n_windows_kept,
        input_digests=tuple(s.digest for s in sources if s.digest is not None),
    )


def pending(study: Study, progress: Progress = no_progress) -> dict[str, int]:
    """Count what an extraction would do, without doing it.

    Parameters
    ----------
    study : Study
        Checked settings.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    dict of str to int
        Patients, recordings, and how many of them are done, to do and unreadable.
    """
    roster = find_roster(study)
    folder = study.path(study.output.internal) / "cache"
    done = unreadable = 0
    if (folder / KEY_FILE).exists():
        sources = _sources(study, roster, folder, progress)
        done = sum(s.digest is not None and _cache_file(folder, s.digest).exists() for s in sources)
        unreadable = sum(s.failure is not None for s in sources)
    return {
        "patients": roster.n_patients,
        "recordings": roster.n_recordings,
        "done": done,
        "to_do": roster.n_recordings - done - unreadable,
        "unreadable": unreadable,
    }


def _cache_file(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.npz"


def _sources(study: Study, roster: Roster, folder: Path, progress: Progress) -> list[_Source]:
    key, settings = cache_key(folder), settings_digest(study)
    total = roster.n_recordings
    sources: list[_Source] = []
    for row, entry in enumerate(roster.entries):
        for recording in entry.recordings:
            number = len(sources) + 1
            role = f"recording {number} of {total}"
            digest, failure = None, None
            try:
                digest = keyed_digest(key, recording.path, settings)
            except OSError as error:
                failure = _unreadable(role, error)
            sources.append(_Source(number, role, row, recording.path, digest, failure))
            progress(number, total, "looking at recordings")
    _require_one_patient_each(sources)
    return sources


def _require_one_patient_each(sources: list[_Source]) -> None:
    """Refuse a recording under two keys: that person would count twice."""
    owners: dict[str, set[int]] = {}
    for source in sources:
        if source.digest is not None:
            owners.setdefault(source.digest, set()).add(source.row)
    shared = sum(len(rows) > 1 for rows in owners.values())
    if shared:
        raise RecordingError(
            "roster", "each recording with one patient",
            f"{shared} recordings that stand with two or more",
            "Find the patients that are listed twice: two rows are twice the influence.",
        )  # fmt: skip


def _unreadable(role: str, error: OSError) -> Failure:
    if is_of_the_machine(error):
        return machine_error(role, error)
    return RecordingError(
        role, "a file that can be read", type(error).__name__,
        "Check that the file is there and may be read.",
    )  # fmt: skip


_Runner = Callable[[Iterable[Task], int], Iterator[Outcome]]
"""Takes tasks and their number, and gives their outcomes as they finish."""


def _runner(n_workers: int | None, scheduler: str | None) -> _Runner:
    """Choose where tasks are done: processes of this machine, or a cluster."""
    if scheduler is not None:
        from neuroveil.pipeline.cluster import run_on_cluster

        return lambda tasks, _: run_on_cluster(tasks, scheduler, n_workers)
    most = n_workers or os.cpu_count() or 1
    return lambda tasks, total: run_tasks(tasks, min(most, total), run_task, crashed)


def _compute(
    study: Study, todo: list[_Source], folder: Path, runner: _Runner, progress: Progress
) -> dict[int, Failure]:
    """Do the missing recordings; return those that cannot be used, by number."""
    if not todo:
        return {}
    settings = signal_settings(study)
    total = len(todo)
    options = read_options(study)
    tasks = (
        Task(
            number=source.number,
            path=source.path,
            target=_cache_file(folder, str(source.digest)),
            options=replace(options, role=source.role),
            settings=settings,
        )
        for source in todo
    )
    failures = {}
    for done, outcome in enumerate(runner(tasks, total), start=1):
        if outcome.error is not None:
            failures[outcome.number] = outcome.error
        progress(done, total, "extracting features")
    return failures


class _Pool:
    """Adds recordings up window by window, patient by patient."""

    def __init__(self, roster: Roster, columns: tuple[Column, ...]) -> None:
        self.roster, self.columns = roster, columns
        self.index = {(column.channel, column.feature): j for j, column in enumerate(columns)}
        shape = (roster.n_patients, len(columns))
        self.sums = np.zeros(shape)
        self.counts = np.zeros(shape, dtype=np.int64)
        self.windows = np.zeros(roster.n_patients, dtype=np.int64)
        self.seconds = np.zeros(roster.n_patients)
        self.n_windows = self.n_windows_kept = 0
        self.findings: list[QualityFinding] = []

    def add(self, row: int, features: RecordingFeatures) -> None:
        for i, channel in enumerate(features.ch_names):
            for k, name in enumerate(features.features):
                column = self.index.get((channel, name))
                if column is not None:
                    self.sums[row, column] += features.sums[i, k]
                    self.counts[row, column] += features.counts[i, k]
        self.windows[row] += features.n_windows_kept
        self.seconds[row] += features.seconds
        self.n_windows += features.n_windows
        self.n_windows_kept += features.n_windows_kept
        self.findings += features.findings

    def table(self) -> FeatureTable:
        values: FloatArray = np.full(self.sums.shape, np.nan)
        np.divide(self.sums, self.counts, out=values, where=self.counts > 0)
        entries = self.roster.entries
        names = sorted({name for entry in entries for name in entry.attributes})
        return FeatureTable(
            patients=tuple(entry.patient for entry in entries),
            columns=self.columns,
            values=values,
            n_windows=self.windows,
            seconds=self.seconds,
            attributes={
                name: tuple(entry.attributes.get(name, "") for entry in entries) for name in names
            },
            metadata={"software": software_versions()},
        )
