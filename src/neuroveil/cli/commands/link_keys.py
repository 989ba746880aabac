"""``neuroveil link keygen`` and the rest of the key ceremony."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.linkage.keystore import Keystore
    from neuroveil.linkage.wrapping import HospitalKey

FILE = click.Path(path_type=Path)
KEYSTORE = click.argument("keystore", type=FILE, default="linkage.keystore")


@click.command()
@KEYSTORE
@common_options
def keygen(face: Face, keystore: Path) -> int:
    """Make a project's linkage key and write it to a new encrypted KEYSTORE.

    One person of the project runs this once. Announce the key id that it prints on another way
    than the key travels. Whoever holds the key can read all GlobalIDs back: it goes to hospitals
    only, never to the linkage unit.
    """
    from neuroveil.linkage.keystore import create_keystore

    made = create_keystore(keystore, new_passphrase())
    _tell_states(face, keystore, made, f"Made {keystore.name}. Keep a copy where it is safe.")
    return 0


@click.command()
@KEYSTORE
@common_options
def show(face: Face, keystore: Path) -> int:
    """Show the key ids in KEYSTORE and which of them is current."""
    _tell_states(face, keystore, open_keystore(keystore), keystore.name)
    return 0


@click.command("hospital-key")
@click.argument("key", type=FILE, default="hospital.key")
@common_options
def hospital_key(face: Face, key: Path) -> int:
    """Make this hospital's own key for receiving linkage keys, in a new encrypted file KEY.

    Send the public key to the project, and compare its fingerprint with them by telephone.
    """
    from neuroveil.linkage.wrapping import create_hospital_key, fingerprint

    made = create_hospital_key(key, new_passphrase())
    document = {
        "key": key.name, "public_key": made.public_key,
        "fingerprint": fingerprint(made.public_key),
    }  # fmt: skip
    face.result(
        document,
        f"Made {key.name}.\npublic key   {made.public_key}\nfingerprint  {document['fingerprint']}",
    )
    return 0


@click.command()
@KEYSTORE
@click.option("--for", "public_key", required=True, metavar="PUBLIC_KEY",
              help="The hospital's public key, 64 hexadecimal digits.")  # fmt: skip
@click.option("--out", type=FILE, required=True, help="A new file for the wrapped key.")
@common_options
def wrap(face: Face, keystore: Path, public_key: str, out: Path) -> int:
    """Seal the current key of KEYSTORE for one hospital; the result may travel in the open."""
    from neuroveil.linkage.private_files import write_private
    from neuroveil.linkage.wrapping import wrap as wrap_key

    document = wrap_key(open_keystore(keystore).current, public_key)
    write_private(out, (json.dumps(document, indent=2) + "\n").encode(), "wrapped linkage key")
    face.result(
        {name: document[name] for name in ("key_id", "recipient")} | {"wrapped": out.name},
        f"Wrapped for {document['recipient']}.\nkey id       {document['key_id']}",
    )
    return 0


@click.command()
@click.argument("wrapped", type=FILE)
@KEYSTORE
@click.option("--hospital-key", "own", type=FILE, default="hospital.key", show_default=True,
              help="This hospital's own key.")  # fmt: skip
@click.option("--key-id", required=True,
              help="As the project announced it, not as the file says.")  # fmt: skip
@common_options
def unwrap(face: Face, wrapped: Path, keystore: Path, own: Path, key_id: str) -> int:
    """Open a WRAPPED key that was sealed for this hospital, and keep it in KEYSTORE.

    A new KEYSTORE is written; into an existing one the key goes as the current one, and the
    one before stays as the previous one until it is retired. Both files share the passphrase.
    """
    from neuroveil.keys import find_passphrase
    from neuroveil.linkage.keystore import (
        create_keystore,
        load_keystore,
        require_passphrase,
        update_keystore,
    )
    from neuroveil.linkage.wrapping import load_hospital_key, read_wrapped
    from neuroveil.linkage.wrapping import unwrap as unwrap_key

    passphrase = require_passphrase(find_passphrase(ask))
    hospital: HospitalKey = load_hospital_key(own, passphrase)
    key = unwrap_key(read_wrapped(wrapped), hospital, key_id)
    if keystore.exists():
        store = load_keystore(keystore, passphrase).rotated(key)
        update_keystore(keystore, store, passphrase)
    else:
        store = create_keystore(keystore, passphrase, key)
    _tell_states(face, keystore, store, f"The key is in {keystore.name}.")
    return 0


@click.command()
@KEYSTORE
@common_options
def rotate(face: Face, keystore: Path) -> int:
    """Make a new current key in KEYSTORE and keep the one before as the previous one.

    Wrap the new key for every hospital but those that are revoked. While both keys are there,
    `neuroveil link encode --with-previous` says which old GlobalID is which new one.
    """
    from neuroveil.linkage.key_service import LinkageKey

    store = _changed(keystore, lambda before: before.rotated(LinkageKey.generate()))
    _tell_states(face, keystore, store, "Rotated.")
    return 0


@click.command()
@KEYSTORE
@common_options
def retire(face: Face, keystore: Path) -> int:
    """Erase the previous key from KEYSTORE; its key id stays, and is refused from now on."""
    store = _changed(keystore, lambda before: before.without_previous())
    _tell_states(face, keystore, store, "Retired.")
    return 0


def open_keystore(path: Path) -> Keystore:
    """Open a keystore with the passphrase of the environment, or ask for it.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Keystore
        Its keys.
    """
    from neuroveil.keys import find_passphrase
    from neuroveil.linkage.keystore import load_keystore

    return load_keystore(path, find_passphrase(ask))


def ask() -> str | None:
    """Ask a person for a passphrase.

    Returns
    -------
    str or None
        None where nobody is there to ask.
    """
    if not sys.stdin.isatty():
        return None
    return str(click.prompt("Passphrase", hide_input=True, err=True)) or None


def new_passphrase() -> str:
    """Find or ask for the passphrase of a new file.

    Returns
    -------
    str
        The passphrase.
    """
    from neuroveil.keys import find_passphrase
    from neuroveil.linkage.keystore import require_passphrase

    return require_passphrase(find_passphrase(_ask_twice))


def _ask_twice() -> str | None:
    if not sys.stdin.isatty():
        return None
    words = "Passphrase for the new file"
    return str(click.prompt(words, hide_input=True, confirmation_prompt=True, err=True)) or None


def _changed(path: Path, change: Callable[[Keystore], Keystore]) -> Keystore:
    from neuroveil.keys import find_passphrase
    from neuroveil.linkage.keystore import load_keystore, require_passphrase, update_keystore

    passphrase = require_passphrase(find_passphrase(ask))
    store = change(load_keystore(path, passphrase))
    update_keystore(path, store, passphrase)
    return store


def _tell_states(face: Face, path: Path, store: Keystore, words: str) -> None:
    keys = [{"key_id": key_id, "state": state} for key_id, state in store.states.items()]
    lines = [f"{key['state']:<9} {key['key_id']}" for key in keys]
    face.result({"keystore": path.name, "keys": keys}, "\n".join([words, *lines]))
