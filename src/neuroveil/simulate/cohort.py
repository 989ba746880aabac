"""Make a whole cohort on disk, all or nothing, and resume where a run broke off."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.simulate.bids import (
    DESCRIPTION_FILE,
    SPEC_DIGEST_KEY,
    recording_path,
    write_data_set_files,
    write_session,
)
from neuroveil.simulate.people import plan_cohort, stream
from neuroveil.simulate.signals import render_session
from neuroveil.simulate.spec import CohortSpec
from neuroveil.simulate.truth import CohortTruth

Progress = Callable[[int, int], None]
"""Called with the number of recordings that are done and the number of all."""


def simulate_cohort(
    out_dir: Path | str, spec: CohortSpec | None = None, progress: Progress | None = None
) -> CohortTruth:
    """Write a cohort of made-up patients as real EDF+ files in a BIDS layout.

    The files are written next to ``out_dir`` and moved there when all are done, so a cohort
    that is there is whole. A run that was interrupted goes on where it stopped. Where the
    same cohort is already there, nothing is written.

    Parameters
    ----------
    out_dir : path
        Folder of the data set; must not exist, be empty, or hold this very cohort.
    spec : CohortSpec, optional
        Size and make-up; the default cohort if left out.
    progress : callable, optional
        Called as ``progress(n_done, n_recordings)`` after each recording.

    Returns
    -------
    CohortTruth
        What was planted. It is not written to disk.

    Raises
    ------
    StudyError
        If ``out_dir`` holds anything other than this cohort.
    """
    spec = CohortSpec() if spec is None else spec
    target = Path(out_dir).absolute()
    truth = plan_cohort(spec)
    if _is_this_cohort(target, spec, truth):
        return truth
    # The specification's digest in the name keeps two different unfinished cohorts apart.
    unfinished = target.with_name(f".{target.name}.unfinished-{spec.digest[7:19]}")
    unfinished.mkdir(parents=True, exist_ok=True)
    _write_recordings(unfinished, spec, truth, progress)
    write_data_set_files(unfinished, spec, truth)
    if target.exists():
        target.rmdir()
    unfinished.replace(target)
    return truth


def _write_recordings(
    root: Path, spec: CohortSpec, truth: CohortTruth, progress: Progress | None
) -> None:
    for index, session in enumerate(truth.sessions):
        if not recording_path(root, session).exists():
            number, day = divmod(index, spec.n_sessions)
            rng = stream(spec, number, 3, day)
            write_session(root, session, render_session(rng, truth.patients[number], session))
        if progress is not None:
            progress(index + 1, len(truth.sessions))


def _is_this_cohort(target: Path, spec: CohortSpec, truth: CohortTruth) -> bool:
    """Whether the cohort is there already; refuses a folder that holds anything else."""
    if not target.exists():
        return False
    if target.is_dir() and not any(target.iterdir()):
        return False
    if _digest_in(target) != spec.digest:
        raise _occupied("something else", "Choose another folder, or empty this one yourself.")
    missing = sum(not recording_path(target, session).exists() for session in truth.sessions)
    if missing:
        raise _occupied(
            f"this cohort with {missing} of {len(truth.sessions)} recordings missing",
            "Remove the folder and simulate again.",
        )
    return True


def _digest_in(target: Path) -> str | None:
    try:
        description = json.loads((target / DESCRIPTION_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    value = description.get(SPEC_DIGEST_KEY) if isinstance(description, dict) else None
    return value if isinstance(value, str) else None


def _occupied(found: str, remedy: str) -> StudyError:
    return StudyError(
        [
            StudyMistake(
                "simulate output folder", "a new or empty folder, or this cohort", found, remedy
            )
        ]
    )
