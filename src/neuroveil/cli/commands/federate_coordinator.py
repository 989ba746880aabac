"""``neuroveil federate coordinator``: the side that hands out rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from neuroveil.cli.face import Face, common_options

_PATH = click.Path(path_type=Path)
_FOLDER = click.argument("folder", type=_PATH, default="neuroveil-coordinator")
_DEFAULT_PORT = 8444


@click.group()
def coordinator() -> None:
    """Set up and run the coordinator, and say which hospitals may take part."""


@coordinator.command()
@_FOLDER
@click.option("--host", "hosts", multiple=True, default=("127.0.0.1", "localhost"),
              show_default=True, help="Name or address for the certificate.")  # fmt: skip
@click.option("--listen", default="127.0.0.1", show_default=True,
              help="Address to listen on; another than this opens the coordinator.")  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65535), default=_DEFAULT_PORT, show_default=True)
@common_options
def init(face: Face, folder: Path, hosts: tuple[str, ...], listen: str, port: int) -> int:
    """Make a coordinator in FOLDER: private authority, server certificate, operator's token.

    Give the file ca.pem to the hospitals. The operator's token stays on this machine: whoever
    has it may start runs.
    """
    from neuroveil.deploy.federated.operate.coordinator import create_coordinator

    settings: dict[str, Any] = {"host": listen, "port": port}
    if listen not in ("127.0.0.1", "::1", "localhost"):
        settings["beyond_this_machine"] = True
    place = create_coordinator(folder, tuple(hosts), settings)
    document = {"folder": folder.name, "authority": place.tls.authority.name, "port": port}
    face.result(
        document,
        f"Made {folder.name}. Hospitals need its {place.tls.authority.name}.\n"
        "Next: neuroveil federate coordinator add, for every hospital.",
    )
    return 0


@coordinator.command()
@_FOLDER
@common_options
def start(face: Face, folder: Path) -> int:
    """Run the coordinator in FOLDER until it is told to stop (Ctrl-C, SIGTERM)."""
    from neuroveil.deploy.federated.operate.service import start_coordinator

    start_coordinator(folder, face.say)
    face.result({"stopped": True}, "Stopped.")
    return 0


@coordinator.command()
@_FOLDER
@click.option("--name", required=True, help="The hospital's name, as in the study.")
@click.option("--public-key", "key_file", type=_PATH, required=True,
              help="Its file node.pub.")  # fmt: skip
@common_options
def add(face: Face, folder: Path, name: str, key_file: Path) -> int:
    """Register a hospital's node. Compare fingerprints by telephone first."""
    from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder
    from neuroveil.deploy.federated.operate.files import read_file
    from neuroveil.deploy.federated.operate.node_key import node_fingerprint

    text = read_file(key_file, "a hospital's public key").decode("ascii", "replace")
    key = CoordinatorFolder(folder).add_hospital(name, text)
    document = {"name": name, "fingerprint": node_fingerprint(key)}
    face.result(document, f"Registered {name}.\nfingerprint  {document['fingerprint']}")
    return 0


@coordinator.command()
@_FOLDER
@click.option("--name", required=True, help="As registered.")
@common_options
def remove(face: Face, folder: Path, name: str) -> int:
    """Refuse a hospital's node from now on."""
    from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder

    CoordinatorFolder(folder).remove_hospital(name)
    face.result({"removed": name}, f"Removed {name}.")
    return 0


@coordinator.command()
@_FOLDER
@common_options
def hospitals(face: Face, folder: Path) -> int:
    """List the hospitals that may take part."""
    from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder
    from neuroveil.deploy.federated.operate.node_key import node_fingerprint

    known = CoordinatorFolder(folder).hospitals()
    found = {name: node_fingerprint(key) for name, key in known.items()}
    lines = [f"{name}  {fingerprint}" for name, fingerprint in found.items()]
    face.result({"hospitals": found}, "\n".join(lines) or "None yet.")
    return 0
