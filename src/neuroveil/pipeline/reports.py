"""Pages about a release: the public one from its certificate, the internal one measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.errors import CertificateError, StudyError, StudyMistake
from neuroveil.evaluate import intrinsic_utility
from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.extract import Extraction, extract_study
from neuroveil.pipeline.internal_files import write_json, write_text
from neuroveil.pipeline.moment_utility import measure_moments
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import protect_settings, study_scaling
from neuroveil.pipeline.release import Released
from neuroveil.pipeline.settings import study_columns
from neuroveil.privacy import ProtectSettings, scale_rows
from neuroveil.privacy.central.dp_scaling import planned_scaling
from neuroveil.privacy.central.plan import plan_moments
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.settings import MEAN_COVARIANCE
from neuroveil.report import internal_report, public_report
from neuroveil.study import Study
from neuroveil.types.catalogue import Column, column_from_name
from neuroveil.types.certificate import Certificate, certificate_from_json
from neuroveil.types.moment_utility import MomentUtility
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable
from neuroveil.types.utility import ExtractionSummary, UtilityResult, count_findings

EVALUATION_SEED = 20260910
_LARGEST_JSON_BYTES = 10 << 20


def measure_utility(
    table: FeatureTable,
    scaling: Scaling,
    settings: ProtectSettings,
    n_draws: int,
    progress: Progress = no_progress,
) -> UtilityResult | MomentUtility:
    """Measure what noise leaves of a table, over simulated draws. Internal.

    Parameters
    ----------
    table : FeatureTable
        The private table.
    scaling : Scaling
        Its constants: those that were drawn, where the release draws its own.
    settings : ProtectSettings
        The promise.
    n_draws : int
        Draws of noise, at least 20; none of them is the released one.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    UtilityResult or MomentUtility
        Means with 95 % intervals, for rows or for mean and covariance.
    """
    return measure_rows(
        scale_rows(table, scaling), scaling, settings, n_draws,
        _named(progress, "measuring what is left"),
    )  # fmt: skip


def measure_rows(
    rows: FloatArray,
    scaling: Scaling,
    settings: ProtectSettings,
    n_draws: int,
    progress: Callable[[int, int], None],
) -> UtilityResult | MomentUtility:
    """Measure what noise leaves of scaled rows, over simulated draws.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, n_features)
        Scaled rows (no unit).
    scaling : Scaling
        The constants that they were scaled with.
    settings : ProtectSettings
        The promise.
    n_draws : int
        Draws of noise, at least 20.
    progress : callable
        Called with (done, total).

    Returns
    -------
    UtilityResult or MomentUtility
        Means with 95 % intervals, for rows or for mean and covariance.
    """
    n_patients, n_columns = rows.shape
    if settings.is_central:
        moments = plan_moments(settings, n_columns, n_patients)
        return measure_moments(rows, moments, n_draws, EVALUATION_SEED, progress)
    return intrinsic_utility(
        rows, plan_rows(settings, scaling, n_patients), scaling,
        n_draws=n_draws, seed=EVALUATION_SEED, progress=progress,
    )  # fmt: skip


def write_internal_report(
    study: Study, released: Released, n_draws: int, progress: Progress = no_progress
) -> tuple[Path, UtilityResult | MomentUtility]:
    """Write the internal page and its figures beside the private table.

    Parameters
    ----------
    study : Study
        Checked settings.
    released : Released
        The release that was just made.
    n_draws : int
        Draws of noise, at least 20.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Path
        The page.
    UtilityResult or MomentUtility
        The figures in it. Internal.
    """
    extraction = released.extraction
    utility = measure_utility(
        extraction.table, released.scaling, released.settings, n_draws, progress
    )
    page = internal_report(
        released.certificate, extraction.table.columns, utility, summarise(extraction)
    )
    folder = private_folder(study.path(study.output.internal))
    write_text(folder / "report.html", page)
    write_json(folder / "utility.json", utility.to_json())
    return folder / "report.html", utility


def render_public_report(release: Path) -> str:
    """Draw the public page from a certificate alone.

    Parameters
    ----------
    release : Path
        Release folder, or its ``certificate.json``.

    Returns
    -------
    str
        HTML; the same bytes that the release folder holds.

    Raises
    ------
    CertificateError
        If there is no readable certificate and dictionary.
    """
    return public_report(*read_release(release))


def render_internal_report(
    study: Study,
    release: Path,
    n_draws: int,
    n_workers: int | None = None,
    progress: Progress = no_progress,
) -> str:
    """Measure utility again and draw the internal page of an earlier release.

    Parameters
    ----------
    study : Study
        The study that the release was made from.
    release : Path
        Release folder, or its ``certificate.json``.
    n_draws : int
        Draws of noise, at least 20.
    n_workers : int, optional
        Processes for extraction.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    str
        HTML, marked internal.

    Raises
    ------
    CertificateError
        If the release was made from another study.
    """
    certificate, columns = read_release(release)
    if columns != study_columns(study):
        raise CertificateError(
            "study", "the study that the release was made from", "one with other columns",
            "Name the study file of this release.",
        )  # fmt: skip
    extraction = extract_study(study, n_workers, progress)
    settings = protect_settings(_with_promise_of(certificate, study), extraction.table.n_patients)
    scaling = _scaling_of(release, certificate, study_scaling(study, extraction.table))
    utility = measure_utility(extraction.table, scaling, settings, n_draws, progress)
    return internal_report(certificate, columns, utility, summarise(extraction))


def check_place(target: Path, *, internal: bool) -> None:
    """Refuse to put an internal page where it would travel with a release.

    Parameters
    ----------
    target : Path
        Where the page would go.
    internal : bool
        Whether the page rests on patient rows.

    Raises
    ------
    StudyError
        If a release lies in that folder or in one above it.
    """
    folders = [target.resolve().parent, *target.resolve().parent.parents]
    if internal and any((folder / "certificate.json").exists() for folder in folders):
        raise StudyError([StudyMistake(
            "--out", "a place outside every release folder", "one inside a release",
            "Keep internal pages apart from what is shared.",
        )])  # fmt: skip


def read_release(release: Path) -> tuple[Certificate, tuple[Column, ...]]:
    """Read certificate and feature columns of a release folder.

    Parameters
    ----------
    release : Path
        Release folder, or its ``certificate.json``.

    Returns
    -------
    Certificate
        Not judged; see ``neuroveil verify``.
    tuple of Column
        The feature columns, in order.

    Raises
    ------
    CertificateError
        If either cannot be read.
    """
    folder = release if release.is_dir() else release.parent
    file = folder / "certificate.json" if release.is_dir() else release
    certificate = certificate_from_json(read_json(file, "certificate"))
    dictionaries = [
        folder / name for name in ("table_estimated.json", "synthetic.json", "table.json")
    ]
    described = next((file for file in dictionaries if file.exists()), dictionaries[-1])
    dictionary = read_json(described, "data dictionary")
    names = dictionary.get("Columns") if isinstance(dictionary, dict) else None
    columns = [column_from_name(name) for name in names or ()]
    return certificate, tuple(column for column in columns if column is not None)


def summarise(extraction: Extraction) -> ExtractionSummary:
    """Count what an extraction rests on, for the internal page.

    Parameters
    ----------
    extraction : Extraction
        From :func:`neuroveil.pipeline.extract.extract_study`.

    Returns
    -------
    ExtractionSummary
        Internal.
    """
    table = extraction.table
    return ExtractionSummary(
        n_patients=table.n_patients,
        n_recordings=extraction.n_recordings,
        n_fallback_rows=extraction.n_patients_without_data,
        n_windows=extraction.n_windows,
        n_windows_kept=extraction.n_windows_kept,
        n_cells=table.n_patients * table.n_features,
        n_missing_cells=extraction.n_missing_cells,
        seconds=float(table.seconds.sum()),
        findings=count_findings(extraction.findings),
    )


def _with_promise_of(certificate: Certificate, study: Study) -> Study:
    """Measure what was released, also where --epsilon overrode the study."""
    projection = certificate.value("preprocessing.projection")
    promise = {
        "projection": "none" if projection is None else "public_pca",
        "components": None if projection is None else projection["params"]["components"],
        "trust_model": certificate.value("model.trust"),
        "epsilon": certificate.value("guarantee.epsilon_rows"),
        "delta": certificate.chain["guarantee"]
        .get("delta_rows", certificate.chain["guarantee"]["delta"])
        .value,
        "mechanism": certificate.value("mechanism.name"),
        "clip_norm": certificate.value("bound.clip_norm"),
        "norm": certificate.value("bound.norm"),
    }
    step = certificate.value("preprocessing.scaling")
    scaling = {"scaling": _SCALINGS[step["fitted_on"]], "epsilon": None, "delta": None}
    if step["fitted_on"] == "dp":
        scaling |= {"epsilon": step["epsilon"], "delta": step["delta"]}
    return study.model_copy(update={
        "privacy": study.privacy.model_copy(update=promise),
        "reference": study.reference.model_copy(update=scaling),
    })  # fmt: skip


_SCALINGS = {"public": "public_reference", "private": "private_statistics", "dp": "dp_quantiles"}


def _scaling_of(release: Path, certificate: Certificate, scaling: Scaling) -> Scaling:
    """Give the constants that a release drew, from its dictionary; others as they are."""
    if certificate.value("preprocessing.scaling")["fitted_on"] != "dp":
        return scaling
    folder = release if release.is_dir() else release.parent
    central = certificate.value("mechanism.name") == MEAN_COVARIANCE
    name = "synthetic.json" if central else "table.json"
    try:
        columns = read_json(folder / name, "data dictionary")["Columns"]
        centre, spread = (
            np.array([float(columns[column.name][key]) for column in scaling.columns])
            for key in ("Centre", "Spread")
        )
    except (KeyError, TypeError, ValueError):
        raise CertificateError(
            "data dictionary", "the drawn constants of every column", "others",
            "Name a folder that `neuroveil release` wrote.",
        ) from None  # fmt: skip
    return replace(planned_scaling(scaling), centre=centre, spread=spread)


def _named(progress: Progress, what: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(done, total, what)


def read_json(file: Path, role: str, largest: int = _LARGEST_JSON_BYTES) -> Any:
    """Read a document of a release folder.

    Parameters
    ----------
    file : Path
        JSON file.
    role : str
        What an error calls it.
    largest : int
        Largest size that is read, in bytes.

    Returns
    -------
    JSON value
        Its content.

    Raises
    ------
    CertificateError
        If it cannot be read.
    """
    try:
        if file.stat().st_size > largest:
            raise ValueError
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise CertificateError(
            role, "a readable JSON file in the release folder", "none",
            "Name a folder that `neuroveil release` wrote.",
        ) from None  # fmt: skip
