"""``neuroveil federate plan``, ``simulate`` and ``join``: before anybody trains."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.arguments import workers_option
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.deploy.federated.compare import Compared
    from neuroveil.deploy.federated.plan import FederationPlan
    from neuroveil.study import Study
    from neuroveil.types.federation import FederationResult

_STUDY = click.argument("study_file", metavar="STUDY", type=click.Path(path_type=Path),
                        default="study.toml")  # fmt: skip
_SEEDS = 5
_EXIT_INTERRUPTED = 130


@click.command()
@_STUDY
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Write plan.json here, for all hospitals to agree on.")  # fmt: skip
@click.option("--compare", "n_seeds", type=click.IntRange(min=2), metavar="N",
              help="Compare all settings at this epsilon on N made-up federations.")  # fmt: skip
@common_options
def plan(face: Face, study_file: Path, out: Path | None, n_seeds: int | None) -> int:
    """Show what would be trained, what it costs, and which setting would do best.

    Rests on public numbers and made-up patients alone: no row is read, nothing is spent.
    """
    from neuroveil.deploy.federated.plan import plan_from_study, write_plan
    from neuroveil.pipeline.cache import private_folder

    study = _load(study_file, {})
    agreed = plan_from_study(study)
    document, lines = _described(agreed)
    if n_seeds is not None:
        rows = _compared(face, study, agreed, n_seeds)
        document["settings"] = [row.to_json() for row in rows]
        lines += ["", *_table(rows)]
    if out is not None:
        write_plan(agreed, private_folder(out, "--out"))
        lines.append(f"Wrote plan.json; digest {agreed.digest}")
    face.result(document, "\n".join(lines))
    return 0


@click.command()
@_STUDY
@click.option("--setting", type=click.Choice(["local_features", "dp_sgd", "distributed", "none"]),
              help="Where privacy enters; overrides the study.")  # fmt: skip
@click.option("--epsilon", type=float, help="Overrides the study's epsilon.")
@click.option("--rounds", type=click.IntRange(min=1), help="Overrides the study's rounds.")
@click.option("--seed", type=click.IntRange(min=0), help="Of made-up patients and of all noise.")
@click.option("--audit/--no-audit", default=True, show_default=True,
              help="Attack the model and an update by membership.")  # fmt: skip
@click.option("--engine", type=click.Choice(["ray", "process"]), default="ray", show_default=True,
              help="Flower's simulation with its processes, or all in this process.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be trained; trains nothing.")
@common_options
def simulate(face: Face, study_file: Path, dry_run: bool, **options: Any) -> int:
    """Train as the study says, all hospitals on this machine, in Flower's simulation.

    Hospitals without a study of their own are made up. Nothing of it is private: noise has a
    seed. An interrupted run goes on after the last round; figures lie in the internal folder.
    """
    study = _load(study_file, _overrides(options))
    if dry_run:
        from neuroveil.deploy.federated.plan import plan_from_study

        document, lines = _described(plan_from_study(study))
        face.result(document, "\n".join(lines))
        return 0
    from neuroveil.deploy.federated.simulate import simulate_federation

    with _ended_at_once(options["engine"]), face.progress() as progress:
        simulated = simulate_federation(study, progress, options["audit"], options["engine"])
    lines = _outcome(simulated.result)
    place = simulated.folder.relative_to(study.path("."))
    lines += [f"Page: {place}/federation.html", "Not private: a simulation."]
    face.result({"folder": str(place), **simulated.result.to_json()}, "\n".join(lines))
    return 0


@contextmanager
def _ended_at_once(engine: str) -> Iterator[None]:
    """Let Ctrl-C end a simulation with worker processes.

    Flower would wait for answers of workers that have ended already. Rounds that counted are on
    the disk, and Ray's processes end with this one.
    """

    def end(number: int, frame: object) -> None:
        os.write(2, b"\nStopped. Run the same command again to go on.\n")
        os._exit(_EXIT_INTERRUPTED)

    before = signal.signal(signal.SIGINT, end) if engine == "ray" else None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


@click.command()
@_STUDY
@click.argument("seat", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="This hospital's name in the plan.")
@click.option("--plan", "plan_folder", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where plan.json lies.  [default: the plan that STUDY makes]")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the plan; reads no row, charges nothing.")
@workers_option
@common_options
def join(face: Face, study_file: Path, seat: Path, name: str, **options: Any) -> int:
    """Make the private folder SEAT that a hospital answers from, and pay for the whole run.

    The hospital's ledger is charged once, before the first round, for all rounds and retries.
    With rows that were released before nothing is charged again; their certificate is verified.
    """
    from neuroveil.deploy.federated.plan import plan_from_study, read_plan

    study, place = _load(study_file, {}), options["plan_folder"]
    agreed = plan_from_study(study) if place is None else read_plan(place)
    agreed.seat(name)
    document, lines = _described(agreed)
    if options["dry_run"]:
        face.result(document, "\n".join(lines))
        return 0
    from neuroveil.deploy.federated.joining import enrol_hospital

    with face.progress() as progress:
        enrol_hospital(study, agreed, name, seat, progress, options["workers"])
    lines.append(f"{name} is ready. Keep the folder private, and do not copy it.")
    face.result({**document, "hospital": name, "joined": True}, "\n".join(lines))
    return 0


def _load(study_file: Path, overrides: dict[str, Any]) -> Study:
    from neuroveil.study import load_study

    return load_study(study_file, overrides)


def _overrides(options: dict[str, Any]) -> dict[str, Any]:
    overrides: dict[str, Any] = {"federation.simulation": True}
    places = {
        "setting": "federation.setting", "epsilon": "privacy.epsilon",
        "rounds": "federation.rounds", "seed": "federation.seed",
    }  # fmt: skip
    return overrides | {
        place: options[name] for name, place in places.items() if options[name] is not None
    }


def _described(agreed: FederationPlan) -> tuple[dict[str, Any], list[str]]:
    """What a plan says, for a machine and for a person."""
    from neuroveil.deploy.federated.chain import summary
    from neuroveil.deploy.federated.noise import noise_terms
    from neuroveil.deploy.federated.planned import message_bytes, noise_in_a_step

    noise = noise_terms(agreed)
    document = {
        **summary(agreed), "digest": agreed.digest, "attempts": agreed.training.attempts,
        "bytes_a_round": message_bytes(agreed),
        "noise_std": None if noise is None else noise.noise_std,
        "noise_in_a_step": noise_in_a_step(agreed),
    }  # fmt: skip
    return document, [f"{key.replace('_', ' ')}: {value}" for key, value in document.items()]


def _compared(face: Face, study: Study, agreed: FederationPlan, n_seeds: int) -> Sequence[Compared]:
    from neuroveil.deploy.federated.compare import compare_settings
    from neuroveil.deploy.federated.plan import federation_settings
    from neuroveil.pipeline.promise import planning_scaling

    separation = federation_settings(study).separation
    with face.progress() as progress:
        return compare_settings(agreed, planning_scaling(study), separation, n_seeds, progress)


def _table(rows: Sequence[Compared]) -> list[str]:
    width = max(len(row.label) for row in rows)
    return [
        f"{'made-up patients, new people':{width}}  balanced accuracy    AUC",
        *(
            f"{row.label:{width}}  {row.balanced_accuracy:.2f} ({row.low:.2f} to {row.high:.2f})"
            f"  {row.auc:.2f}"
            for row in rows
        ),
    ]


def _outcome(result: FederationResult) -> list[str]:
    chain, pooled = result.chain, result.pooled
    lines = [chain["verdict"], f"rounds that counted: {len(chain['rounds'])}"]
    if pooled is not None and pooled.balanced_accuracy is not None and pooled.auc is not None:
        balanced, auc = pooled.balanced_accuracy, pooled.auc
        lines += [
            f"balanced accuracy: {balanced.mean:.2f} ({balanced.low:.2f} to {balanced.high:.2f})",
            f"area under the curve: {auc.mean:.2f} ({auc.low:.2f} to {auc.high:.2f})",
        ]
    return lines + [f"{each.title}: {each.verdict}" for each in result.audits]
