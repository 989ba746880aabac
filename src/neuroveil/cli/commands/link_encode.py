"""``neuroveil link init`` and ``encode``: the schema, and a hospital's patient list."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuroveil.cli.commands.link_keys import FILE, ask
from neuroveil.cli.face import Face, common_options
from neuroveil.errors import StudyError, StudyMistake

if TYPE_CHECKING:
    from neuroveil.linkage.encode import CheckedList, EncodedPatients
    from neuroveil.linkage.schema import LinkageSchema

ENCODED_FILE = "encoded.parquet"
MAP_FILE = "local-map.csv"


@click.command()
@click.argument("schema", type=FILE, default="linkage.toml")
@click.option("--dry-run", is_flag=True, help="Show the file instead of writing it.")
@common_options
def init(face: Face, schema: Path, dry_run: bool) -> int:
    """Write a commented linkage schema to SCHEMA (default: linkage.toml)."""
    text = resources.files("neuroveil.linkage").joinpath("template.toml").read_text("utf-8")
    if dry_run:
        face.result({"schema": text, "written": False}, text.rstrip())
        return 0
    try:
        with schema.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise StudyError([StudyMistake(
            "linkage schema", "a new file in a folder that is yours", type(error).__name__,
            "Name another file, or edit the one that is there.",
        )]) from None  # fmt: skip
    face.result(
        {"schema": schema.name, "written": True},
        f"Wrote {schema.name}. Agree on it with all hospitals, then run: neuroveil link keygen",
    )
    return 0


@click.command()
@click.argument("patients", type=FILE)
@click.option("--schema", type=FILE, default="linkage.toml", show_default=True,
              help="The project's linkage schema.")  # fmt: skip
@click.option("--key", type=FILE, default="linkage.keystore", show_default=True,
              help="A keystore, or settings of a key service (.toml).")  # fmt: skip
@click.option("--out", type=FILE, default="encoded", show_default=True, help="A new folder.")
@click.option("--patient-column", default="patient", show_default=True,
              help="Column of your own patient keys, by which recordings are filed.")  # fmt: skip
@click.option("--allow", type=click.Choice(["duplicates", "missing-numbers"]), multiple=True,
              help="Accept the same number on two lines, or lines without one.")  # fmt: skip
@click.option("--with-previous", is_flag=True,
              help="Also write the GlobalIDs of the previous key, row by row.")  # fmt: skip
@click.option("--dry-run", is_flag=True,
              help="Check the list and say what would be encoded; needs no key.")  # fmt: skip
@common_options
def encode(face: Face, patients: Path, schema: Path, key: Path, out: Path, **options: Any) -> int:
    """Encode the patient list PATIENTS (CSV or TSV) inside the hospital.

    OUT gets two files that only their owner can read: encoded.parquet for the linkage unit, and
    local-map.csv, which says whose row is whose and never leaves the hospital.
    """
    from neuroveil.linkage.encode import Allowances, check_patient_list, encode_patients
    from neuroveil.linkage.patient_list import read_patient_list
    from neuroveil.linkage.private_files import require_new
    from neuroveil.linkage.schema import load_schema
    from neuroveil.linkage.services import opened_service

    rules = load_schema(schema)
    listed = read_patient_list(patients, rules, options["patient_column"])
    allowed = Allowances("duplicates" in options["allow"], "missing-numbers" in options["allow"])
    checked = check_patient_list(listed, rules, allowed)
    document = _counts(checked, rules)
    if options["dry_run"]:
        face.result({**document, "written": False}, "Would encode:\n" + _words(document))
        return 0
    for name, role in ((ENCODED_FILE, "encoded patient list"), (MAP_FILE, "local map")):
        require_new(out / name, role)
    with opened_service(key, ask) as service:
        previous = service.previous if options["with_previous"] else None
        if options["with_previous"] and previous is None:
            raise StudyError([StudyMistake(
                "--with-previous", "a key service with a previous key", "none",
                "Leave it out, unless a rotation is under way.",
            )])  # fmt: skip
        new_folder(out)
        with face.progress() as progress:
            encoded = encode_patients(
                checked, rules, service.current, previous,
                lambda done, total: progress(done, total, "encoding patients"),
            )  # fmt: skip
    _write(out, encoded)
    document |= {"key_id": encoded.encoded.made_with.key_id, "out": out.name, "written": True}
    face.result(document, f"Encoded into {out.name}:\n{_words(document)}")
    return 0


def _counts(checked: CheckedList, schema: LinkageSchema) -> dict[str, Any]:
    from neuroveil.linkage.patient_list import filled_counts

    document: dict[str, Any] = {
        "schema_digest": schema.digest, "patients": len(checked.patients),
        "fields": filled_counts(checked.fields),
    }  # fmt: skip
    if checked.numbers is not None:
        document["numbers"] = sum(map(bool, checked.numbers))
        document["duplicates"] = checked.n_duplicates
    return document


def _words(document: dict[str, Any]) -> str:
    lines = [f"{document['patients']} patients"]
    if "numbers" in document:
        lines.append(
            f"patient number: {document['numbers']} filled, {document['duplicates']} repeated"
        )
    lines += [f"field {name}: {count} filled" for name, count in document["fields"].items()]
    lines.append(f"schema digest  {document['schema_digest']}")
    lines += [f"key id         {document['key_id']}"] if "key_id" in document else []
    return "\n".join(lines)


def _write(folder: Path, encoded: EncodedPatients) -> None:
    """Write the map first: an encoded list without it would have no way back."""
    from neuroveil.linkage.encoded_list import write_encoded
    from neuroveil.linkage.local_map import write_local_map

    write_local_map(folder / MAP_FILE, encoded.rows, encoded.encoded)
    write_encoded(folder / ENCODED_FILE, encoded.encoded)


def new_folder(out: Path) -> None:
    """Make a folder for results that only its owner can open; one that is there stays.

    Parameters
    ----------
    out : Path
        As the option ``--out`` names it.

    Raises
    ------
    StudyError
        If it cannot be made or written to.
    """
    from neuroveil.pipeline.cache import private_folder

    try:
        private_folder(out)
    except StudyError as error:
        raise StudyError([StudyMistake(
            "--out", "a folder that can be made and written to", error.found,
            "Name another folder, or correct its rights.",
        )]) from None  # fmt: skip
