"""``neuroveil federate verify``: derive again what a training says of itself."""

from __future__ import annotations

from pathlib import Path

import click

from neuroveil.cli.arguments import ExistingPath
from neuroveil.cli.commands.verify import verification_text
from neuroveil.cli.face import Face, common_options


@click.command("verify")
@click.argument("folder", type=ExistingPath())
@common_options
def verify_(face: Face, folder: Path) -> int:
    """Re-derive every number in FOLDER, that of one finished training.

    It lies under runs in the coordinator's folder, and holds result.json and the model; of a
    simulation, it is the folder named coordinator. Nobody is asked, and nothing in it is run.
    Ends with 0 (holds) or 4 (does not hold, with the broken links).
    """
    from neuroveil.deploy.federated.verify import verify_training

    result = verify_training(folder)
    face.result(result.as_dict(), verification_text(result, face.verbose))
    return int(result.exit_code)
