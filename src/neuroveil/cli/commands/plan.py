"""``neuroveil plan``: what each way of sharing would leave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.arguments import load
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.evaluate.planning import PlanQuestion
    from neuroveil.pipeline.planning import Size
    from neuroveil.study import Study
    from neuroveil.types.planning import Plan

_BARE = ("channels", "features", "columns", "reference", "decay")

MOST_COLUMNS = 20_000
"""More than a thousand channels with every feature; a plan of so many takes minutes already."""

STEEPEST_DECAY = 10.0
"""With more, the second component is a thousandth of the first: there is nothing to plan."""


@click.command()
@click.argument("study", type=click.Path(path_type=Path), required=False)
@click.option("--patients", type=click.IntRange(min=1), help="Number of patients.")
@click.option("--channels", help="How many, or names with commas.  [default: 19]")
@click.option("--features", help="How many, or names with commas.  [default: 10]")
@click.option("--columns", type=click.IntRange(1, MOST_COLUMNS),
              help="Columns that nothing is known about.")  # fmt: skip
@click.option("--reference", help="Public reference: name or file.  [default: the built-in one]")
@click.option("--decay", type=click.FloatRange(0, STEEPEST_DECAY), metavar="A",
              help="Assume a public spectrum j^-A instead.")  # fmt: skip
@click.option("--epsilon", type=float, multiple=True, help="May be given several times.")
@click.option("--delta", type=float, help="[default: the study's, or min(1/n^2, 1e-5)]")
@click.option("--clip-norm", type=float, help="[default: the study's, or 2]")
@click.option("--trust-model", type=click.Choice(["local", "shuffled", "central"]),
              help="How much trust there is.  [default: the study's, or central]")  # fmt: skip
@click.option("--effect-size", type=float, default=0.8, show_default=True,
              help="Difference of two groups in standard deviations.")  # fmt: skip
@click.option("--prior", type=float, default=0.5, show_default=True,
              help="An attacker's belief before the release.")  # fmt: skip
@click.option("--target", type=float, metavar="R",
              help="Also search the epsilon and the n that a correlation R needs.")  # fmt: skip
@click.option("--compare", multiple=True, metavar="CxF",
              help="Also price C channels x F features; may be given several times.")  # fmt: skip
@click.option("--no-drops", is_flag=True, help="Do not try leaving out channels and features.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE.svg",
              help="Also draw correlation over epsilon.")  # fmt: skip
@common_options
def command(face: Face, study: Path | None, **options: Any) -> int:
    """Say what each way of sharing would leave, before any private value is touched.

    For STUDY (default: study.toml here), or for bare numbers: neuroveil plan --patients 17
    --channels 33 --features 11 --epsilon 1. No signal is read, no budget is spent, and the
    answer may be published.
    """
    from neuroveil.cli.planning import plan_text
    from neuroveil.evaluate.planning import plan_release
    from neuroveil.evaluate.planning.entry import PlanWishes

    if options["figure"] is not None and not options["figure"].parent.is_dir():
        raise click.UsageError("--figure names a file in a folder that does not exist.")
    settings = _study(study, options)
    question, size = _question(settings, options)
    wishes = PlanWishes(
        options["target"], not options["no_drops"], _sizes(options["compare"]), size
    )
    with face.progress() as progress:
        plan = plan_release(question, wishes, progress)
    document: dict[str, Any] = {}
    if settings is not None:
        plan, document = _for_study(settings, question, plan, options)
    document = {**plan.to_json(), **document}
    if options["figure"] is not None:
        document["figure"] = str(_draw(plan, options["figure"]))
    face.result(document, plan_text(plan, document.get("ledger"), full=face.verbose))
    return 0


def _study(study: Path | None, options: dict[str, Any]) -> Study | None:
    """Load the study; none where bare numbers are given."""
    given = [f"--{name}" for name in _BARE if options[name] is not None]
    if study is None and (given or options["patients"] is not None):
        if options["patients"] is None:
            raise click.UsageError(f"{given[0]} needs --patients: without a study there is no n.")
        return None
    if given:
        raise click.UsageError(f"{', '.join(given)} cannot be combined with a study.")
    return load(study or Path("study.toml"), None, {})


def _question(settings: Study | None, options: dict[str, Any]) -> tuple[PlanQuestion, str]:
    from neuroveil.errors import ChainError, StudyError, StudyMistake

    try:
        return _asked(settings, options)
    except ChainError as error:
        if options.get(error.where.removeprefix("privacy.")) in (None, ()):
            raise
        # A number on the command line that cannot be is a mistake, and nothing was refused.
        raise StudyError([
            StudyMistake(error.where, error.expected, error.found, error.remedy)
        ]) from error  # fmt: skip


def _asked(settings: Study | None, options: dict[str, Any]) -> tuple[PlanQuestion, str]:
    from neuroveil.pipeline.planning import study_question

    if settings is None:
        question, label = _bare_question(options)
    else:
        question = study_question(settings, options["epsilon"], options["patients"])
        label = "this study"
    names = ("delta", "clip_norm", "trust_model", "effect_size", "prior")
    changed = {name: options[name] for name in names if options[name] is not None}
    return replace(question, **changed), label


def _bare_question(options: dict[str, Any]) -> tuple[PlanQuestion, str]:
    from neuroveil.evaluate.planning import PlanQuestion
    from neuroveil.pipeline.planning import PLANNED_EPSILONS, default_delta, public_scaling

    size = _size(options)
    return PlanQuestion(
        scaling=public_scaling(size, options["reference"], options["decay"]),
        n_patients=options["patients"],
        epsilons=options["epsilon"] or PLANNED_EPSILONS,
        delta=default_delta(options["patients"]),
        trust_model="central",
    ), size.label


def _size(options: dict[str, Any]) -> Size:
    from neuroveil.pipeline.planning import Size

    named = {
        name: _names_or_number(options[name])
        for name in ("channels", "features")
        if options[name] is not None
    }
    return Size(columns=options["columns"], **named)


def _names_or_number(text: str) -> tuple[str, ...] | int:
    if text.strip().isdecimal():
        return int(text)
    return tuple(name.strip() for name in text.split(","))


def _sizes(texts: tuple[str, ...]) -> dict[str, int]:
    sizes = {}
    for text in texts:
        channels, x, features = text.lower().replace(" ", "").partition("x")
        if not (
            x and channels.isdecimal() and features.isdecimal()
            and 0 < int(channels) * int(features) <= MOST_COLUMNS
        ):  # fmt: skip
            raise click.UsageError(
                "--compare takes channels x features, such as 64x11, with at most "
                f"{MOST_COLUMNS} columns in all."
            )
        sizes[f"{int(channels)} x {int(features)}"] = int(channels) * int(features)
    return sizes


def _for_study(
    settings: Study, question: PlanQuestion, plan: Plan, options: dict[str, Any]
) -> tuple[Plan, dict[str, Any]]:
    """Add what only a study has: caveats about its people, and its ledger."""
    from neuroveil.pipeline.planning import left_in_ledger, study_caveats

    plan = replace(plan, notes=(*study_caveats(settings), *plan.notes))
    if options["patients"] is not None:
        return plan, {"ledger": None}
    left = left_in_ledger(settings, question)
    return plan, {"ledger": None if left is None else {"epsilon": left[0], "delta": left[1]}}


def _draw(plan: Plan, file: Path) -> Path:
    from neuroveil.report.planning import plan_figure

    file.write_text(plan_figure(plan) + "\n", encoding="utf-8")
    return file
