"""Release a study: fix n, extract, check everything, spend, protect, write."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from neuroveil.errors import MachineError, RecordingError, StudyError, StudyMistake
from neuroveil.pipeline.budget import open_ledger, require_room, reserve
from neuroveil.pipeline.claim import check_apart, claimed, uninterrupted
from neuroveil.pipeline.extract import Extraction, extract_study
from neuroveil.pipeline.internal_files import write_extraction
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import (
    protect_settings,
    require_other_people,
    study_scaling,
    with_public_categories,
)
from neuroveil.pipeline.release_folder import check_writing, write_release
from neuroveil.pipeline.settings import find_roster, read_options, signal_settings, study_columns
from neuroveil.pipeline.signing import signing_key
from neuroveil.privacy import (
    ProtectSettings,
    charge_request,
    check_any,
    rehearse,
    release_any,
)
from neuroveil.study import Study
from neuroveil.study.promise import largest_delta
from neuroveil.types.certificate import Certificate
from neuroveil.types.charge import Charge, ChargeRequest
from neuroveil.types.recording import Roster
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable


@dataclass(frozen=True)
class Preview:
    """What a release would spend and promise. Computed without any signal.

    Parameters
    ----------
    request : ChargeRequest
        What would be charged.
    settings : ProtectSettings
        The promise.
    n_patients : int
        Roster size.
    """

    request: ChargeRequest
    settings: ProtectSettings
    n_patients: int

    @property
    def n_cells(self) -> int:
        """Cells of the released table."""
        return self.n_patients * self.request.dimension


@dataclass(frozen=True, eq=False)
class Released:
    """A finished release.

    Parameters
    ----------
    folder : Path
        The release folder.
    certificate : Certificate
        As written.
    extraction : Extraction
        Internal: what the rows rest on.
    scaling : Scaling
        The constants that were used.
    settings : ProtectSettings
        The promise.
    """

    folder: Path
    certificate: Certificate
    extraction: Extraction
    scaling: Scaling
    settings: ProtectSettings


def preview_release(study: Study) -> Preview:
    """Work out what a release would spend, from the study and the roster alone.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    Preview
        Nothing was read from a signal, and nothing was spent.

    Raises
    ------
    StudyError
        If epsilon is missing, or delta is too large for this roster.
    ChainError
        If the promise could not be kept by the mechanism.
    """
    roster = find_roster(study)
    n_patients = roster.n_patients
    # Channels and signal settings that cannot be are refused here too.
    _ = read_options(study), signal_settings(study)
    check_label_columns(study, roster)
    settings = protect_settings(study, n_patients)
    check_delta(settings, n_patients)
    request = charge_request(settings, study_columns(study), n_patients)
    return Preview(request, settings, n_patients)


def check_label_columns(study: Study, roster: Roster) -> None:
    """Refuse labels that the roster does not have.

    Parameters
    ----------
    study : Study
        Checked settings.
    roster : Roster
        The study's patients.

    Raises
    ------
    StudyError
        If a label that is to be released is no column of the roster.
    """
    columns = {name for entry in roster.entries for name in entry.attributes}
    missing = [
        StudyMistake(
            f"labels.{label.column}", "a column of the roster", "none of that name",
            "Correct the name, or add the column to the roster.",
        )
        for label in study.labels
        if label.policy != "left_out" and label.column not in columns
    ]  # fmt: skip
    if missing:
        raise StudyError(missing)


def check_delta(settings: ProtectSettings, n_patients: int) -> None:
    """Refuse a delta that is large for the roster, unless it is justified in writing.

    Parameters
    ----------
    settings : ProtectSettings
        The promise, all choices made: only what the chosen mechanism spends counts.
    n_patients : int
        Roster size.

    Raises
    ------
    StudyError
        If delta exceeds min(1/n², 1e-5) without ``privacy.delta_justification``.
    """
    largest, delta = largest_delta(n_patients), float(settings.delta_total)
    if delta > largest and settings.delta_justification is None:
        raise StudyError([StudyMistake(
            "privacy.delta", f"at most {largest:.3g} for {n_patients} patients",
            f"{delta:g}",
            "Make delta smaller, or write down why in privacy.delta_justification.",
        )])  # fmt: skip


def release_study(
    study: Study,
    target: Path | None = None,
    n_workers: int | None = None,
    progress: Progress = no_progress,
) -> Released:
    """Make a release: spends budget and writes a folder that may be shared.

    Everything that can be refused is refused before the ledger is charged. From then on
    the budget is spent, whatever happens.

    Parameters
    ----------
    study : Study
        Checked settings.
    target : Path, optional
        Release folder; default: the study's.
    n_workers : int, optional
        Processes for extraction; default: all cores.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Released
        The folder and its certificate.

    Raises
    ------
    NeuroveilError
        If anything stands against the release.
    """
    target = target or study.path(study.output.release)
    check_apart(study.path(study.output.internal), target)
    key = signing_key(study)
    preview = preview_release(study)
    with claimed(target, preview.n_cells) as draft:
        ledger = open_ledger(study)
        require_room(study, ledger, preview.request)
        start = time.monotonic()
        require_other_people(study, recordings_of(find_roster(study)))
        extraction = extract_study(study, n_workers, progress)
        write_extraction(study, extraction, time.monotonic() - start)
        prepared = _prepare(study, preview, extraction)
        certificate = rehearse(prepared.scaling, preview.settings, preview.n_patients)
        check_writing(certificate, prepared.table.columns, preview.n_patients, draft)
        progress(0, 1, "drawing noise")
        with uninterrupted():
            charge = reserve(study, ledger, preview.request)
            with paid(charge):
                release = release_any(prepared.table, prepared.scaling, preview.settings, charge)
                certificate = write_release(release, target, key, draft)
    progress(1, 1, "drawing noise")
    return Released(target, certificate, extraction, release.scaling, preview.settings)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What is protected, and the constants that it is scaled with."""

    table: FeatureTable
    scaling: Scaling


