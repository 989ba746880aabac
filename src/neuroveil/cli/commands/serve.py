"""``neuroveil serve``: the server that receives hospitals' releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.commands.serve_person import person
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.deploy.server.database import Database

_PATH = click.Path(path_type=Path)
_FOLDER = click.argument("folder", type=_PATH, default="neuroveil-server")
_DEFAULT_PORT = 8443


@click.group(invoke_without_command=True)
@click.option("--demo", is_flag=True, help="Start a server with everything generated.")
@click.option("--folder", type=_PATH, default="neuroveil-serve-demo", show_default=True,
              help="Where the demonstration's files lie.")  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65535), default=_DEFAULT_PORT, show_default=True,
              help="Port of the demonstration.")  # fmt: skip
@common_options
def command(face: Face, demo: bool, folder: Path, port: int) -> int:
    """Receive hospitals' releases, verify every certificate anew, keep and count them.

    A server lies in a FOLDER with its settings, keys and database. It listens on this machine
    only unless its settings say otherwise. Start with: neuroveil serve --demo
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        return 0
    if not demo:
        face.say(context.get_help())
        return 2
    return _run_demo(face, folder, port)


@command.command()
@_FOLDER
@click.option("--study", "study_file", type=_PATH, required=True,
              help="The study file that hospitals use.")  # fmt: skip
@click.option("--name", required=True, help="What the study is called.")
@click.option("--host", "hosts", multiple=True, default=("127.0.0.1", "localhost"),
              show_default=True, help="Name or address for the certificate.")  # fmt: skip
@click.option("--listen", default="127.0.0.1", show_default=True,
              help="Address to listen on; another than this opens the server.")  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65535), default=_DEFAULT_PORT, show_default=True)
@click.option("--trusted", is_flag=True,
              help="Also protect rows for all hospitals together; needs a budget.")  # fmt: skip
@click.option("--budget-epsilon", type=float, help="What the server may spend on one patient.")
@click.option("--budget-delta", type=float, default=1e-4, show_default=True)
@click.option("--smallest", type=click.IntRange(1), default=20, show_default=True,
              help="Fewest people, after duplicates, to release about.")  # fmt: skip
@common_options
def init(face: Face, folder: Path, study_file: Path, **chosen: Any) -> int:
    """Make a new server in FOLDER: settings, keys, a private authority, a database.

    What releases must have in common (columns, reference, signal settings) is worked out from
    the study file; no recording is looked at. Give ca.pem and the public key that is printed to
    the hospitals.
    """
    from neuroveil.deploy.server.setup import create_server, terms_of
    from neuroveil.deploy.tls import tls_files
    from neuroveil.study import load_study

    listen: dict[str, Any] = {"host": chosen["listen"], "port": chosen["port"]}
    if chosen["listen"] not in ("127.0.0.1", "::1", "localhost"):
        listen["beyond_this_machine"] = True
    terms = terms_of(load_study(study_file), chosen["name"])
    made = create_server(folder, terms, tuple(chosen["hosts"]), listen, _trusted(chosen))
    document = {
        "folder": folder.name, "public_key": made.public_key, "terms": terms,
        "authority": tls_files(folder).authority.name,
    }  # fmt: skip
    face.result(
        document,
        f"Made {folder.name}. Hospitals need its ca.pem, and to check receipts:\n"
        f"public key   {made.public_key}{_about_passphrase(folder)}",
    )
    return 0


def _about_passphrase(folder: Path) -> str:
    if not (folder / "data.passphrase").exists():
        return ""
    return (
        "\nThe passphrase of the key that seals rows lies beside it, in data.passphrase. Move it "
        "elsewhere,\nand name its place in NEUROVEIL_KEY_PASSPHRASE_FILE."
    )


def _trusted(chosen: dict[str, Any]) -> dict[str, Any] | None:
    if chosen["trusted"] != (chosen["budget_epsilon"] is not None):
        raise click.UsageError("--trusted and --budget-epsilon go together.")
    if not chosen["trusted"]:
        return None
    return {
        "epsilon": chosen["budget_epsilon"], "delta": chosen["budget_delta"],
        "smallest_n_patients": chosen["smallest"],
    }  # fmt: skip


@command.command("run")
@_FOLDER
@common_options
def run_(face: Face, folder: Path) -> int:
    """Run the server in FOLDER until it is told to stop; logs go to standard error."""
    from neuroveil.deploy.server.run import run_server
    from neuroveil.deploy.server.settings import load_settings

    listen = load_settings(folder).listen
    face.say(f"Listening on {listen.host}, port {listen.port}.")
    run_server(folder)
    return 0


