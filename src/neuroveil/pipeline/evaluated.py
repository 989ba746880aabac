"""Evaluate a study from its recordings, and write what is found beside the private table."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.evaluate.downstream.labels import PatientLabels
from neuroveil.evaluate.downstream.scores import check_classes
from neuroveil.evaluate.signal_view import view_signal
from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.evaluation import (
    patient_labels,
    plan_evaluation,
    prepare,
    run_evaluation,
)
from neuroveil.pipeline.evaluation_wishes import EvaluationWishes
from neuroveil.pipeline.extract import Extraction, extract_study
from neuroveil.pipeline.internal_files import write_atomically, write_json, write_text
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import (
    named_reference,
    planning_scaling,
    protect_settings,
    study_scaling,
)
from neuroveil.pipeline.settings import find_roster, study_columns
from neuroveil.privacy import scale_rows
from neuroveil.privacy.plan import plan_rows
from neuroveil.report.downstream import evaluation_report
from neuroveil.study import Study
from neuroveil.types.recording import Roster
from neuroveil.types.scaling import Scaling
from neuroveil.types.sharing import SharingTable
from neuroveil.types.signal_view import SignalView


@dataclass(frozen=True)
class Evaluated:
    """What an evaluation found and wrote. Internal.

    Parameters
    ----------
    table : SharingTable
        Ways of sharing, side by side.
    view : SignalView or None
        What the study's own release does to features; none for releases without rows.
    written : dict of str to str
        Files by role, relative to the study's folder.
    """

    table: SharingTable
    view: SignalView | None
    written: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Give everything as plain data, marked internal.

        Returns
        -------
        dict
            Keys ``internal``, ``sharing``, ``signal`` and ``written``.
        """
        return {
            "internal": True,
            "sharing": self.table.to_json(),
            "signal": None if self.view is None else self.view.to_json(),
            "written": self.written,
        }


def evaluate_study(
    study: Study,
    wishes: EvaluationWishes,
    n_workers: int | None = None,
    progress: Progress = no_progress,
) -> Evaluated:
    """Measure what each way of sharing leaves for a classifier, and write it down.

    Parameters
    ----------
    study : Study
        Checked settings, with a label under ``[evaluation]``.
    wishes : EvaluationWishes
        Ways, classifiers and rounds.
    n_workers : int, optional
        Processes; default: all cores.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Evaluated
        Internal.

    Raises
    ------
    NeuroveilError
        If recordings, labels or settings cannot be used.
    """
    _roster_labels(study)  # a label that cannot be used is told before any signal is read
    extraction = extract_study(study, n_workers, progress)
    extraction.require_settled()
    labels = patient_labels(study, extraction.table.attributes)
    prepared = prepare(study, extraction.table, labels, wishes)
    table = run_evaluation(study, prepared, n_workers or os.cpu_count() or 1, progress)
    view = _view(study, extraction, wishes.seed, progress)
    return Evaluated(table, view, _write(study, extraction, labels, table, view))


def preview_evaluation(study: Study, wishes: EvaluationWishes) -> dict[str, Any]:
    """Say what an evaluation would do, from study and roster alone; reads no signal.

    Parameters
    ----------
    study : Study
        Checked settings, with a label under ``[evaluation]``.
    wishes : EvaluationWishes
        Ways, classifiers and rounds.

    Returns
    -------
    dict
        Counts of labels and units of work, and the ways. Internal.

    Raises
    ------
    NeuroveilError
        If roster, labels or settings cannot be used, or a class has fewer than two patients.
    """
    counts = _roster_labels(study).counts
    n_patients = counts.n_positive + counts.n_negative
    promise, ways, units = plan_evaluation(study, n_patients, _known_scaling(study), wishes)
    return {
        "internal": True,
        "positive": counts.n_positive,
        "negative": counts.n_negative,
        "left_out": counts.n_left_out,
        "review": dict(counts.review),
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "ways": [way.facts.key for way in ways],
        "units_of_work": len(units),
        "draws_scaling": study.reference.scaling == "dp_quantiles",
    }


def _roster_labels(study: Study) -> PatientLabels:
    """Labels as the roster has them; refused where a class has too few patients."""
    labels = patient_labels(study, _attributes(find_roster(study)))
    check_classes(labels.counts.n_positive, labels.counts.n_negative)
    return labels


def _known_scaling(study: Study) -> Scaling:
    """The constants that an evaluation will use, as far as they are known without the table."""
    if study.reference.scaling == "dp_quantiles":
        return named_reference(study).scaling_for(study_columns(study))
    return planning_scaling(study)


def _attributes(roster: Roster) -> dict[str, tuple[str, ...]]:
    names = {name for entry in roster.entries for name in entry.attributes}
    return {
        name: tuple(entry.attributes.get(name, "") for entry in roster.entries) for name in names
    }


def _view(study: Study, extraction: Extraction, seed: int, progress: Progress) -> SignalView | None:
    """Look at the signal as the study itself would release it, where it releases rows."""
    table = extraction.table
    settings = protect_settings(study, table.n_patients)
    if settings.is_central:
        return None
    scaling = study_scaling(study, table)
    plan = plan_rows(settings, scaling, table.n_patients)
    return view_signal(
        scale_rows(table, scaling), plan, scaling, seed=seed,
        progress=lambda done, total: progress(done, total, "looking at the signal"),
    )  # fmt: skip


def _write(
    study: Study,
    extraction: Extraction,
    labels: PatientLabels,
    table: SharingTable,
    view: SignalView | None,
) -> dict[str, str]:
    folder = private_folder(study.path(study.output.internal))
    figures = {
        "internal": True,
        "sharing": table.to_json(),
        "signal": None if view is None else view.to_json(),
    }
    write_json(folder / "evaluation.json", figures)
    write_text(folder / "evaluation.html", evaluation_report(table, view))
    written = {"report": "evaluation.html", "figures": "evaluation.json"}
    review = folder / "label_review.csv"
    if any(labels.reasons):
        write_atomically(review, _review_writer(extraction.table.patients, labels))
        written["review"] = review.name
    else:
        review.unlink(missing_ok=True)
    return {role: f"{study.output.internal}/{name}" for role, name in written.items()}


def _review_writer(patients: tuple[str, ...], labels: PatientLabels) -> Callable[[Path], None]:
    """List whose reports a person should read: keys and reasons, no text."""

    def write(file: Path) -> None:
        with file.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(["patient", "reason"])
            for patient, reason in zip(patients, labels.reasons, strict=True):
                if reason is not None:
                    writer.writerow([patient, reason])

    return write
