"""``neuroveil federate hospital``: a hospital's node, and what it allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neuroveil.cli.face import Face, common_options

_PATH = click.Path(path_type=Path)
_FOLDER = click.argument("folder", type=_PATH, default="neuroveil-hospital")
_SETTINGS = ("local_features", "dp_sgd", "distributed", "none")


@click.group()
def hospital() -> None:
    """Set up and run a hospital's node; the hospital decides what may run on it."""


@hospital.command()
@_FOLDER
@click.option("--seat", type=_PATH, required=True,
              help="Private folder that the hospital answers from.")  # fmt: skip
@click.option("--coordinator", required=True, help="Where the coordinator is, as host:port.")
@click.option("--ca", "authority", type=_PATH, required=True,
              help="The coordinator's file ca.pem.")  # fmt: skip
@click.option("--privacy", multiple=True, type=click.Choice(_SETTINGS),
              default=("dp_sgd", "distributed"), show_default=True,
              help="Privacy setting that the hospital accepts.")  # fmt: skip
@click.option("--maximum-epsilon", type=float, default=1.0, show_default=True,
              help="Largest epsilon of a plan.")  # fmt: skip
@click.option("--maximum-delta", type=float, default=1e-5, show_default=True,
              help="Largest delta of a plan.")  # fmt: skip
@click.option("--minimum-patients", type=click.IntRange(1), default=20, show_default=True,
              help="With fewer patients here the hospital takes no part.")  # fmt: skip
@click.option("--minimum-hospitals", type=click.IntRange(1), default=3, show_default=True,
              help="A plan must not go on with fewer hospitals.")  # fmt: skip
@click.option("--simulation", is_flag=True, help="Accept simulations, which protect nobody.")
@common_options
def init(face: Face, folder: Path, seat: Path, **chosen: Any) -> int:
    """Make a hospital's node in FOLDER: its key, its settings, its policy.

    Give the file node.pub to the coordinator. What the hospital allows stands in policy.toml;
    the app that is allowed is the one of this installation of neuroveil.
    """
    from neuroveil.deploy.federated.operate.bundle import app_digest
    from neuroveil.deploy.federated.operate.hospital import HospitalFolder, create_hospital
    from neuroveil.deploy.federated.operate.node_key import node_fingerprint

    settings = {"coordinator": chosen.pop("coordinator"), "seat": str(seat)}
    authority = chosen.pop("authority")
    policy = {**chosen, "privacy": list(chosen["privacy"]), "allowed_apps": [app_digest()]}
    key = create_hospital(folder, authority, settings, policy)
    document = {
        "folder": folder.name, "public_key": HospitalFolder(folder).public_key.name,
        "fingerprint": node_fingerprint(key), "allowed_app": app_digest(),
    }  # fmt: skip
    face.result(
        document,
        f"Made {folder.name}. Give its {document['public_key']} to the coordinator.\n"
        f"fingerprint  {document['fingerprint']}\n"
        f"Read policy.toml: it says what may run here.",
    )
    return 0


@hospital.command()
@_FOLDER
@common_options
def start(face: Face, folder: Path) -> int:
    """Run the node in FOLDER until it is told to stop (Ctrl-C, SIGTERM)."""
    from neuroveil.deploy.federated.operate.service import start_hospital

    start_hospital(folder, face.say)
    face.result({"stopped": True}, "Stopped.")
    return 0


@hospital.command()
@_FOLDER
@common_options
def decisions(face: Face, folder: Path) -> int:
    """List which runs this hospital accepted or refused, and why."""
    from dataclasses import asdict

    from neuroveil.deploy.federated.operate.decisions import read_decisions

    found = read_decisions(folder)
    lines = [
        f"{each.time}  run {each.run_id}  {'accepted' if each.accepted else 'refused'}"
        f"{': ' if each.reasons else ''}{'; '.join(each.reasons)}"
        for each in found
    ]
    face.result({"decisions": [asdict(each) for each in found]}, "\n".join(lines) or "None yet.")
    return 0


@hospital.command("app")
@common_options
def app_(face: Face) -> int:
    """Print the digest of this installation's app, for policy.toml."""
    from neuroveil.deploy.federated.operate.bundle import app_digest

    face.result({"digest": app_digest()}, app_digest())
    return 0
