"""``neuroveil release``: spend budget and write a protected table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.arguments import ledger_option, load, study_arguments, workers_option
from neuroveil.cli.face import Face, common_options
from neuroveil.cli.figures import overall_figures, words_for

if TYPE_CHECKING:
    from neuroveil.pipeline.release import Preview, Released
    from neuroveil.study import Study

PARTLY_DONE = 5


@click.command()
@study_arguments
@workers_option
@click.option("--epsilon", type=float, help="Overrides the study's epsilon; recorded.")
@click.option("--mechanism", help="Overrides the study's mechanism; recorded.")
@click.option("--budget-epsilon", type=float, help="Budget, where the study states none.")
@click.option("--budget-delta", type=float, help="Delta of the budget.  [default: 1e-5]")
@ledger_option
@click.option("--out", type=click.Path(path_type=Path), help="Release folder.")
@click.option("--draws", type=click.IntRange(min=20), default=20, show_default=True,
              help="Noise draws for the internal report.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be spent; reads no signal.")
@click.option("--rehearse", is_flag=True, help="Show everything with made-up rows; spends nothing.")
@common_options
def command(face: Face, study: Path, out_dir: Path | None, **options: Any) -> int:
    """Spend budget and write a protected table with its certificate.

    STUDY is a study file or its folder. BIDS_DIR OUT_DIR group works too, with --ledger.
    """
    from neuroveil.pipeline.budget import require_site_ledger

    settings = load(study, out_dir, _overrides(options))
    if options["rehearse"]:
        return _rehearse(face, settings, options)
    if out_dir is not None:
        require_site_ledger(settings)
    if options["dry_run"]:
        return _dry_run(face, settings)
    return _release(face, settings, options)


def _overrides(options: dict[str, Any]) -> dict[str, Any]:
    budget = None
    if options["budget_epsilon"] is not None:
        delta = 1e-5 if options["budget_delta"] is None else options["budget_delta"]
        budget = {"epsilon": options["budget_epsilon"], "delta": delta}
    return {
        "privacy.epsilon": options["epsilon"],
        "privacy.mechanism": options["mechanism"],
        "privacy.budget": budget,
        "privacy.ledger": options["ledger"],
    }


def _dry_run(face: Face, settings: Study) -> int:
    from neuroveil.pipeline.budget import budget_standing, check_room
    from neuroveil.pipeline.release import preview_release

    preview = preview_release(settings)
    check_room(settings, preview.request)
    standing = budget_standing(settings, preview.request)
    document = _preview_document(preview)
    left = "no ledger yet"
    if standing is not None:
        epsilon, delta = map(float, standing.left_before)
        document["remaining"] = {"epsilon": epsilon, "delta": delta}
        left = f"epsilon = {epsilon:g} left"
    face.result(
        document,
        f"{preview.request.n_patients} patients x {preview.request.dimension} columns by "
        f"{preview.request.mechanism}: would spend epsilon = {document['epsilon']:g}, "
        f"delta = {document['delta']:g} ({left}). Nothing was read or spent.\n"
        f"{document['choice']}",
    )
    return 0


def _preview_document(preview: Preview) -> dict[str, Any]:
    request = preview.request
    return {
        "n_patients": request.n_patients,
        "dimension": request.dimension,
        "mechanism": request.mechanism,
        "choice": preview.settings.choice,
        "trust_model": preview.settings.trust_model,
        "epsilon": float(request.epsilon),
        "delta": float(request.delta),
        "spent": False,
    }


def _rehearse(face: Face, settings: Study, options: dict[str, Any]) -> int:
    from neuroveil.pipeline.rehearsal import rehearse_release

    with face.progress() as progress:
        rehearsal = rehearse_release(settings, options["draws"], progress)
    words = f"{words_for(rehearsal.utility)}\n{rehearsal.choice}"
    document = {
        "verdict": rehearsal.certificate.verdict,
        "utility": overall_figures(rehearsal.utility),
        "choice": rehearsal.choice,
        "report": str(rehearsal.report),
        "spent": False,
    }
    face.result(
        document,
        "Rehearsal with made-up rows: nothing was read, spent or released.\n"
        f"{rehearsal.certificate.verdict}\n{words}\n"
        f"Report: {rehearsal.report}",
    )
    return 0


def _release(face: Face, settings: Study, options: dict[str, Any]) -> int:
    from neuroveil.pipeline.release import release_study
    from neuroveil.pipeline.reports import write_internal_report

    with face.progress() as progress:
        released = release_study(settings, options["out"], options["workers"], progress)
        report, utility = write_internal_report(settings, released, options["draws"], progress)
    failures = released.extraction.failures
    code = PARTLY_DONE if failures else 0
    document = _released_document(released)
    document |= {
        "internal_report": str(report),
        "internal_utility": overall_figures(utility),
        "exit_code": code,
    }
    lines = [
        released.certificate.verdict,
        words_for(utility),
        released.settings.choice,
        f"Release, to share:   {released.folder}",
        f"Report, to keep:     {report}",
        f"Check it any time:   neuroveil verify {released.folder}",
    ]
    if failures:
        lines.append(
            f"{len(failures)} recordings could not be used; see problems.csv beside the report."
        )
    face.result(document, "\n".join(lines))
    return code


def _released_document(released: Released) -> dict[str, Any]:
    certificate = released.certificate
    return {
        "verdict": certificate.verdict,
        "formal_guarantee": certificate.formal_guarantee,
        "blocking_reasons": list(certificate.blocking_reasons),
        "epsilon": certificate.value("guarantee.epsilon"),
        "delta": certificate.value("guarantee.delta"),
        "n": certificate.value("domain.n"),
        "dimension": certificate.value("domain.dimension"),
        "remaining": certificate.value("composition.remaining"),
        "release": str(released.folder),
        "files": dict(certificate.release),
        "spent": True,
        "summary": released.extraction.summary(),
    }
