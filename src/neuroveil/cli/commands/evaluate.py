"""``neuroveil evaluate``: what each way of sharing leaves for a classifier."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.arguments import load, study_arguments, workers_option
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.types.downstream import Figure
    from neuroveil.types.sharing import SharingTable


@click.command()
@study_arguments
@click.option("--label", metavar="COLUMN", help="Column of the roster; overrides the study.")
@click.option("--positive", multiple=True, metavar="VALUE",
              help="Value of the positive class; repeat for several.")  # fmt: skip
@click.option("--keywords", is_flag=True,
              help="The column holds reports: look for the paper's key words.")  # fmt: skip
@click.option("--epsilon", type=float, help="Overrides the study's epsilon.")
@click.option("--model", "models", multiple=True, metavar="NAME",
              help="mlp, logistic or noise_aware; repeat for several.  [default: all]")  # fmt: skip
@click.option("--way", "ways", multiple=True, metavar="NAME",
              help="A way of sharing; repeat for several.  [default: all]")  # fmt: skip
@click.option("--rounds", type=click.IntRange(2, 1000),
              help="Rounds of noise and folds.  [default: 10; 3 from 200 patients]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), help="Seed of everything random.")
@click.option("--dry-run", is_flag=True, help="Count labels and work; read no signal.")
@workers_option
@common_options
def command(
    face: Face, study: Path, out_dir: Path | None, level: str | None, **options: Any
) -> int:
    """Train classifiers on what each way of sharing leaves, beside controls.

    Results are internal: they rest on true rows and labels, and go to the internal folder.
    Units of work are kept there, so an interrupted run goes on where it stopped.
    """
    from neuroveil.pipeline.evaluated import evaluate_study, preview_evaluation
    from neuroveil.pipeline.evaluation_wishes import EvaluationWishes

    given = {name: options[name] for name in ("models", "ways") if options[name]}
    given |= {"seed": options["seed"]} if options["seed"] is not None else {}
    wishes = EvaluationWishes(n_rounds=options["rounds"], **given)
    settings = load(study, out_dir, _overrides(options))
    if options["dry_run"]:
        document = preview_evaluation(settings, wishes)
        face.result(document, "\n".join(f"{key}: {value}" for key, value in document.items()))
        return 0
    with face.progress() as progress:
        evaluated = evaluate_study(settings, wishes, options["workers"], progress)
    lines = [*_rows(evaluated.table), "", evaluated.table.verdict]
    lines.append(f"Internal report: {evaluated.written['report']}")
    lines.append("Do not choose a release by these figures: they have looked at the patients.")
    face.result(evaluated.to_json(), "\n".join(lines))
    return 0


def _overrides(options: dict[str, Any]) -> dict[str, Any]:
    overrides: dict[str, Any] = {}
    if options["epsilon"] is not None:
        overrides["privacy.epsilon"] = options["epsilon"]
    if options["label"] is not None:
        overrides["evaluation.label"] = options["label"]
    if options["positive"]:
        overrides["evaluation.positive"] = list(options["positive"])
    if options["keywords"]:
        overrides["evaluation.rule"] = "keywords"
    return overrides


def _rows(table: SharingTable) -> list[str]:
    width = max(len(result.way.label) for result in table.ranked)
    head = f"{'what is shared':{width}}  AUC for new people    control"
    return [
        f"Internal. {table.n_patients} patients, {table.n_rounds} rounds.",
        head,
        *(
            f"{result.way.label:{width}}  {_interval(result.new_people.performance.auc)}  "
            f"{_interval(result.new_people.control.auc)}"
            for result in table.ranked
        ),
    ]


def _interval(figure: Figure) -> str:
    return f"{figure.mean:.2f} ({figure.low:.2f} to {figure.high:.2f})"