@command.command()
@_FOLDER
@common_options
def work(face: Face, folder: Path) -> int:
    """Do the jobs of a trusted server; `serve run` starts this by itself."""
    from neuroveil.deploy.server.consortium.background import work as do_jobs

    face.say("Waiting for approved releases.")
    do_jobs(folder)
    return 0


command.add_command(person)


@command.group()
def hospital() -> None:
    """Say which hospitals may submit."""


@hospital.command()
@_FOLDER
@click.option("--name", required=True, help="What the overview calls it.")
@click.option("--public-key", "key_file", type=_PATH, required=True,
              help="File with its public key, from `neuroveil keys public`.")  # fmt: skip
@click.option("--certificate", type=_PATH,
              help="Its TLS certificate; only requests that come with it are taken.")  # fmt: skip
@common_options
def add(face: Face, folder: Path, name: str, key_file: Path, certificate: Path | None) -> int:
    """Register a hospital by its public key. Compare fingerprints by telephone first.

    With a certificate, requests have to be signed and to come over a connection with it; the
    server's settings have to ask for certificates (listen.client_ca).
    """
    from neuroveil.deploy.server.client_certificates import (
        bind_certificate,
        certificate_fingerprint,
    )
    from neuroveil.deploy.server.hospitals import add_hospital
    from neuroveil.privacy.verify import fingerprint, read_public_key

    public_key = read_public_key(key_file)
    shown = certificate_fingerprint(certificate) if certificate else None
    made = add_hospital(_database(folder), name, public_key)
    if shown:
        bind_certificate(_database(folder), made.key_id, shown)
    document = {"name": made.name, "key_id": made.key_id, "public_key": public_key,
                "certificate": shown}  # fmt: skip
    face.result(document, f"Registered {made.name}.\nfingerprint  {fingerprint(public_key)}")
    return 0


@hospital.command("list")
@_FOLDER
@common_options
def list_(face: Face, folder: Path) -> int:
    """List the hospitals that were ever registered."""
    from neuroveil.deploy.server.hospitals import list_hospitals

    found = list_hospitals(_database(folder))
    lines = [
        f"{each.key_id}  {each.name}{'' if each.is_active else ' (removed)'}" for each in found
    ]
    face.result({"hospitals": [vars(each) for each in found]}, "\n".join(lines) or "None yet.")
    return 0


@hospital.command()
@_FOLDER
@click.option("--hospital", "identity", required=True, help="Its name or key id.")
@common_options
def remove(face: Face, folder: Path, identity: str) -> int:
    """Refuse a hospital's requests from now on; what it sent stays."""
    from neuroveil.deploy.server.hospitals import remove_hospital

    remove_hospital(_database(folder), identity)
    face.result({"removed": True}, "Removed. Its key cannot be registered again.")
    return 0


@command.command("audit-log")
@_FOLDER
@click.option("--out", type=_PATH, required=True, help="A new file for the export.")
@common_options
def audit_log_(face: Face, folder: Path, out: Path) -> int:
    """Check the audit log and export it, signed by the server.

    Keep exports elsewhere: an older one shows if entries were removed since.
    """
    from neuroveil.deploy.server.audit_log import export
    from neuroveil.deploy.server.setup import server_key
    from neuroveil.errors import StudyError, StudyMistake

    document = export(_database(folder), server_key(folder))
    try:
        with out.open("x", encoding="utf-8") as stream:
            stream.write(json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise StudyError([StudyMistake(
            "--out", "a new file", error.strerror or "none", "Name another file."
        )]) from None  # fmt: skip
    entries = len(document["entries"])
    face.result(
        {"entries": entries, "head": document["head"], "out": out.name},
        f"{entries} entries, unbroken, written to {out.name}.\nhead  {document['head']}",
    )
    return 0


def _database(folder: Path) -> Database:
    from neuroveil.deploy.server.database import Database
    from neuroveil.deploy.server.settings import load_settings

    return Database(load_settings(folder).database_location)


def _run_demo(face: Face, place: Path, port: int) -> int:
    from neuroveil.deploy.server.demo import create_demo
    from neuroveil.deploy.server.run import run_server

    made = create_demo(place, port)
    document = {
        "url": made.url, "folder": str(made.folder), "key": str(made.hospital_key),
        "ca": str(made.authority), "password": made.password,
    }  # fmt: skip
    face.result(
        document,
        f"Server       {made.url}\n"
        f"Overview     user coordinator, password {made.password}\n"
        f"Try it with  neuroveil demo, and then\n"
        f"  neuroveil submit demo/release --to {made.url} "
        f"--key {made.hospital_key} --ca {made.authority}",
    )
    run_server(made.folder)
    return 0
