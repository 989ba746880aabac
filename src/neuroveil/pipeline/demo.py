"""The whole job on a made-up cohort: simulate, extract, release, verify, report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.release import release_study
from neuroveil.pipeline.reports import write_internal_report
from neuroveil.privacy.verify import verify
from neuroveil.simulate import CohortSpec, simulate_cohort
from neuroveil.study import load_study
from neuroveil.types.utility import UtilityResult

_STUDY = """\
# The study of the demonstration: made-up patients, real EDF+ files.
[input]
layout = "bids"
folder = "cohort"
population = "adults"

[privacy]
mechanism = "gaussian"
epsilon = {epsilon}
delta = 1e-5

[privacy.budget]
epsilon = {epsilon}
delta = 1e-5
"""


@dataclass(frozen=True)
class DemoResult:
    """Where everything is, and the three figures that a person would ask for.

    Parameters
    ----------
    verdict : str
        The guarantee in one sentence.
    report, internal_report, release : Path
        What to look at.
    utility : UtilityResult
        What is left of the data. Internal.
    epsilon_left : float
        What may still be spent on these patients.
    verified : bool
        Whether the certificate was re-derived and holds.
    seconds : float
        How long all of it took.
    """

    verdict: str
    report: Path
    internal_report: Path
    release: Path
    utility: UtilityResult
    epsilon_left: float
    verified: bool
    seconds: float


def run_demo(folder: Path, epsilon: float = 1.0, progress: Progress = no_progress) -> DemoResult:
    """Run the whole job on a made-up cohort of 24 patients in 2 hospitals.

    Parameters
    ----------
    folder : Path
        New folder for everything.
    epsilon : float
        Epsilon of the release and of the budget.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    DemoResult
        Paths and figures.

    Raises
    ------
    StudyError
        If the folder is in use.
    """
    start = time.monotonic()
    file, text = folder / "study.toml", _STUDY.format(epsilon=epsilon)
    other = file.exists() and file.read_text(encoding="utf-8", errors="replace") != text
    if (folder / "release").exists() or other:
        raise StudyError([StudyMistake(
            "demo folder", "a new folder", "one with a release or another study in it",
            "Name another folder, or remove this one: its budget is spent.",
        )])  # fmt: skip
    simulate_cohort(
        folder / "cohort",
        CohortSpec(),
        lambda done, total: progress(done, total, "simulating recordings"),
    )
    file.write_text(text, encoding="utf-8")
    study = load_study(folder)
    released = release_study(study, progress=progress)
    internal, utility = write_internal_report(study, released, 20, progress)
    assert isinstance(utility, UtilityResult)  # the demonstration releases rows
    return DemoResult(
        verdict=released.certificate.verdict,
        report=released.folder / "report.html",
        internal_report=internal,
        release=released.folder,
        utility=utility,
        epsilon_left=float(released.certificate.value("composition.remaining")["epsilon"]),
        verified=verify(released.folder).exit_code == 0,
        seconds=time.monotonic() - start,
    )  # fmt: skip
