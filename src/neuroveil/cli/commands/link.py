"""``neuroveil link``: the same patient in two hospitals."""

from __future__ import annotations

import click

from neuroveil.cli.commands import (
    link_attack,
    link_encode,
    link_keys,
    link_match,
    link_services,
)


@click.group()
def command() -> None:
    """Find the same patient in two hospitals without giving anyone away.

    Every hospital encodes its own patient list with the project's key. The linkage unit compares
    encodings and never sees a name, a number or the key. Start with: neuroveil link init

    Passphrases are taken from the variable NEUROVEIL_KEY_PASSPHRASE, from the first line of the
    file that NEUROVEIL_KEY_PASSPHRASE_FILE names, or asked for.
    """


for each in (
    link_encode.init,
    link_keys.keygen,
    link_keys.show,
    link_keys.hospital_key,
    link_keys.wrap,
    link_keys.unwrap,
    link_keys.rotate,
    link_keys.retire,
    link_services.deposit,
    link_services.fetch,
    link_encode.encode,
    link_match.match,
    link_match.resolve,
    link_match.learn,
    link_attack.attack,
):
    command.add_command(each)
