"""``neuroveil link deposit`` and ``fetch``: linkage keys and key servers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from neuroveil.cli.commands.link_keys import FILE, KEYSTORE, open_keystore
from neuroveil.cli.face import Face, common_options


@click.command()
@KEYSTORE
@click.argument("settings", type=FILE)
@click.option("--dry-run", is_flag=True,
              help="Show key names and the policy that a hospital's role needs.")  # fmt: skip
@common_options
def deposit(face: Face, keystore: Path, settings: Path, dry_run: bool) -> int:
    """Put the current key of KEYSTORE into the server or hardware module that SETTINGS name.

    It cannot be read out there. Afterwards the keystore should be kept offline. An OpenBao or
    Vault server needs an administrator's token in NEUROVEIL_OPENBAO_TOKEN, a hardware module its
    user PIN in NEUROVEIL_PKCS11_PIN.
    """
    from neuroveil.linkage.services import deposit as deposit_key
    from neuroveil.linkage.services import described

    words = described(settings)
    if not dry_run:
        deposit_key(settings, open_keystore(keystore).current)
    document = {**words, "written": not dry_run}
    done = "Would deposit" if dry_run else "Deposited"
    text = [f"{done}: {', '.join(words['keys'])}"]
    text += [f"Policy of the hospital's role:\n{words['policy']}"] if words["policy"] else []
    face.result(document, "\n".join(text))
    return 0


@click.command()
@click.argument("settings", type=FILE)
@click.argument("path")
@click.option("--out", type=FILE, required=True, help="A new file for the wrapped key.")
@common_options
def fetch(face: Face, settings: Path, path: str, out: Path) -> int:
    """Fetch this hospital's wrapped key from a central server, from PATH below /v1/.

    The server hands out what it cannot open. Go on with: neuroveil link unwrap
    """
    from neuroveil.linkage.private_files import write_private
    from neuroveil.linkage.services import fetched

    document = fetched(settings, path)
    write_private(out, (json.dumps(document, indent=2) + "\n").encode(), "wrapped linkage key")
    face.result({"wrapped": out.name}, f"Wrote {out.name}.")
    return 0
