"""Dry run of a study: what would be used and what is wrong, from headers alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from neuroveil.errors import NeuroveilError, RecordingError
from neuroveil.pipeline.budget import budget_standing
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import named_reference
from neuroveil.pipeline.release import preview_release
from neuroveil.pipeline.settings import find_roster, read_options, study_columns
from neuroveil.recordings import inspect_recording
from neuroveil.reference import population_caveats
from neuroveil.study import Study


@dataclass(frozen=True)
class Problem:
    """One kind of problem over all recordings.

    Parameters
    ----------
    what : str
        What was expected and found.
    remedy : str
        What to do.
    n_recordings : int
        How many recordings have it.
    blocking : bool
        True where such a recording cannot be used at all.
    """

    what: str
    remedy: str
    n_recordings: int
    blocking: bool


@dataclass(frozen=True)
class CheckReport:
    """What a study would do. Nothing was written, no signal was read.

    Parameters
    ----------
    n_patients, n_recordings, n_usable, n_patients_without_recording : int
        Counts from the roster and the headers.
    hours : float
        Recorded time of the usable recordings, in hours.
    formats, sampling_rates : dict
        Number of recordings by format, and by sampling rate in Hz.
    problems : tuple of Problem
        Most frequent first, blocking ones before others.
    warnings : tuple of str
        About the study as a whole.
    release : dict
        What a release would spend and what is left, or why it would be refused.
    """

    n_patients: int
    n_recordings: int
    n_usable: int
    n_patients_without_recording: int
    hours: float
    formats: dict[str, int]
    sampling_rates: dict[str, int]
    problems: tuple[Problem, ...]
    warnings: tuple[str, ...]
    release: dict[str, object]


def check_study(study: Study, progress: Progress = no_progress) -> CheckReport:
    """Look at every recording's header, and at the promise.

    Parameters
    ----------
    study : Study
        Checked settings.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    CheckReport
        For the person who prepares the study.

    Raises
    ------
    RecordingError
        If the roster itself cannot be used.
    """
    roster = find_roster(study)
    options = read_options(study)
    files = [recording.path for entry in roster.entries for recording in entry.recordings]
    refused: Counter[tuple[str, str]] = Counter()
    noticed: Counter[tuple[str, str]] = Counter()
    formats: Counter[str] = Counter()
    rates: Counter[str] = Counter()
    seconds = 0.0
    for number, path in enumerate(files, start=1):
        role = f"recording {number} of {len(files)}"
        try:
            summary = inspect_recording(path, replace(options, role=role))
        except RecordingError as error:
            refused[f"expected {error.expected}, found {error.found}", error.remedy] += 1
        else:
            formats[summary.file_format] += 1
            rates[f"{summary.sfreq:g}"] += 1
            seconds += summary.seconds
            noticed.update({(finding.message, "") for finding in summary.findings})
        progress(number, len(files), "checking recordings")
    noticed.update({(finding.message, "") for finding in roster.findings})
    problems = [Problem(*key, n, True) for key, n in refused.most_common()]
    problems += [Problem(*key, n, False) for key, n in noticed.most_common()]
    return CheckReport(
        n_patients=roster.n_patients,
        n_recordings=len(files),
        n_usable=len(files) - refused.total(),
        n_patients_without_recording=sum(not entry.recordings for entry in roster.entries),
        hours=seconds / 3600,
        formats=dict(formats),
        sampling_rates=dict(rates),
        problems=tuple(problems),
        warnings=tuple(_warnings(study)),
        release=_release_outlook(study),
    )


def _warnings(study: Study) -> list[str]:
    warnings = []
    if study.reference.scaling == "private_statistics":
        warnings.append(
            "Scaling with the cohort's own statistics: this study gives no end-to-end guarantee."
        )
    else:
        reference = named_reference(study)
        if study.input.population is None:
            warnings.append(
                "The study does not say who its patients are; set input.population, so that "
                "the fit of the public reference can be judged."
            )
        else:
            warnings += population_caveats(reference, study.input.population)
        outside = sum(reference.scaling_for(study_columns(study)).fallback)
        if outside:
            warnings.append(
                f"{outside} of {len(study_columns(study))} columns lie outside the public "
                "reference and are scaled with general constants."
            )
    if study.privacy.mechanism == "paper_laplace":
        warnings.append("paper_laplace reproduces a paper and can only be rehearsed.")
    return warnings


def _release_outlook(study: Study) -> dict[str, object]:
    """Say what a release would spend, or why it would be refused."""
    try:
        preview = preview_release(study)
        request = preview.request
        standing = budget_standing(study, request)
    except NeuroveilError as error:
        return {"refused": str(error)}
    spend: dict[str, object] = {"epsilon": float(request.epsilon), "delta": float(request.delta)}
    outlook: dict[str, object] = {
        "spends": spend,
        "columns": request.dimension,
        "mechanism": request.mechanism,
        "choice": preview.settings.choice,
    }
    if standing is not None:
        left = standing.left_before
        outlook["left"] = {"epsilon": float(left[0]), "delta": float(left[1])}
        if not standing.fits:
            outlook["refused"] = "The budget has no room for it."
    elif study.privacy.budget is None:
        outlook["refused"] = "No budget is set; see [privacy.budget] or `neuroveil ledger init`."
    return outlook
