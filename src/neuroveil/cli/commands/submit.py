"""``neuroveil submit``: send a release to a coordinator's server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.arguments import ExistingPath
from neuroveil.cli.face import Face, common_options

if TYPE_CHECKING:
    from neuroveil.deploy.hospital.preview import Preview
    from neuroveil.deploy.hospital.pseudonymise import RowsToSend
    from neuroveil.deploy.hospital.submit import Submitted
    from neuroveil.deploy.hospital.way import Way
    from neuroveil.keys import SiteKey
    from neuroveil.study import Study

_PATH = click.Path(path_type=Path)
_FIELDS_SHOWN = 6


@click.command()
@click.argument("release", type=ExistingPath())
@click.option("--to", "address", metavar="URL", envvar="NEUROVEIL_SERVER",
              help="The server, https://HOST:PORT, or NEUROVEIL_SERVER.")  # fmt: skip
@click.option("--key", type=_PATH, envvar="NEUROVEIL_SITE_KEY",
              help="The key from `neuroveil keys create`, or NEUROVEIL_SITE_KEY.")  # fmt: skip
@click.option("--ca", type=_PATH, envvar="NEUROVEIL_CA",
              help="Certificate of the server's own authority, or NEUROVEIL_CA.")  # fmt: skip
@click.option("--server-key", type=_PATH, envvar="NEUROVEIL_SERVER_KEY",
              help="File with the server's public key, by which receipts must be signed, or "
              "NEUROVEIL_SERVER_KEY.")  # fmt: skip
@click.option("--study-file", type=_PATH,
              help="Study whose section [server] says the rest.  [default: study.toml beside "
              "RELEASE]")  # fmt: skip
@click.option("--receipt", type=_PATH,
              help="File for the receipt.  [default: RELEASE.receipt.json]")  # fmt: skip
@click.option("--rows", type=click.Choice(["roster", "features"]),
              help="Send pseudonymised rows; RELEASE is then a study file.")  # fmt: skip
@click.option("--study", help="With --rows: name of the study on the server.")
@click.option("--encoded", type=_PATH,
              help="With --rows: folder that `neuroveil link encode` wrote.  "
              "[default: encoded]")  # fmt: skip
@click.option("--with-label", is_flag=True, default=None,
              help="With --rows: the label under [evaluation] goes along, for a study that "
              "declares it.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say exactly what would leave; send nothing.")
@common_options
def command(face: Face, release: Path, dry_run: bool, **chosen: Any) -> int:
    """Send RELEASE, a release folder, to a coordinator's server.

    The release is verified here first; then only the files that its certificate binds are sent,
    over HTTPS, each request signed by the site's key. Nothing else leaves: no recording, no
    feature table, no identifier. An upload that was interrupted goes on where it stopped when
    the same command is run again.

    With --rows, RELEASE is a study file, and what leaves is not protected yet: first the roster
    (GlobalIDs of the study's patients), later one row of features for each, to a trusted server
    that protects all hospitals' patients together. No name, patient number or date is sent, and
    a label only with --with-label.

    What neither an option nor a variable says is taken from the section [server] of the study
    file. For a release folder, that is `study.toml` in the folder above, if it names this folder
    as its release; or name another one with --study-file. Paths in it are relative to it.

    HTTPS_PROXY and NO_PROXY are honoured. A passphrase is taken from the variable
    NEUROVEIL_KEY_PASSPHRASE, from the file that NEUROVEIL_KEY_PASSPHRASE_FILE names, or asked
    for.
    """
    if chosen["rows"]:
        return _submit_rows(face, release, dry_run, chosen)
    from neuroveil.deploy.hospital.preview import preview

    shown = preview(release)
    way = _way(chosen, _study_of(release, chosen["study_file"]))
    if dry_run:
        document = {**shown.as_dict(), "to": way.address, "sent": False}
        face.result(document, _describe(shown, way, face.verbose))
        return 0
    _require(way)
    result = _send(face, release, shown, way)
    beside = release.resolve()
    file = chosen["receipt"] or beside.with_name(f"{beside.name}.receipt.json")
    _write_receipt(file, result.receipt)
    for warning in result.warnings:
        face.say(f"Warning: {warning}")
    document = {
        "sent": True, "content_id": shown.manifest.content_id, "bytes": result.n_bytes,
        "receipt": result.receipt, "warnings": list(result.warnings),
    }  # fmt: skip
    face.result(
        document,
        f"Accepted: the server derived the certificate again, and it holds.\n"
        f"Receipt in {file.name}, entry {result.receipt['audit_number']} of its audit log.",
    )
    return 0


def _study_of(release: Path, study_file: Path | None) -> Study | None:
    from neuroveil.deploy.hospital.way import study_beside
    from neuroveil.study import load_study

    return load_study(study_file) if study_file is not None else study_beside(release)


def _way(chosen: dict[str, Any], study: Study | None) -> Way:
    from neuroveil.deploy.hospital.way import way_to_server

    names = ("address", "key", "ca", "server_key", "study", "encoded", "with_label")
    return way_to_server({name: chosen[name] for name in names}, study)


def _require(way: Way) -> tuple[str, Path]:
    """Give address and key, without which nothing is sent."""
    if not way.address or not way.key:
        raise click.UsageError(
            "--to and --key, or address and key under [server] of the study file, are needed, "
            "unless --dry-run is given."
        )
    return way.address, way.key


def _submit_rows(face: Face, study_file: Path, dry_run: bool, chosen: dict[str, Any]) -> int:
    from neuroveil.deploy.hospital.pseudonymise import features_to_send, roster_to_send
    from neuroveil.study import load_study

    if chosen["study_file"] is not None:
        raise click.UsageError("With --rows, RELEASE is the study file: leave --study-file out.")
    study = load_study(study_file)
    way = _way(chosen, study)
    encoded = way.encoded or Path("encoded")
    if chosen["rows"] == "roster":
        rows = roster_to_send(study, encoded, way.with_label)
    else:
        with face.progress() as progress:
            rows = features_to_send(study, encoded, way.with_label, progress=progress)
    if dry_run:
        document = {**rows.as_dict(), "to": way.address, "study": way.study, "sent": False}
        face.result(document, _describe_rows(rows, way, face.verbose))
        return 0
    _require(way)
    if not way.study:
        raise click.UsageError(
            "--rows needs --study, or study under [server]: the name of the study on the server."
        )
    result = _send_rows(face, rows, way)
    place = study_file.resolve()
    file = chosen["receipt"] or place.with_name(f"{place.stem}.{rows.kind}.receipt.json")
    _write_receipt(file, result.receipt)
    for warning in result.warnings:
        face.say(f"Warning: {warning}")
    face.result(
        {"sent": True, "kind": rows.kind, "rows": rows.n_rows, "bytes": result.n_bytes,
         "receipt": result.receipt, "warnings": list(result.warnings)},
        f"Accepted: {rows.n_rows} rows ({rows.kind}). Receipt in {file.name}, entry "
        f"{result.receipt['audit_number']} of the server's audit log.",
    )  # fmt: skip
    return 0


def _send_rows(face: Face, rows: RowsToSend, way: Way) -> Submitted:
    from neuroveil.deploy.hospital.send_rows import send_rows
    from neuroveil.deploy.hospital.submit import connect
    from neuroveil.privacy.verify import read_public_key

    address, key = _require(way)
    server_key = read_public_key(way.server_key) if way.server_key else None
    connection = connect(address, way.ca, open_key(key))
    try:
        with face.progress() as progress:
            return send_rows(connection, str(way.study), rows, server_key, progress)
    finally:
        connection.close()


def _goal(way: Way) -> str:
    return f"To: {way.address or 'no server is named yet'}"


def _digested(rows: RowsToSend) -> list[str]:
    return [name.removesuffix("_digest") for name in rows.terms]


def _describe_rows(rows: RowsToSend, way: Way, verbose: bool) -> str:
    names = list(rows.fields)
    some = names if verbose else names[:_FIELDS_SHOWN]
    more = f" and {len(names) - len(some)} more (-v shows all)" if some != names else ""
    return "\n".join([
        f"Would be sent: one file ({rows.kind}), {rows.n_rows} rows, {len(rows.content)} bytes.",
        f"  fields: {', '.join(some)}{more}",
        f"  {rows.digest}",
        f"Before it, its size and digest, and digests of {', '.join(_digested(rows))}: "
        f"{len(rows.announcement)} bytes.",
        "With every request: the key's id, the time, a random number, the body's digest and a "
        "signature.",
        "These rows are not protected yet: the server sees them, under pseudonyms.",
        _goal(way),
        "Nothing was sent.",
    ])  # fmt: skip


def _write_receipt(file: Path, receipt: dict[str, Any]) -> None:
    from neuroveil.errors import StudyError, StudyMistake

    try:
        file.write_text(json.dumps(receipt, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise StudyError([StudyMistake(
            "--receipt", "a file that can be written", error.strerror or "none",
            "The release was accepted. Run the same command with another file: the receipt is "
            "the same.",
        )]) from None  # fmt: skip


def _send(face: Face, release: Path, shown: Preview, way: Way) -> Submitted:
    from neuroveil.deploy.hospital.submit import connect, submit
    from neuroveil.privacy.verify import read_public_key

    address, key = _require(way)
    server_key = read_public_key(way.server_key) if way.server_key else None
    connection = connect(address, way.ca, open_key(key))
    try:
        with face.progress() as progress:
            return submit(release, shown, connection, server_key, progress)
    finally:
        connection.close()


def open_key(path: Path) -> SiteKey:
    """Open the key that signs requests, and ask for its passphrase where nothing else tells it.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    SiteKey
        The key.
    """
    from neuroveil.keys import find_passphrase, is_encrypted, load_key

    return load_key(path, find_passphrase(_ask) if is_encrypted(path) else None)


def _ask() -> str | None:
    if not sys.stdin.isatty():
        return None
    return str(click.prompt("Passphrase of the key", hide_input=True, err=True)) or None


def _describe(shown: Preview, way: Way, verbose: bool) -> str:
    lines = [f"Would be sent: {len(shown.manifest.files)} files, {shown.manifest.size} bytes."]
    for file in shown.manifest.files:
        lines.append(f"  {file.name}  {file.size} bytes  {file.digest}")
        fields = shown.fields.get(file.name, [])
        some = fields if verbose else fields[:_FIELDS_SHOWN]
        more = f" and {len(fields) - len(some)} more (-v shows all)" if some != fields else ""
        lines += [f"    fields: {', '.join(some)}{more}"] if fields else []
    return "\n".join([
        *lines,
        f"Before them, a list of these names, sizes and digests: {shown.announcement_bytes} bytes.",
        "With every request: the key's id, the time, a random number, the body's digest and a "
        "signature.",
        f"The certificate says: {shown.verdict}",
        _goal(way),
        "Nothing was sent.",
    ])  # fmt: skip
