"""``neuroveil reference``: public scaling constants."""

from __future__ import annotations

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
