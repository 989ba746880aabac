"""What a classifier can do with each way of sharing a study: units of work, kept and reused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuroveil.errors import MachineError, StudyError, StudyMistake
from neuroveil.evaluate.downstream.choice_of_ways import Promise, list_ways
from neuroveil.evaluate.downstream.comparison import compare, list_units
from neuroveil.evaluate.downstream.keywords import (
    PAPER_NEUTRAL_TERMS,
    PAPER_TERMS,
    KeywordRule,
)
from neuroveil.evaluate.downstream.labels import (
    PatientLabels,
    labels_by_keyword,
    labels_by_value,
)
from neuroveil.evaluate.downstream.scores import check_labels, majority
from neuroveil.evaluate.downstream.units import Cohort, Done, Unit, do_unit
from neuroveil.evaluate.downstream.ways import Way
from neuroveil.pipeline.cache import cache_key, private_folder
from neuroveil.pipeline.evaluation_wishes import EvaluationWishes
from neuroveil.pipeline.finished_units import read_done, write_done
from neuroveil.pipeline.pool import Progress, no_progress, run_tasks
from neuroveil.pipeline.promise import protect_settings, study_scaling
from neuroveil.pipeline.revision import source_revision
from neuroveil.pipeline.settings import require_epsilon, software_versions
from neuroveil.privacy import ProtectSettings, scale_rows
from neuroveil.study import Study
from neuroveil.types.scaling import Scaling
from neuroveil.types.sharing import LabelCounts, SharingTable
from neuroveil.types.table import FeatureTable


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """A comparison that is ready to be made. Private.

    Parameters
    ----------
    cohort : Cohort
        Patients with a label.
    counts : LabelCounts
        The classes.
    promise : Promise
        The guarantee.
    ways : tuple of Way
        Ways of sharing.
    units : tuple of Unit
        Everything that is to be done.
    """

    cohort: Cohort
    counts: LabelCounts
    promise: Promise
    ways: tuple[Way, ...]
    units: tuple[Unit, ...]


@dataclass(frozen=True)
class _Job:
    """A unit with its number, its cohort and where its result goes."""

    number: int
    unit: Unit
    cohort: Cohort
    file: Path


def patient_labels(study: Study, attributes: Mapping[str, tuple[str, ...]]) -> PatientLabels:
    """Put the patients of a study into classes.

    Parameters
    ----------
    study : Study
        Checked settings, with a label under ``[evaluation]``.
    attributes : mapping of str to tuple of str
        Roster columns as they stand there, one value a patient. Private.

    Returns
    -------
    PatientLabels
        Private.

    Raises
    ------
    StudyError
        If the study names no label, or the roster has no such column.
    """
    settings = study.evaluation
    if settings.label is None:
        raise StudyError([StudyMistake(
            "evaluation.label", "a column of the roster", "nothing",
            "Set it under [evaluation], with `positive`, or give --label and --positive.",
        )])  # fmt: skip
    if settings.label not in attributes:
        raise StudyError([StudyMistake(
            "evaluation.label", "a column of the roster", "none of that name",
            "Correct the name, or add the column to the roster.",
        )])  # fmt: skip
    values = attributes[settings.label]
    if settings.rule == "values":
        return labels_by_value(values, settings.positive or (), settings.label)
    rule = KeywordRule(
        settings.terms or PAPER_TERMS,
        PAPER_NEUTRAL_TERMS if settings.neutral_terms is None else settings.neutral_terms,
    )
    return labels_by_keyword(values, rule, settings.label)


def prepare(
    study: Study, table: FeatureTable, labels: PatientLabels, wishes: EvaluationWishes
) -> Prepared:
    """Put together what is to be compared, and refuse what cannot be.

    Parameters
    ----------
    study : Study
        Checked settings.
    table : FeatureTable
        The private table.
    labels : PatientLabels
        From :func:`patient_labels`.
    wishes : EvaluationWishes
        Ways, classifiers and rounds.

    Returns
    -------
    Prepared
        Private.

    Raises
    ------
    RecordingError
        If a class has fewer than two patients.
    StudyError
        If epsilon is missing.
    """
    known = np.array([value is not None for value in labels.values], dtype=bool)
    scaling = study_scaling(study, table)
    rows = scale_rows(table, scaling)[known]
    classes = np.array([value is True for value in labels.values], dtype=bool)[known]
    check_labels(rows, classes)
    promise, ways, units = plan_evaluation(study, int(known.sum()), scaling, wishes)
    return Prepared(Cohort(rows, classes, scaling), labels.counts, promise, ways, units)


def plan_evaluation(
    study: Study, n_patients: int, scaling: Scaling, wishes: EvaluationWishes
) -> tuple[Promise, tuple[Way, ...], tuple[Unit, ...]]:
    """List what is to be compared, from public settings and the number of labelled patients.

    Parameters
    ----------
    study : Study
        Checked settings.
    n_patients : int
        Patients with a label.
    scaling : Scaling
        Constants of the columns.
    wishes : EvaluationWishes
        Ways, classifiers and rounds.

    Returns
    -------
    Promise
        The guarantee that all protected ways are held to.
    tuple of Way
        Ways of sharing.
    tuple of Unit
        Units of work.

    Raises
    ------
    StudyError
        If epsilon is missing.
    """
    delta = study.privacy.delta or min(1.0 / max(n_patients, 1) ** 2, 1e-5)
    promise = Promise(require_epsilon(study), delta, study.privacy.clip_norm, n_patients)
    ways = list_ways(promise, scaling, wishes.ways, _own_rows(study, n_patients))
    units = list_units(ways, wishes.models, wishes.rounds_for(n_patients), wishes.seed)
    return promise, ways, tuple(units)


def _own_rows(study: Study, n_patients: int) -> ProtectSettings | None:
    """What the study itself promises, where it releases rows that labels can stand beside."""
    if study.privacy.trust_model != "local":
        return None
    return protect_settings(study, n_patients)


def run_evaluation(
    study: Study,
    prepared: Prepared,
    n_workers: int = 1,
    progress: Progress = no_progress,
) -> SharingTable:
    """Do what is not done yet, and sum everything up.

    Every finished unit is kept in the internal folder, under a keyed digest of everything that
    it depends on, so that an interrupted run goes on where it stopped.

    Parameters
    ----------
    study : Study
        Checked settings.
    prepared : Prepared
        From :func:`prepare`.
    n_workers : int
        Processes.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    SharingTable
        Internal.

    Raises
    ------
    MachineError
        If a unit brought its process down.
    """
    jobs = _jobs(study, prepared)
    todo = [job for job in jobs if read_done(job.file) is None]
    finished = len(jobs) - len(todo)
    progress(finished, len(jobs), "judging classifiers")
    failed = 0
    for succeeded in run_tasks(iter(todo), n_workers, _work, _crashed):
        finished, failed = finished + 1, failed + (not succeeded)
        progress(finished, len(jobs), "judging classifiers")
    outcomes: dict[tuple[str, str], list[Done]] = {}
    for job in jobs:
        done = read_done(job.file)
        if done is None:
            raise MachineError(
                "evaluation", f"{len(jobs)} finished units of work", f"{failed or 1} unfinished",
                "Run the same command again: what is finished is kept.",
            )  # fmt: skip
        outcomes.setdefault((job.unit.way.facts.key, job.unit.model), []).append(done)
    cohort = prepared.cohort
    return SharingTable(
        labels=prepared.counts,
        n_patients=cohort.labels.size,
        n_features=cohort.rows.shape[1],
        epsilon=prepared.promise.epsilon,
        delta=prepared.promise.delta,
        n_rounds=len(next(iter(outcomes.values()))),
        seed=prepared.units[0].seed,
        majority=majority(cohort.labels),
        results=compare(prepared.ways, outcomes, cohort.labels),
        has_public_scaling=cohort.scaling.fitted_on == "public",
        draws_scaling=study.reference.scaling == "dp_quantiles",
    )


def _jobs(study: Study, prepared: Prepared) -> list[_Job]:
    folder = private_folder(study.path(study.output.internal)) / "evaluation"
    key = cache_key(private_folder(folder))
    return [
        _Job(number, unit, prepared.cohort, folder / f"{name}.npz")
        for number, (unit, name) in enumerate(
            zip(prepared.units, _names(key, prepared), strict=True), start=1
        )
    ]


def _names(key: bytes, prepared: Prepared) -> Iterator[str]:
    """Keyed digest of everything that the result of a unit depends on."""
    cohort, versions = prepared.cohort, software_versions()
    covariance = cohort.scaling.covariance
    common = hashlib.blake2b(key=key, digest_size=32)
    for part in (
        cohort.rows.tobytes(), cohort.labels.tobytes(), cohort.scaling.digest.encode(),
        b"" if covariance is None else covariance.tobytes(),
        repr(sorted(versions.items())).encode(),
        repr(source_revision()).encode(),
    ):  # fmt: skip
        common.update(hashlib.blake2b(part, key=key).digest())
    for unit in prepared.units:
        state = common.copy()
        state.update(repr(unit).encode())
        yield state.hexdigest()


def _work(job: _Job) -> bool:
    """Do one unit and keep its result; runs in a process of its own."""
    write_done(job.file, do_unit(job.unit, job.cohort))
    return True


def _crashed(job: _Job) -> bool:
    return False
