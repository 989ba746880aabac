"""A rehearsal: everything that a release shows, on made-up rows, without spending."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.internal_files import write_text
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import named_reference, protect_settings
from neuroveil.pipeline.release import check_delta
from neuroveil.pipeline.reports import EVALUATION_SEED, measure_rows
from neuroveil.pipeline.settings import find_roster, study_columns
from neuroveil.privacy import rehearse
from neuroveil.privacy.central.dp_scaling import scaling_of_rows
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.report import rehearsal_report
from neuroveil.simulate import simulate_rows
from neuroveil.study import Study
from neuroveil.types.certificate import Certificate
from neuroveil.types.moment_utility import MomentUtility
from neuroveil.types.utility import UtilityResult


@dataclass(frozen=True)
class Rehearsal:
    """What a release would look like.

    Parameters
    ----------
    certificate : Certificate
        Without a guarantee, since nothing was released.
    utility : UtilityResult or MomentUtility
        Measured on made-up rows.
    choice : str
        What is released and what it should leave, in words.
    report : Path
        The page.
    """

    certificate: Certificate
    utility: UtilityResult | MomentUtility
    report: Path
    choice: str


def rehearse_release(
    study: Study, n_draws: int = 20, progress: Progress = no_progress
) -> Rehearsal:
    """Show what a release would promise and leave, with rows of people who do not exist.

    No signal is read and no budget is spent; the rows are drawn from the public reference.

    Parameters
    ----------
    study : Study
        Checked settings.
    n_draws : int
        Draws of noise, at least 20.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Rehearsal
        The page lies in the internal folder.

    Raises
    ------
    StudyError
        If the study scales with private statistics: there is nothing public to rehearse on.
    """
    if study.reference.scaling == "private_statistics":
        raise StudyError([StudyMistake(
            "reference.scaling", "'public_reference' for a rehearsal", "'private_statistics'",
            "A rehearsal must not look at the cohort; rehearse with the public reference.",
        )])  # fmt: skip
    n_patients = find_roster(study).n_patients
    settings = protect_settings(study, n_patients)
    check_delta(settings, n_patients)
    columns = study_columns(study)
    scaling = named_reference(study).scaling_for(columns)
    certificate = rehearse(scaling, settings, n_patients)
    rows = np.asarray(simulate_rows(n_patients, scaling, EVALUATION_SEED))
    if settings.scaling_budget is not None:  # constants of the made-up rows, drawn with a seed
        spec = settings.scaling_budget.spec(len(columns), n_patients)
        drawn = scaling_of_rows(rows, scaling, spec, SimulationRandomness(EVALUATION_SEED))
        rows = (rows * scaling.spread + scaling.centre - drawn.centre) / drawn.spread
        scaling = drawn
    utility = measure_rows(
        rows, scaling, settings, n_draws,
        lambda done, total: progress(done, total, "rehearsing"),
    )  # fmt: skip
    report = private_folder(study.path(study.output.internal)) / "rehearsal.html"
    write_text(report, rehearsal_report(certificate, columns, utility))
    return Rehearsal(certificate, utility, report, settings.choice)
