"""Audit a release against the private table behind it: every attack, on three targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from neuroveil.audit.table.attacks import TABLE_ATTACKS, TableAttack
from neuroveil.audit.table.effort import QUICK, Effort
from neuroveil.audit.table.frame import AuditFrame, Target
from neuroveil.errors import CertificateError, StudyError, StudyMistake
from neuroveil.pipeline.audit_files import AuditFolder, settings_key
from neuroveil.pipeline.audit_inputs import load_frame
from neuroveil.pipeline.audit_labels import read_attribute
from neuroveil.pipeline.cache import content_digest
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.reports import check_place, read_release
from neuroveil.privacy.verify import verify
from neuroveil.report.audit import AuditHeading, audit_pages
from neuroveil.types.audit import AttackResult, Verdict, overall_verdict
from neuroveil.types.certificate import Certificate

BROKEN = 4
_EXIT_CODES: dict[Verdict, int] = {"violated": BROKEN, "not_testable": 5}


@dataclass(frozen=True)
class TableAuditInputs:
    """What is audited.

    Parameters
    ----------
    release : Path
        Release folder.
    table : Path
        The private feature table that it was made from.
    reference : Path, optional
        Feature table of another session of the same people.
    order : Path, optional
        Roster keys in the order of the released rows, where the hospital has kept that.
    attribute : str, optional
        Column of something that an attacker may want to guess, such as sex.
    labels : Path, optional
        Table with that column and ``patient``; the private feature table by default.
    """

    release: Path
    table: Path
    reference: Path | None = None
    order: Path | None = None
    attribute: str | None = None
    labels: Path | None = None


@dataclass(frozen=True)
class TableAudit:
    """A finished audit. Internal.

    Parameters
    ----------
    certificate : Certificate
        Of the release.
    verification : str
        What verifying the folder said, in a sentence.
    results : tuple of AttackResult
        Attack by attack, the release before its yardsticks.
    skipped : tuple of (str, str)
        Attacks that could not be run on the release, with the reason in words.
    """

    certificate: Certificate
    verification: str
    results: tuple[AttackResult, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The severest verdict of all attacks on the release."""
        return overall_verdict(self.results)

    @property
    def exit_code(self) -> int:
        """4 where the claim is violated, 5 where nothing was testable, else 0."""
        return _EXIT_CODES.get(self.verdict, 0)

    def to_json(self) -> dict[str, Any]:
        """Give the audit as plain data, marked internal.

        Returns
        -------
        dict
            Verdict, claim, results, and what was skipped.
        """
        return {
            "internal": True,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "claim": {
                "epsilon": self.certificate.value("guarantee.epsilon"),
                "delta": self.certificate.value("guarantee.delta"),
                "trust_model": self.certificate.value("model.trust"),
                "mechanism": self.certificate.value("mechanism.name"),
            },
            "verification": self.verification,
            "results": [result.to_json() for result in self.results],
            "skipped": [{"attack": name, "reason": reason} for name, reason in self.skipped],
        }

    @property
    def heading(self) -> AuditHeading:
        """What was audited, for the head of the pages."""
        value = self.certificate.value
        return AuditHeading(
            "Attacks on a released table",
            "What somebody learns from this release who tries",
            (
                ("Epsilon", f"{value('guarantee.epsilon'):g}"),
                ("Delta", f"{value('guarantee.delta'):g}"),
                ("Trust model", str(value("model.trust"))),
                ("Mechanism", str(value("mechanism.name"))),
                ("Patients", str(value("domain.n"))),
                ("Columns", str(value("domain.dimension"))),
                ("Verification", self.verification.partition(".")[0].lower()),
            ),
        )  # fmt: skip