def _prepare(study: Study, preview: Preview, extraction: Extraction) -> _Prepared:
    """Make every refusal that looks at the private table, before budget is spent."""
    extraction.require_settled()
    require_data(extraction.table)
    if extraction.table.n_patients != preview.n_patients:
        raise RecordingError(
            "roster", f"{preview.n_patients} patients, as when the run began",
            f"{extraction.table.n_patients}",
            "The roster changed while recordings were read; run again.",
        )  # fmt: skip
    scaling = study_scaling(study, extraction.table)
    table = with_public_categories(study, extraction.table)
    check_any(table, scaling, preview.settings)
    return _Prepared(table, scaling)


@contextmanager
def paid(charge: Charge) -> Iterator[None]:
    """Say in every later error that budget was spent.

    Parameters
    ----------
    charge : Charge
        From the ledger.

    Yields
    ------
    None
        The block that uses the charge.

    Raises
    ------
    MachineError
        If anything goes wrong: what was spent stays spent.
    """
    try:
        yield
    except Exception as error:
        raise MachineError(
            "release", "a release that is written after it was paid for", type(error).__name__,
            f"Budget was spent (entry {charge.entry} of the ledger) and nothing was released. "
            "Put the cause right; another attempt spends again.",
        ) from error  # fmt: skip


def recordings_of(roster: Roster) -> Iterator[Path]:
    """Go through the recordings of a roster.

    Parameters
    ----------
    roster : Roster
        The study's patients.

    Yields
    ------
    Path
        Private.
    """
    for entry in roster.entries:
        for recording in entry.recordings:
            yield recording.path


def require_data(table: FeatureTable) -> None:
    """Refuse to spend budget on a cohort without a single usable recording.

    Whether *any* patient has data is the only thing that is asked, and the answer
    reaches only the person who runs the release.

    Parameters
    ----------
    table : FeatureTable
        The private table.

    Raises
    ------
    StudyError
        If every cell is missing.
    """
    if not table.n_windows.any():
        raise StudyError([StudyMistake(
            "input", "at least one usable recording", "none",
            "Run `neuroveil extract` and look at the list of problems that it writes.",
        )])  # fmt: skip
