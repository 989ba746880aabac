"""``neuroveil serve person``: who may decide what in studies on a trusted server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.deploy.server.database import Database
    from neuroveil.deploy.server.people import Role

_PATH = click.Path(path_type=Path)
_FOLDER = click.argument("folder", type=_PATH, default="neuroveil-server")
_ROLES = ("site-administrator", "principal-investigator", "reviewer", "auditor")


@click.group()
def person() -> None:
    """Say which people may decide what on a trusted server."""


@person.command()
@_FOLDER
@click.option("--name", required=True, help="What the status of studies calls them.")
@click.option("--role", type=click.Choice(_ROLES), required=True,
              help="What they may do; one key has one role.")  # fmt: skip
@click.option("--hospital", help="Whom a site administrator decides for: name of a hospital.")
@click.option("--public-key", "key_file", type=_PATH, required=True,
              help="File with their public key, from `neuroveil keys public`.")  # fmt: skip
@common_options
def add(
    face: Face, folder: Path, name: str, role: str, hospital: str | None, key_file: Path
) -> int:
    """Register a person by their public key. Compare fingerprints by telephone first.

    A site administrator approves studies for one hospital. A principal investigator proposes
    studies and asks for releases. A reviewer approves releases. An auditor reads the audit log.
    """
    from neuroveil.deploy.server.people import add_person
    from neuroveil.privacy.verify import fingerprint, read_public_key

    public_key = read_public_key(key_file)
    chosen = cast("Role", role.replace("-", "_"))
    made = add_person(_database(folder), name, chosen, public_key, hospital)
    document = {"name": made.name, "role": role, "key_id": made.key_id, "public_key": public_key}
    face.result(
        document, f"Registered {made.name}, {role}.\nfingerprint  {fingerprint(public_key)}"
    )
    return 0


@person.command("list")
@_FOLDER
@common_options
def list_(face: Face, folder: Path) -> int:
    """List the people who were ever registered."""
    from neuroveil.deploy.server.people import list_people

    found = list_people(_database(folder))
    lines = [
        f"{each.key_id}  {each.role.replace('_', '-')}  {each.name}"
        f"{'' if each.is_active else ' (removed)'}"
        for each in found
    ]
    face.result({"people": [vars(each) for each in found]}, "\n".join(lines) or "None yet.")
    return 0


@person.command()
@_FOLDER
@click.option("--person", "identity", required=True, help="Their name or key id.")
@common_options
def remove(face: Face, folder: Path, identity: str) -> int:
    """Refuse a person's requests from now on; what they decided stays."""
    from neuroveil.deploy.server.people import remove_person

    remove_person(_database(folder), identity)
    face.result({"removed": True}, "Removed. Their key cannot be registered again.")
    return 0


def _database(folder: Path) -> Database:
    from neuroveil.deploy.server.database import Database
    from neuroveil.deploy.server.settings import load_settings

    return Database(load_settings(folder).database_location)
