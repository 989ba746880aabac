"""``neuroveil reproduce``: the paper's tables and figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.arguments import workers_option
from neuroveil.cli.face import Face, Progress, common_options

if TYPE_CHECKING:
    from neuroveil.evaluate.reproduction import ReproductionCohort
    from neuroveil.pipeline.reproduction import ReproductionPlan

_DRAWS, _CLASSIFIER_DRAWS = 200, 40
_QUICK_DRAWS, _QUICK_CLASSIFIER_DRAWS = 20, 4


@click.command()
@click.option("--eegmat", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Real EEG: 17 people of the public data set eegmat 1.0.0.")  # fmt: skip
@click.option("--study", type=click.Path(path_type=Path), help="Your own patients.")
@click.option("--label", metavar="COLUMN", help="With --study: column of the roster.")
@click.option("--positive", metavar="VALUE", help="With --study: its value for the positive class.")
@click.option("--mechanisms", type=click.Choice(["paper", "all"]), default="paper",
              show_default=True, help="The paper's two, or all at equal guarantee.")  # fmt: skip
@click.option("--draws", type=click.IntRange(min=20), show_default=f"{_DRAWS}",
              help="Draws of noise for Tables 4 and 5.")  # fmt: skip
@click.option("--classifier-draws", type=click.IntRange(min=2), show_default=f"{_CLASSIFIER_DRAWS}",
              help="Draws of noise and of starting weights for Table 7.")  # fmt: skip
@click.option(
    "--quick",
    is_flag=True,
    help=f"{_QUICK_DRAWS} and {_QUICK_CLASSIFIER_DRAWS} draws: about a minute.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Of all simulated noise, and of made-up patients.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER",
              help="Keep page, figures, numbers and finished work here.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be done; reads no recording.")
@workers_option
@common_options
def command(face: Face, **options: Any) -> int:
    """Print the paper's Tables 1, 3, 4, 5 and 7 beside ours, with a verdict for each number.

    Without --eegmat or --study the patients are made up. With --out an interrupted run goes
    on where it stopped, and figures 7 to 11 are drawn. Nothing is released.
    """
    from neuroveil.pipeline.reproduction import ReproductionPlan, reproduce, write_reproduction
    from neuroveil.report.reproduction import reproduction_text, verdict_counts

    _check_cohort(options)
    n_draws, n_classified = _how_often(options)
    plan = ReproductionPlan(options["mechanisms"], n_draws, n_classified, options["seed"])
    out: Path | None = options["out"]
    if out is not None:
        from neuroveil.pipeline.reports import check_place

        check_place(out / "reproduction.html", internal=_is_real(options))
    if options["dry_run"]:
        return _dry_run(face, plan, options)
    with face.progress() as progress:
        cohort = _cohort(options, progress)
        found = reproduce(cohort, plan, out, options["workers"], progress)
    page = None if out is None else write_reproduction(found, out)
    document = {**found.to_json(), "verdicts": verdict_counts(found),
                "page": None if page is None else str(page)}  # fmt: skip
    text = reproduction_text(found)
    if cohort.facts.is_internal:
        text = "INTERNAL: rests on rows of real people; not for publication.\n\n" + text
    face.result(document, text if page is None else f"{text}\nPage and figures: {page}")
    return 0


def _is_real(options: dict[str, Any]) -> bool:
    return options["eegmat"] is not None or options["study"] is not None


def _check_cohort(options: dict[str, Any]) -> None:
    if options["eegmat"] is not None and options["study"] is not None:
        raise click.UsageError("Give --eegmat or --study, not both.")
    named = options["label"] is not None, options["positive"] is not None
    if options["study"] is not None and not all(named):
        raise click.UsageError("--study needs --label and --positive: whose class is positive?")
    if options["study"] is None and any(named):
        raise click.UsageError("--label and --positive go with --study.")
    if options["eegmat"] is not None and options["out"] is None:
        raise click.UsageError("--eegmat needs --out: features of recordings are kept there.")


def _how_often(options: dict[str, Any]) -> tuple[int, int]:
    quick = options["quick"]
    usual = (_QUICK_DRAWS, _QUICK_CLASSIFIER_DRAWS) if quick else (_DRAWS, _CLASSIFIER_DRAWS)
    return options["draws"] or usual[0], options["classifier_draws"] or usual[1]


def _cohort(options: dict[str, Any], progress: Progress) -> ReproductionCohort:
    from neuroveil.evaluate.reproduction import simulated_cohort
    from neuroveil.pipeline.reproduction_cohort import eegmat_cohort, study_cohort

    if options["eegmat"] is not None:
        return eegmat_cohort(options["eegmat"], options["out"], options["workers"], progress)
    if options["study"] is not None:
        from neuroveil.study import load_study

        return study_cohort(
            load_study(options["study"]), options["label"], options["positive"],
            options["workers"], progress,
        )  # fmt: skip
    return simulated_cohort(options["seed"])


def _dry_run(face: Face, plan: ReproductionPlan, options: dict[str, Any]) -> int:
    kind = "eegmat" if options["eegmat"] else "your study" if options["study"] else "made-up rows"
    document = {
        "cohort": kind, "mechanisms": plan.mechanisms, "draws": plan.n_draws,
        "classifier_draws": plan.n_classifier_draws, "seed": plan.seed, "written": False,
    }  # fmt: skip
    face.result(
        document,
        f"Would compare Tables 1, 3, 4, 5 and 7 on {kind}: {plan.n_draws} draws of noise, "
        f"{plan.n_classifier_draws} of the classifier, mechanisms: {plan.mechanisms}.",
    )
    return 0
