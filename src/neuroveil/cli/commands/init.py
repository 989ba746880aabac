"""``neuroveil init``: write a commented study file."""

from __future__ import annotations

from pathlib import Path

import click

from neuroveil.cli.face import Face, common_options
from neuroveil.errors import StudyError, StudyMistake


@click.command()
@click.argument("study", type=click.Path(path_type=Path), default="study.toml")
@click.option("--layout", type=click.Choice(["bids", "manifest", "pattern"]), default="bids",
              show_default=True, help="How recordings and patients are laid out.")  # fmt: skip
@click.option("--folder", default=".", show_default=True, help="Where the recordings are.")
@click.option("--dry-run", is_flag=True, help="Show the file instead of writing it.")
@common_options
def command(face: Face, study: Path, layout: str, folder: str, dry_run: bool) -> int:
    """Write a commented study file to STUDY (default: study.toml)."""
    from neuroveil.study import study_template

    text = study_template(layout, folder)
    if dry_run:
        face.result({"study": text, "written": False}, text.rstrip())
        return 0
    if study.is_dir():
        study = study / "study.toml"
    try:
        with study.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        raise StudyError([StudyMistake(
            "study file", "a file that does not exist yet", "an existing one",
            "Name another file, or edit the one that is there.",
        )]) from None  # fmt: skip
    except OSError as error:
        raise StudyError([StudyMistake(
            "study file", "a place that can be written to", type(error).__name__,
            "Name a file in a folder that exists and is yours.",
        )]) from None  # fmt: skip
    face.result(
        {"study": study.name, "written": True},
        f"Wrote {study.name}. Set the budget in it, then run: neuroveil check {study}",
    )
    return 0
