"""``neuroveil keys``: the site's signing key."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.keys import SiteKey

_DEFAULT = "signing.key"
_KEY = click.argument("key", type=click.Path(path_type=Path), default=_DEFAULT)


@click.group()
def command() -> None:
    """Make and show the key that signs a site's certificates.

    Releases are signed where the study names the key under [output] signing_key. Give the
    public key to whoever reads your certificates; nothing here ever prints the private one.

    A passphrase is taken from the variable NEUROVEIL_KEY_PASSPHRASE, from the first line of the
    file that NEUROVEIL_KEY_PASSPHRASE_FILE names, or asked for.
    """


@command.command()
@_KEY
@click.option("--no-passphrase", is_flag=True, help="Do not ask for one.")
@click.option("--dry-run", is_flag=True, help="Say what would be made; write nothing.")
@common_options
def create(face: Face, key: Path, no_passphrase: bool, dry_run: bool) -> int:
    """Make a new key and write it to KEY, which must not exist yet.

    Only the owner of the file can read it. With a passphrase it is encrypted, too.
    """
    from neuroveil.keys import create_key, find_passphrase

    if dry_run:
        document = {"key": key.name, "written": False}
        face.result(document, f"Would make a new key in {key.name}.")
        return 0
    passphrase = None if no_passphrase else find_passphrase(_ask_for_new)
    made = create_key(key, passphrase)
    lock = "encrypted by its passphrase" if passphrase else "readable by its owner only"
    document = {"key": key.name, "written": True, "encrypted": passphrase is not None}
    face.result(
        document | _public(made),
        f"Made {key.name}, {lock}. Keep a copy of it where it is safe.\n{_words(made)}",
    )
    return 0


@command.command()
@_KEY
@common_options
def show(face: Face, key: Path) -> int:
    """Show the public half of KEY and its fingerprint, after opening it."""
    from neuroveil.keys import is_encrypted

    opened, encrypted = _open(key), is_encrypted(key)
    document = {"key": key.name, "encrypted": encrypted}
    state = "encrypted" if encrypted else "not encrypted"
    face.result(document | _public(opened), f"{key.name}, {state}\n{_words(opened)}")
    return 0


@command.command()
@_KEY
@common_options
def public(face: Face, key: Path) -> int:
    """Print the public key, 64 digits, for `neuroveil verify --public-key`."""
    opened = _open(key)
    face.result({"key": key.name} | _public(opened), opened.public_key)
    return 0


def _open(path: Path) -> SiteKey:
    from neuroveil.keys import find_passphrase, is_encrypted, load_key

    return load_key(path, find_passphrase(_ask) if is_encrypted(path) else None)


def _ask() -> str | None:
    if not sys.stdin.isatty():
        return None
    return str(click.prompt("Passphrase of the key", hide_input=True, err=True)) or None


def _ask_for_new() -> str | None:
    if not sys.stdin.isatty():
        return None
    words = "Passphrase for the new key (empty for none)"
    given = click.prompt(
        words, hide_input=True, confirmation_prompt=True, default="", show_default=False, err=True
    )
    return str(given) or None


def _public(key: SiteKey) -> dict[str, object]:
    return {"public_key": key.public_key, "fingerprint": key.fingerprint}


def _words(key: SiteKey) -> str:
    return f"public key   {key.public_key}\nfingerprint  {key.fingerprint}"
