"""``neuroveil reference``: public scaling constants."""

from __future__ import annotations

from pathlib import Path

import click

from neuroveil.cli.face import Face, common_options


@click.group()
def command() -> None:
    """List the public scaling constants, or build your own from public EEG."""


@command.command(name="list")
@common_options
def list_(face: Face) -> int:
    """List the built-in references."""
    from neuroveil.reference import list_references, load_reference

    references = [load_reference(name) for name in list_references()]
    rows = [
        {"name": reference.title, "preset": reference.preset, "digest": reference.digest,
         "channels": len(reference.channels), "people": reference.provenance.n_people}
        for reference in references
    ]  # fmt: skip
    lines = [
        f"{row['name']}: {row['channels']} channels, {row['people']} people, {row['digest']}"
        for row in rows
    ]
    face.result({"references": rows}, "\n".join(lines))
    return 0


@command.command()
@click.argument("study", type=click.Path(path_type=Path), default="study.toml")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option("--dry-run", is_flag=True, help="Check the study; read no signal, write nothing.")
@common_options
def build(face: Face, study: Path, out: Path, dry_run: bool) -> int:
    """Build scaling constants from PUBLIC recordings.

    STUDY names the public recordings, and says in [provenance] where they come from. Never
    build a reference from the patients that are to be protected: the file is public.
    """
    from neuroveil.pipeline.own_reference import describe_reference, reference_of_study
    from neuroveil.reference import save_reference
    from neuroveil.study import load_study

    settings = load_study(study)
    description = describe_reference(settings)
    if dry_run:
        face.result(
            {"name": description.name, "written": False}, f"Would build {description.name}."
        )
        return 0
    with face.progress() as progress:
        reference = reference_of_study(settings, progress)
    save_reference(reference, out)
    face.result(
        {"name": reference.title, "digest": reference.digest, "written": True},
        f"Wrote {reference.title}, {reference.digest}. Name the file in [reference] of a study.",
    )
    return 0
