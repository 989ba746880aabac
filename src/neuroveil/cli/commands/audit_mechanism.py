"""``neuroveil audit mechanism``: attacks on what makes the noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.pipeline.audit_mechanism import AuditSizes, MechanismAudit
    from neuroveil.pipeline.audit_targets import AuditTarget
    from neuroveil.study import Study
    from neuroveil.types.audit import AttackResult

_MARKS = {
    "violated": "VIOLATED", "weak": "weak", "no_attack_succeeded": "nothing found",
    "not_testable": "not testable",
}  # fmt: skip
# Those of pipeline.audit_mechanism, which --help must not import; a test compares them.
ATTACKS = ("replay", "noise_scale", "randomness", "last_bits", "black_box", "timing")
_FORMATS = ("npy", "jsonl", "csv")
_FOLDER = "audit-mechanism"


@click.command()
@click.argument("target", required=False, type=click.Path(path_type=Path))
@click.option("--mechanism", metavar="NAME", help="One of ours, by name, with the claim below.")
@click.option("--callable", "function", metavar="MODULE:FUNCTION",
              help="A Python function of rows, or FILE.py:FUNCTION. Its code is run.")  # fmt: skip
@click.option("--command", "program", metavar="COMMAND",
              help="A program that reads rows on standard input and writes answers.")  # fmt: skip
@click.option("--epsilon", type=float, help="Claimed epsilon.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Claimed delta.")
@click.option("--dimension", type=click.IntRange(min=1), default=1, show_default=True,
              help="Columns of a row.")  # fmt: skip
@click.option("--clip-norm", type=float, default=1.0, show_default=True,
              help="Largest norm of a row.")  # fmt: skip
@click.option("--norm", type=click.Choice(["l2", "l1"]), default="l2", show_default=True,
              help="Norm that is clipped.")  # fmt: skip
@click.option("--noise", type=click.Choice(["gaussian", "laplace"]),
              help="Law of the noise, where it is stated.")  # fmt: skip
@click.option("--noise-scale", type=float, help="Its standard deviation, or Laplace scale.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="npy", show_default=True,
              help="How rows and answers of a program are written.")  # fmt: skip
@click.option("--time-limit", type=float, default=600.0, show_default=True,
              help="Seconds for one call of a program.")  # fmt: skip
@click.option("--trials", type=click.IntRange(100, 10_000_000), help="Certifying trials a side.")
@click.option("--quick", is_flag=True, help="A first look, with few trials.")
@click.option("--only", multiple=True, type=click.Choice(ATTACKS), help="This attack alone.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Of made-up tables, and of functions that take one.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), help="Internal folder for the pages.")
@click.option("--dry-run", is_flag=True, help="Say what would be run; run and write nothing.")
@common_options
def command(face: Face, target: Path | None, **options: Any) -> int:
    """Audit what makes the noise, to see whether what really runs keeps its claim.

    TARGET is a study, or a release folder or certificate.json. Instead of it: --mechanism,
    --callable or --command, with the claim as options. No patient's data are read: tables are
    made up.

    A run that was interrupted goes on with the attacks that were not finished.
    """
    from neuroveil.pipeline.audit_mechanism import audit_mechanism

    subject, study = _target(target, options)
    sizes = _sizes(options)
    folder = options["out"] or _folder(study)
    if options["dry_run"]:
        return _dry_run(face, subject, sizes, options["only"])
    with face.progress() as progress:
        audit = audit_mechanism(subject, sizes, folder, options["only"], progress)
    face.result({**audit.to_json(), "pages": str(folder / "index.html")}, _words(audit, folder))
    return audit.exit_code


def _target(target: Path | None, options: dict[str, Any]) -> tuple[AuditTarget, Study | None]:
    """What is audited, and the study behind it where there is one."""
    from neuroveil.errors import CertificateError, ChainError, StudyError, StudyMistake
    from neuroveil.pipeline import audit_targets

    ways = (target, options["mechanism"], options["function"], options["program"])
    if sum(way is not None for way in ways) != 1:
        raise click.UsageError("Give one of TARGET, --mechanism, --callable and --command.")
    try:
        if target is not None:
            return _written_target(target)
        claim = _claim(options)
        if options["mechanism"] is not None:
            return audit_targets.target_by_name(options["mechanism"], claim), None
        if options["function"] is not None:
            return audit_targets.target_from_function(options["function"], claim), None
        return audit_targets.target_from_command(
            options["program"], claim, options["form"], options["time_limit"]
        ), None
    except (CertificateError, ChainError) as error:
        # A claim that cannot be, or be read, is a mistake. Exit code 4 is for broken claims.
        raise StudyError([
            StudyMistake(error.where, error.expected, error.found, error.remedy)
        ]) from error  # fmt: skip


def _written_target(target: Path) -> tuple[AuditTarget, Study | None]:
    from neuroveil.pipeline.audit_targets import target_from_certificate, target_from_study
    from neuroveil.study import load_study

    is_release = target.suffix == ".json" or (target / "certificate.json").is_file()
    if is_release:
        return target_from_certificate(target), None
    study = load_study(target)
    return target_from_study(study), study


def _claim(options: dict[str, Any]) -> Any:
    from neuroveil.pipeline.audit_claim import Claim

    if options["epsilon"] is None:
        raise click.UsageError("State the claim: --epsilon is missing.")
    names = ("epsilon", "delta", "dimension", "clip_norm", "norm", "noise", "noise_scale")
    return Claim(**{name: options[name] for name in names})


def _sizes(options: dict[str, Any]) -> AuditSizes:
    from neuroveil.pipeline.audit_mechanism import QUICK, AuditSizes

    sizes = replace(QUICK if options["quick"] else AuditSizes(), seed=options["seed"])
    if options["trials"] is None:
        return sizes
    return replace(sizes, n_trials=options["trials"], n_bits=max(1000, 4 * options["trials"]))


def _folder(study: Study | None) -> Path:
    return Path(_FOLDER) if study is None else study.path(study.output.internal) / _FOLDER


def _dry_run(face: Face, target: AuditTarget, sizes: AuditSizes, only: tuple[str, ...]) -> int:
    from neuroveil.pipeline.audit_mechanism import planned

    runs, skipped = planned(target, only)
    facts = target.subject.facts
    document = {
        "name": facts.name, "epsilon": facts.epsilon, "delta": facts.delta,
        "dimension": facts.dimension, "attacks": list(runs), "skipped": skipped,
        "n_trials": sizes.n_trials, "written": False,
    }  # fmt: skip
    lines = [f"Would audit {facts.name}, {facts.dimension} columns, epsilon = {facts.epsilon:g}."]
    lines += [f"  {name}" for name in runs]
    lines += [f"  not {name}: {reason}" for name, reason in skipped.items()]
    face.result(document, "\n".join(lines))
    return 0


def _words(audit: MechanismAudit, folder: Path) -> str:
    from neuroveil.report.audit import VERDICT_WORDS

    lines = [_line(result) for result in audit.results]
    lines += [f"{'not run':>13}  {name}: {reason}" for name, reason in audit.skipped]
    lines.append(f"{VERDICT_WORDS[audit.verdict]}.")
    lines.append(f"Pages, to keep inside: {folder / 'index.html'}")
    return "\n".join(lines)


def _line(result: AttackResult) -> str:
    return f"{_MARKS[result.verdict]:>13}  {result.title}: {result.sentence}"
