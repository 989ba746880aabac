"""``neuroveil extract``: recordings to the private feature table."""

from __future__ import annotations

import time
from pathlib import Path

import click

from neuroveil.cli.arguments import Place, load, place_options, study_arguments
from neuroveil.cli.face import Face, common_options

PARTLY_DONE = 5


@click.command()
@study_arguments
@place_options
@click.option("--dry-run", is_flag=True, help="Count what is there and what is missing.")
@common_options
def command(
    face: Face, study: Path, out_dir: Path | None, level: str | None, place: Place,
    dry_run: bool,
) -> int:  # fmt: skip
    """Take the features of every patient; the table stays in the internal folder.

    Recordings that an earlier run finished are not done again. Files that cannot be used
    are listed in internal/problems.csv, and the command ends with code 5.
    """
    from neuroveil.pipeline.extract import extract_study, pending
    from neuroveil.pipeline.internal_files import write_extraction

    settings = load(study, out_dir, {})
    with face.progress() as progress:
        if dry_run:
            document = pending(settings, progress)
            face.result(document, "\n".join(f"{key}: {value}" for key, value in document.items()))
            return 0
        start = time.monotonic()
        extraction = extract_study(settings, place.workers, progress, place.scheduler)
        seconds = time.monotonic() - start
    written = write_extraction(settings, extraction, seconds)
    summary = extraction.summary()
    lines = [
        f"{summary['patients']} patients x {summary['columns']} features "
        f"from {summary['recordings']} recordings "
        f"({summary['recordings_computed']} done now, {summary['recordings_reused']} before).",
        f"Private table: {written['table']}",
    ]
    if extraction.failures:
        lines.append(
            f"{len(extraction.failures)} recordings could not be used: {written['problems']}"
        )
    for _, error in extraction.failures[: None if face.verbose else 5]:
        face.say(str(error))
    code = PARTLY_DONE if extraction.failures else 0
    result: dict[str, object] = {
        "summary": summary,
        "written": written,
        "seconds": round(seconds, 3),
        "failures": [error.as_dict() for _, error in extraction.failures],
        "exit_code": code,
    }
    face.result(result, "\n".join(lines))
    return code
