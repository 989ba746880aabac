"""``neuroveil audit RELEASE --table TABLE``: attacks on a released table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.arguments import ExistingPath
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.pipeline.audit_table import TableAudit, TableAuditInputs
    from neuroveil.types.audit import AttackResult

_MARKS = {
    "violated": "VIOLATED", "weak": "weak", "no_attack_succeeded": "nothing found",
    "not_testable": "not testable",
}  # fmt: skip
_FOLDER = "audit-table"


@click.command()
@click.argument("release", type=ExistingPath())
@click.option("--table", type=click.Path(path_type=Path), required=True,
              help="The private feature table that the release was made from.")  # fmt: skip
@click.option("--reference", type=click.Path(path_type=Path), metavar="OTHER_SESSION",
              help="Feature table of another session of the same people.")  # fmt: skip
@click.option("--order", type=click.Path(path_type=Path), metavar="FILE",
              help="Roster keys, one a line, in the order of the released rows, where that was "
              "kept.")  # fmt: skip
@click.option("--attribute", metavar="COLUMN",
              help="Something about patients that an attacker may want to guess, such as sex.",
              )  # fmt: skip
@click.option("--labels", type=click.Path(path_type=Path), metavar="FILE",
              help="CSV or TSV with that column and a column patient.  [default: TABLE]",
              )  # fmt: skip
@click.option("--full", is_flag=True, help="Many more draws; goes on where it was interrupted.")
@click.option("--only", multiple=True, metavar="ATTACK", help="This attack alone.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the fresh draws.")
@click.option("--out", type=click.Path(path_type=Path),
              help="Internal folder.  [default: audit-table beside TABLE]")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Check all files; attack and write nothing.")
@common_options
def command(face: Face, release: Path, table: Path, **options: Any) -> int:
    """Attack RELEASE, with the private table at hand, and say what somebody learns who tries.

    The same attacks run on the release, on the table without protection and on the paper's
    settings. Fresh draws of the same mechanism stand in where an attack has to know whose row is
    whose; they are never written, and spend nothing. The pages are internal.

    Ends with 4 where the claim is violated, and with 5 where there are too few patients to test
    anything.
    """
    from neuroveil.pipeline.audit_table import TableAuditInputs, audit_table, known_attacks

    unknown = [name for name in options["only"] if name not in known_attacks()]
    if unknown:
        raise click.UsageError(f"--only takes {', '.join(known_attacks())}.")
    if "attributes" in options["only"] and options["attribute"] is None:
        raise click.UsageError("--only attributes needs --attribute COLUMN.")
    if options["labels"] is not None and options["attribute"] is None:
        raise click.UsageError("--labels needs --attribute COLUMN.")
    names = ("reference", "order", "attribute", "labels")
    inputs = TableAuditInputs(release, table, **{name: options[name] for name in names})
    if options["dry_run"]:
        return _dry_run(face, inputs, options["only"])
    folder = options["out"] or table.parent / _FOLDER
    with face.progress() as progress:
        audit = audit_table(inputs, folder, _effort(options), options["only"], progress)
    face.result({**audit.to_json(), "pages": str(folder / "index.html")}, _words(audit, folder))
    return audit.exit_code


def _effort(options: dict[str, Any]) -> Any:
    from neuroveil.audit.table.effort import FULL, QUICK

    effort = FULL if options["full"] else QUICK
    return effort if options["seed"] is None else replace(effort, seed=options["seed"])


def _dry_run(face: Face, inputs: TableAuditInputs, only: tuple[str, ...]) -> int:
    from neuroveil.pipeline.audit_table import planned

    runs, skipped, n_patients = planned(inputs, only)
    document = {
        "n_patients": n_patients, "attacks": list(runs),
        "skipped": [{"attack": name, "reason": reason} for name, reason in skipped],
        "written": False,
    }  # fmt: skip
    lines = [f"Would attack a release of {n_patients} patients:"]
    lines += [f"  {name}" for name in runs]
    lines += [f"  not {name}: {reason}" for name, reason in skipped]
    face.result(document, "\n".join(lines))
    return 0


def _words(audit: TableAudit, folder: Path) -> str:
    from neuroveil.report.audit import VERDICT_WORDS

    lines = [_line(result) for result in audit.results]
    lines += [f"{'not run':>13}  {name}: {reason}" for name, reason in audit.skipped]
    lines.append(f"{VERDICT_WORDS[audit.verdict]}.")
    lines.append(f"Pages, to keep inside: {folder / 'index.html'}")
    return "\n".join(lines)


def _line(result: AttackResult) -> str:
    return f"{_MARKS[result.verdict]:>13}  {result.title} ({result.target}): {result.sentence}"
