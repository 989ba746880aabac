"""Dry run of a study: what would be used, what is wrong, and what could be set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from neuroveil.errors import NeuroveilError, RecordingError
from neuroveil.pipeline.budget import budget_standing
from neuroveil.pipeline.inspection import Look, Seen, look_into_all
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import named_reference
from neuroveil.pipeline.release import preview_release
from neuroveil.pipeline.settings import find_roster, read_options, study_columns
from neuroveil.pipeline.suggestions import Suggestion, suggest_settings
from neuroveil.recordings import RecordingSummary
from neuroveil.reference import population_caveats
from neuroveil.study import Study
from neuroveil.types.recording import Roster


@dataclass(frozen=True)
class Problem:
    """One kind of problem over all recordings.

    Parameters
    ----------
    code : str
        Short stable name of the kind.
    what : str
        What was expected and found, in the words of the most frequent case.
    remedy : str
        What to do.
    n_recordings : int
        How many recordings have it.
    blocking : bool
        True where such a recording cannot be used at all.
    """

    code: str
    what: str
    remedy: str
    n_recordings: int
    blocking: bool


@dataclass(frozen=True)
class CheckReport:
    """What a study would do. Nothing was written; of each signal a few seconds were read.

    Parameters
    ----------
    n_patients, n_recordings, n_usable, n_patients_without_recording : int
        Counts from the roster and the headers.
    hours : float
        Recorded time of the usable recordings, in hours.
    formats, sampling_rates : dict
        Number of recordings by format, and by sampling rate in Hz.
    problems : tuple of Problem
        Blocking ones before others, most frequent first.
    suggestions : tuple of Suggestion
        Settings to consider.
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
    suggestions: tuple[Suggestion, ...]
    warnings: tuple[str, ...]
    release: dict[str, object]


def check_study(study: Study, progress: Progress = no_progress) -> CheckReport:
    """Look into every recording, and at the promise.

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
    total = len(files)
    looks = (
        Look(number, path, replace(options, role=f"recording {number} of {total}"))
        for number, path in enumerate(files, start=1)
    )
    seen: list[Seen] = []
    for done, one in enumerate(look_into_all(looks, total), start=1):
        seen.append(one)
        progress(done, total, "checking recordings")
    seen.sort(key=lambda one: one.number)
    fine = [(files[one.number - 1], one.summary) for one in seen if one.summary is not None]
    usable = [summary for _, summary in fine]
    refused: dict[str, list[Path]] = {}
    for one in seen:
        if one.error is not None:
            refused.setdefault(_code(one.error), []).append(files[one.number - 1])
    return CheckReport(
        n_patients=roster.n_patients,
        n_recordings=total,
        n_usable=len(usable),
        n_patients_without_recording=sum(not entry.recordings for entry in roster.entries),
        hours=sum(summary.seconds for summary in usable) / 3600,
        formats=dict(Counter(summary.file_format for summary in usable)),
        sampling_rates=dict(Counter(f"{summary.sfreq:g}" for summary in usable)),
        problems=(*_refusals(seen), *_notes(usable, roster)),
        suggestions=suggest_settings(refused, fine, options),
        warnings=tuple(_warnings(study)),
        release=_release_outlook(study),
    )


def _code(error: NeuroveilError) -> str:
    """Name the kind of an error."""
    return (error.code if isinstance(error, RecordingError) else "") or type(error).__name__


def _refusals(seen: list[Seen]) -> list[Problem]:
    """Group the recordings that cannot be used by kind."""
    texts: dict[str, Counter[tuple[str, str]]] = {}
    for one in seen:
        if (error := one.error) is not None:
            text = (f"expected {error.expected}, found {error.found}.", error.remedy)
            texts.setdefault(_code(error), Counter())[text] += 1
    return _grouped(texts, blocking=True)


def _notes(usable: list[RecordingSummary], roster: Roster) -> list[Problem]:
    """Group what was noticed about the others and the roster, by kind and channel."""
    texts: dict[str, Counter[tuple[str, str]]] = {}
    for findings in (*(summary.findings for summary in usable), roster.findings):
        first: dict[str, str] = {}
        for finding in findings:
            first.setdefault(" ".join(filter(None, (finding.code, finding.channel))),
                             finding.message)  # fmt: skip
        for code, message in first.items():
            texts.setdefault(code, Counter())[message, ""] += 1
    return _grouped(texts, blocking=False)


def _grouped(texts: dict[str, Counter[tuple[str, str]]], *, blocking: bool) -> list[Problem]:
    """Make one problem a kind, in the words of its most frequent case."""
    problems = [
        Problem(code.partition(" ")[0], *cases.most_common(1)[0][0], cases.total(), blocking)
        for code, cases in texts.items()
    ]
    return sorted(problems, key=lambda problem: -problem.n_recordings)


_NO_COMPONENTS = (
    " Rows are therefore not described by public components, which often leave more: release "
    "only columns that the reference covers, or build one that covers all."
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
                + (_NO_COMPONENTS if study.privacy.projection == "auto" else "")
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
