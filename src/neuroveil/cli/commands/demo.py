"""``neuroveil demo``: the whole job on a made-up cohort."""

from __future__ import annotations

from pathlib import Path

import click

from neuroveil.cli.face import Face, common_options
from neuroveil.cli.figures import interval, overall_figures


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--epsilon", type=float, default=1.0, show_default=True)
@click.option("--consortium", is_flag=True,
              help="Three hospitals and a trusted server, all on this machine.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@common_options
def command(
    face: Face, folder: Path | None, epsilon: float, consortium: bool, dry_run: bool
) -> int:
    """Run the whole job on a made-up cohort in FOLDER (default: demo, or demo-consortium).

    With --consortium, three hospitals send rows under pseudonyms to a server that protects once
    for all of them: two people are in two hospitals, and one hospital is killed while it sends.
    It needs the extra "server".
    """
    if consortium:
        return _run_consortium(face, folder or Path("demo-consortium"), epsilon, dry_run)
    folder = folder or Path("demo")
    if dry_run:
        face.result(
            {"folder": str(folder), "written": False},
            f"Would simulate 24 patients in {folder}, release them and verify the release.",
        )
        return 0
    from neuroveil.pipeline.demo import run_demo

    with face.progress() as progress:
        result = run_demo(folder, epsilon, progress)
    figures = overall_figures(result.utility)
    document = {
        "verdict": result.verdict,
        "verified": result.verified,
        "internal_utility": figures,
        "epsilon_left": result.epsilon_left,
        "report": str(result.report),
        "internal_report": str(result.internal_report),
        "release": str(result.release),
        "seconds": round(result.seconds, 1),
    }
    face.result(
        document,
        f"""
{result.verdict}
The certificate was re-derived and {"holds" if result.verified else "DOES NOT HOLD"}.

Three figures:
  correlation with the true rows   {interval(figures["correlation"], 3)}
  signal to noise, in dB           {interval(figures["snr_db"], 1)}
  budget left for these patients   epsilon = {result.epsilon_left:g}

Report to share:  {result.report}
Report to keep:   {result.internal_report}
Release folder:   {result.release}
Done in {result.seconds:.0f} s.""",
    )
    return 0 if result.verified else 4


def _run_consortium(face: Face, folder: Path, epsilon: float, dry_run: bool) -> int:
    if dry_run:
        face.result(
            {"folder": str(folder), "written": False},
            f"Would simulate three hospitals in {folder}, start a server on this machine, send "
            f"their rows to it, and verify the release that it publishes.",
        )
        return 0
    from neuroveil.deploy.consortium_demo import run_consortium_demo

    result = run_consortium_demo(folder, epsilon, face.say)
    document = {
        "verdict": result.verdict, "verified": result.verified, "release": str(result.release),
        "n_records": result.n_records, "n_patients": result.n_patients,
        "n_audit_entries": result.n_audit_entries, "seconds": round(result.seconds, 1),
    }  # fmt: skip
    face.result(
        document,
        f"""
{result.verdict}
The certificate was re-derived and {"holds" if result.verified else "DOES NOT HOLD"}.

  records that were sent      {result.n_records}
  people that they are about  {result.n_patients}
  entries of the audit log    {result.n_audit_entries}, unbroken

Release folder:  {result.release}
Server's log:    {folder / "server.log"}
Done in {result.seconds:.0f} s.""",
    )
    return 0 if result.verified else 4
