"""``neuroveil report``: one HTML page about a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neuroveil.cli.arguments import ExistingPath, workers_option
from neuroveil.cli.face import Face, common_options


@click.command()
@click.argument("release", type=ExistingPath())
@click.option("--study", type=click.Path(path_type=Path),
              help="Also measure what is left, for the internal report.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), help="Where the page goes.")
@click.option("--draws", type=click.IntRange(min=20), default=20, show_default=True,
              help="Noise draws for the internal report.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Check that the page can be made; write nothing.")
@workers_option
@common_options
def command(face: Face, release: Path, study: Path | None, **options: Any) -> int:
    """Make the page about RELEASE, a release folder or its certificate.json.

    Without --study: the public page, from the certificate alone. With --study: the
    internal page, which also shows what is left of the data; keep it in the hospital.
    """
    from neuroveil.pipeline.reports import render_internal_report, render_public_report
    from neuroveil.study import load_study

    with face.progress() as progress:
        if study is None:
            page, default = render_public_report(release), Path("report.html")
        else:
            settings = load_study(study)
            page = render_internal_report(
                settings, release, options["draws"], options["workers"], progress
            )
            default = settings.path(settings.output.internal) / "report.html"
    target = options["out"] or default
    written = not options["dry_run"]
    if written:
        from neuroveil.pipeline.internal_files import write_text
        from neuroveil.pipeline.reports import check_place

        check_place(target, internal=study is not None)
        write_text(target, page)
    kind = "public" if study is None else "internal"
    document = {"report": str(target), "kind": kind, "bytes": len(page.encode()),
                "written": written}  # fmt: skip
    face.result(document, f"{'Wrote' if written else 'Would write'} the {kind} report: {target}")
    return 0
