"""``neuroveil verify``: re-derive a certificate or a claim."""

from __future__ import annotations

from pathlib import Path

import click

from neuroveil.cli.face import Face, common_options

_MARKS = {"holds": "holds  ", "broken": "BROKEN ", "unchecked": "unclear"}


@click.command()
@click.argument("target", type=click.Path(path_type=Path))
@common_options
def command(face: Face, target: Path) -> int:
    """Re-derive every number of TARGET, and check a release's files.

    TARGET is a release folder, a certificate.json, or a claim.toml that describes somebody
    else's pipeline. Ends with 0 (holds), 4 (does not hold, with the broken link) or
    5 (cannot be checked from what is stated).
    """
    from neuroveil.privacy.verify import verify

    result = verify(target)
    lines = [
        f"{_MARKS[check.outcome]} {check.link}: {check.sentence}"
        for check in result.checks
        if check.outcome != "holds" or face.verbose
    ]
    n_held = sum(check.outcome == "holds" for check in result.checks)
    lines.append(f"{n_held} of {len(result.checks)} checks hold.")
    lines += [f"Note: {note}" for note in result.notes] if face.verbose else []
    lines.append(result.sentence)
    face.result(result.as_dict(), "\n".join(lines))
    return int(result.exit_code)