def audit_table(
    inputs: TableAuditInputs,
    folder: Path,
    effort: Effort = QUICK,
    only: tuple[str, ...] = (),
    progress: Progress = no_progress,
) -> TableAudit:
    """Attack a release in all ways that its form allows, and write pages about it.

    Attacks that an interrupted run on the same files with the same effort had finished are
    taken from it.

    Parameters
    ----------
    inputs : TableAuditInputs
        What is audited.
    folder : Path
        Internal folder for results and pages, outside every release.
    effort : Effort
        How long it may take.
    only : tuple of str
        Names of attacks; none for all.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    TableAudit
        All results.

    Raises
    ------
    CertificateError
        If the release cannot be read, or verification finds it broken.
    RecordingError
        If a table does not belong to the release.
    StudyError
        If the folder lies in a release, or no attack is left to run.
    """
    check_place(folder / "index.html", internal=True)
    verification = _verified(inputs.release)
    frame = _frame(inputs)
    runs, skipped = _plan(frame, only)
    place = AuditFolder(folder, _key(inputs, effort))
    done = place.done()
    for name, (attack, target) in runs.items():
        if name not in done:
            done[name] = attack.run(frame, target, effort, _tell(progress, name))
            place.keep(done)
    certificate, _ = read_release(inputs.release)
    results = tuple(done[name] for name in runs)
    audit = TableAudit(certificate, verification, results, skipped)
    place.finish(audit.to_json(), audit_pages(audit.heading, audit.results))
    return audit


def known_attacks() -> tuple[str, ...]:
    """List the attacks on a table by name.

    Returns
    -------
    tuple of str
        In the order in which they run.
    """
    return tuple(attack.name for attack in TABLE_ATTACKS)


def planned(
    inputs: TableAuditInputs, only: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...], int]:
    """Check all files, and say what would be run.

    Parameters
    ----------
    inputs : TableAuditInputs
        What would be audited.
    only : tuple of str
        Names of attacks; none for all.

    Returns
    -------
    runs : tuple of str
        Attack and target of each run.
    skipped : tuple of (str, str)
        Attacks that cannot be run on the release, with the reason in words.
    n_patients : int
        Rows of the table.

    Raises
    ------
    CertificateError
        If the release cannot be read, or verification finds it broken.
    RecordingError
        If a table does not belong to the release.
    StudyError
        If no attack is left to run.
    """
    _verified(inputs.release)
    frame = _frame(inputs)
    runs, skipped = _plan(frame, only)
    return tuple(runs), skipped, frame.n_patients


def _frame(inputs: TableAuditInputs) -> AuditFrame:
    frame = load_frame(inputs.release, inputs.table, inputs.reference, inputs.order)
    if inputs.attribute is None:
        return frame
    return replace(frame, attribute=read_attribute(inputs.attribute, frame.table, inputs.labels))


def _plan(
    frame: AuditFrame, only: tuple[str, ...]
) -> tuple[dict[str, tuple[TableAttack, Target]], tuple[tuple[str, str], ...]]:
    """Runs by name, and what cannot be run on the release.

    A yardstick alone would say nothing about the release, so it is left out then.
    """
    attacks = [attack for attack in TABLE_ATTACKS if not only or attack.name in only]
    reasons = {attack.name: attack.obstacle(frame, frame.targets[0]) for attack in attacks}
    runs = {
        f"{attack.name}, {target.name}": (attack, target)
        for attack in attacks
        for target in frame.targets
        if not reasons[attack.name] and not attack.obstacle(frame, target)
    }
    if not runs:
        raise StudyError([StudyMistake(
            "--only", "an attack that these files allow", ", ".join(only) or "none",
            "; ".join(reasons.values()) or "Name another attack.",
        )])  # fmt: skip
    return runs, tuple((name, reason) for name, reason in reasons.items() if reason)


def _verified(release: Path) -> str:
    result = verify(release)
    if result.exit_code == BROKEN:
        raise CertificateError(
            "release", "a folder that verification holds good", "a broken link",
            "Run `neuroveil verify` on it: there is no claim to attack before that is put right.",
        )  # fmt: skip
    return result.sentence


def _key(inputs: TableAuditInputs, effort: Effort) -> str:
    """Name the files and the effort; the digests stay in the internal folder."""
    others = (inputs.reference, inputs.order, inputs.labels)
    files = [inputs.release / "certificate.json", inputs.table, *others]
    digests = [None if file is None else content_digest(file) for file in files]
    return settings_key({"files": digests, "attribute": inputs.attribute, "effort": asdict(effort)})


def _tell(progress: Progress, what: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(done, total, what)
