"""What an audit of a mechanism runs on: a study, a certificate, a name, a function, a command."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.replay import Replayable, ReplayedSubject
from neuroveil.audit.subject import Subject
from neuroveil.audit.subjects.function import FunctionSubject
from neuroveil.audit.subjects.loading import load_function
from neuroveil.audit.subjects.ours import OurMechanism, at_dimension, our_mechanism
from neuroveil.audit.subjects.process import TIME_LIMIT, CommandSubject, split_command
from neuroveil.audit.subjects.whole_pipeline import WholePipeline
from neuroveil.errors import StudyError, StudyMistake
from neuroveil.pipeline.audit_claim import Claim
from neuroveil.pipeline.audit_inputs import read_public, read_rows
from neuroveil.pipeline.promise import planning_scaling, protect_settings, study_scaling
from neuroveil.pipeline.reports import read_release
from neuroveil.pipeline.settings import find_roster
from neuroveil.privacy import ProtectSettings
from neuroveil.privacy.mechanisms.contract import MechanismSpec, RowMechanism
from neuroveil.privacy.plan import row_mechanism
from neuroveil.privacy.sampling import SystemRandomness
from neuroveil.privacy.settings import Projection
from neuroveil.study import Study
from neuroveil.types.certificate import Certificate
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

FEW_COLUMNS = 2
"""Columns of a mechanism of ours where millions of releases are needed."""

_MOST_REPLAYED_ROWS = 50
_REPLAYED_ROWS = 17


@dataclass(frozen=True)
class AuditTarget:
    """What is audited, in the forms that the attacks need.

    Parameters
    ----------
    subject : Subject
        As claimed.
    few_columns : Subject
        The same with few columns, for attacks that take millions of releases; the subject
        itself where its columns are given.
    pipeline : Replayable, optional
        For the replay; none where nothing makes the subject repeatable.
    n_rows : int
        Rows of a replayed table.
    key : mapping
        Names the target, as plain data without private values.
    released : ndarray of float64, shape (n_rows, dimension), optional
        A released table with additive noise, before post-processing (no unit).
    """

    subject: Subject
    few_columns: Subject
    pipeline: Replayable | None
    n_rows: int = _REPLAYED_ROWS
    key: dict[str, Any] = field(default_factory=dict)
    released: FloatArray | None = None


def target_from_study(study: Study) -> AuditTarget:
    """Audit what a study would release: its mechanism, and its whole way from features to rows.

    No recording is read: tables are made up, in the units of the study's columns.

    Parameters
    ----------
    study : Study
        Checked settings.

    Returns
    -------
    AuditTarget
        Repeatable by simulation.

    Raises
    ------
    StudyError
        If it does not release rows.
    ChainError
        If its mechanism cannot be calibrated.
    """
    n_patients = find_roster(study).n_patients
    settings = protect_settings(study, n_patients)
    _require_rows(settings)
    constants = planning_scaling(study)
    mechanism, _ = row_mechanism(settings, len(constants.columns), n_patients)
    target = _ours(mechanism)
    if settings.scaling_budget is not None:
        return target
    pipeline = WholePipeline(constants, settings, _scaling_of(study, constants))
    n_rows = min(max(n_patients, 2), _MOST_REPLAYED_ROWS)
    return replace(
        target, pipeline=pipeline, n_rows=n_rows, key={**target.key, "study": repr(constants.name)}
    )


def target_from_certificate(place: Path) -> AuditTarget:
    """Audit the mechanism that a certificate states.

    Parameters
    ----------
    place : Path
        Release folder, or its ``certificate.json``.

    Returns
    -------
    AuditTarget
        The same mechanism, run anew, and the released table where the folder is given.

    Raises
    ------
    CertificateError
        If there is no readable certificate, or not the table that it speaks of.
    StudyError
        If no rows were released.
    ChainError
        If the mechanism cannot be calibrated.
    """
    certificate, columns = read_release(place)
    settings = _settings_of(certificate)
    _require_rows(settings)
    mechanism, _ = row_mechanism(settings, len(columns), certificate.value("domain.n"))
    target = _ours(mechanism)
    if not place.is_dir():
        return target
    released = read_rows(place, read_public(place)).values
    if released is None:
        return target
    digest = sha256(released.tobytes()).hexdigest()
    return replace(target, released=released, key={**target.key, "table": digest})


def target_by_name(name: str, claim: Claim) -> AuditTarget:
    """Audit one of our mechanisms by its name.

    Parameters
    ----------
    name : str
        Name of a row mechanism.
    claim : Claim
        Its parameters.

    Returns
    -------
    AuditTarget
        The calibrated mechanism.

    Raises
    ------
    ChainError
        If it cannot be calibrated.
    """
    spec = MechanismSpec(
        name, claim.epsilon, claim.delta, claim.clip_norm, claim.norm, claim.dimension
    )
    return _ours(our_mechanism(spec).mechanism)


def target_from_function(place: str, claim: Claim) -> AuditTarget:
    """Audit a Python function; this imports it.

    Parameters
    ----------
    place : str
        ``MODULE:FUNCTION`` or ``FILE.py:FUNCTION``.
    claim : Claim
        What it claims.

    Returns
    -------
    AuditTarget
        With a replay where the function takes a seed.

    Raises
    ------
    StudyError
        If there is no such function.
    ChainError
        If the claim is out of range.
    """
    file, _, name = place.rpartition(":")
    subject = FunctionSubject(claim.facts(name), load_function(place))
    pipeline = ReplayedSubject(subject) if subject.facts.repeatable else None
    module = sys.modules.get(file)
    code = (file, None if module is None else module.__file__)
    return AuditTarget(subject, subject, pipeline, key=_key(subject, place, code))


def target_from_command(
    command: str, claim: Claim, form: str = "npy", time_limit: float = TIME_LIMIT
) -> AuditTarget:
    """Audit a program.

    Parameters
    ----------
    command : str
        Program and arguments.
    claim : Claim
        What it claims.
    form : str
        Format of tables and answers.
    time_limit : float
        Seconds that one call may take.

    Returns
    -------
    AuditTarget
        Without a replay: a program has randomness of its own.

    Raises
    ------
    StudyError
        If there is no program or no such format.
    ChainError
        If the claim is out of range.
    """
    subject = CommandSubject(claim.facts("command"), split_command(command), form, time_limit)
    program, *arguments = subject.command
    code = (shutil.which(program), *arguments)
    return AuditTarget(subject, subject, None, key=_key(subject, command, code))


def _scaling_of(study: Study, constants: Scaling) -> Callable[[FeatureTable], Scaling]:
    """What a table of the study is scaled with; public constants are looked up once."""
    if constants.fitted_on == "public":
        return lambda table: constants
    return lambda table: study_scaling(study, table)


def _ours(mechanism: RowMechanism) -> AuditTarget:
    subject = OurMechanism(mechanism.renewed(SystemRandomness()))
    spec = mechanism.spec
    few = at_dimension(spec, min(FEW_COLUMNS, spec.dimension))
    simulated = replace(subject, simulated=True)
    return AuditTarget(
        subject, our_mechanism(few), ReplayedSubject(simulated), key=_key(subject, repr(spec))
    )


def _key(subject: Subject, place: str, code: Sequence[str | None] = ()) -> dict[str, Any]:
    """Name a subject; code that was changed since is another one, whatever its name."""
    files = [Path(name) for name in code if name and Path(name).is_file()]
    facts = subject.facts
    law = facts.law
    scale = law.scale if isinstance(law, AdditiveLaw) else None
    return {
        "place": place, "name": facts.name, "epsilon": facts.epsilon, "delta": facts.delta,
        "dimension": facts.dimension, "clip_norm": facts.clip_norm, "norm": facts.norm,
        "law": None if law is None else law.family, "scale": scale,
        "code": [sha256(file.read_bytes()).hexdigest() for file in files],
    }  # fmt: skip


def _settings_of(certificate: Certificate) -> ProtectSettings:
    """Settings that lead to the mechanism of a certificate."""
    projection = certificate.value("preprocessing.projection")
    return ProtectSettings(
        mechanism=certificate.value("mechanism.name"),
        epsilon=certificate.value("guarantee.epsilon_rows"),
        delta=certificate.value("guarantee.delta"),
        clip_norm=certificate.value("bound.clip_norm"),
        norm=certificate.value("bound.norm"),
        trust_model=certificate.value("model.trust"),
        projection=projection and Projection(projection["params"]["components"]),
    )


def _require_rows(settings: ProtectSettings) -> None:
    if settings.is_central:
        raise StudyError([StudyMistake(
            "audit", "a release of rows", "statistics of all patients together",
            "Audit a row mechanism: --mechanism, --callable or --command.",
        )])  # fmt: skip
