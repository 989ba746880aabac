"""``neuroveil federate run`` and ``status``: train, and see how far it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.deploy.federated.plan import FederationPlan

_PATH = click.Path(path_type=Path)


@click.command("run")
@click.argument("study_file", metavar="STUDY", type=_PATH)
@click.option("--coordinator", "folder", type=_PATH, default="neuroveil-coordinator",
              show_default=True, help="The coordinator's folder.")  # fmt: skip
@click.option("--plan", "plan_folder", type=_PATH, metavar="FOLDER",
              help="Where plan.json lies.  [default: the plan that STUDY makes]")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be trained; ask nobody.")
@common_options
def run_(
    face: Face, study_file: Path, folder: Path, plan_folder: Path | None, dry_run: bool
) -> int:
    """Train by the section [federation] of STUDY on the coordinator that runs in FOLDER.

    Every hospital has agreed to the same plan beforehand. A training that was interrupted goes on
    after its last round; one that is finished is only reported.
    """
    from neuroveil.deploy.federated.operate.runs import train
    from neuroveil.deploy.federated.plan import plan_from_study, read_plan
    from neuroveil.study import load_study

    study = load_study(study_file)
    plan = plan_from_study(study) if plan_folder is None else read_plan(plan_folder)
    if dry_run:
        face.result(*_preview(plan))
        return 0
    face.say(_preview(plan)[1])
    with face.progress() as report:
        done = train(folder, plan, report)
    out = {name for each in done.rounds for name in each["hospitals_out"]}
    document: dict[str, Any] = {
        "plan": plan.digest, "folder": done.folder.name, "rounds": done.rounds,
        "resumed": done.resumed, "bytes_sent": done.bytes_sent,
        "bytes_received": done.bytes_received,
    }  # fmt: skip
    missing = f"; not in every round: {', '.join(sorted(out))}" if out else ""
    face.result(
        document,
        f"{len(done.rounds)} rounds done{missing}.\nThe model is in the coordinator's folder, "
        f"under runs/{done.folder.name}.",
    )
    return 0


def _preview(plan: FederationPlan) -> tuple[dict[str, Any], str]:
    """Say what would be trained: nothing of it is private."""
    from neuroveil.deploy.federated.operate.bundle import app_digest

    hospitals = {seat.name: seat.n_patients for seat in plan.seats}
    document = {
        "plan": plan.digest, "app": app_digest(), "setting": plan.setting,
        "epsilon": plan.epsilon, "delta": plan.delta, "rounds": plan.training.rounds,
        "exchanges": plan.training.attempts, "hospitals": hospitals,
        "minimum_hospitals": plan.minimum_hospitals, "enrol_seconds": plan.enrol_seconds,
        "round_seconds": plan.round_seconds,
    }  # fmt: skip
    guarantee = f"epsilon {plan.epsilon:g}, delta {plan.delta:g}" if plan.epsilon else "none"
    text = (
        f"plan       {plan.digest}\n"
        f"setting    {plan.setting}, {guarantee} for every patient, over the whole training\n"
        f"hospitals  {len(hospitals)} with {plan.n_patients} patients; at least "
        f"{plan.minimum_hospitals} a round\n"
        f"rounds     {plan.training.rounds}; a hospital that has not answered after "
        f"{plan.round_seconds:g} s is left out of that round"
    )
    return document, text


@click.command("status")
@click.argument("folder", type=_PATH, default="neuroveil-coordinator")
@common_options
def status_(face: Face, folder: Path) -> int:
    """Say how a coordinator's or a hospital's FOLDER stands: rounds, who is in, who is out."""
    from neuroveil.deploy.federated.operate.status import status, status_text

    document = status(folder)
    face.result(document, status_text(document))
    return 0
