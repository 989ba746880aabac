"""Whether the files of a release folder are the ones that the certificate was made for."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify.basis import row_dimension
from neuroveil.privacy.verify.copies import check_copy
from neuroveil.privacy.verify.correlation import check_correlation
from neuroveil.privacy.verify.dictionary import (
    check_constants,
    check_dictionary,
    feature_entries,
    feature_names,
    list_columns,
    row_names,
)
from neuroveil.privacy.verify.document import canonical_digest, load_json, read_bytes
from neuroveil.privacy.verify.estimate import Tables, check_estimate
from neuroveil.privacy.verify.findings import broken, finding, holds, quote
from neuroveil.privacy.verify.label_counts import check_label_counts
from neuroveil.privacy.verify.messages import check_messages
from neuroveil.privacy.verify.moment_files import MOMENT_FILES, check_moment_files
from neuroveil.privacy.verify.moments import is_of_moments
from neuroveil.privacy.verify.postprocessing import is_projected, steps_of
from neuroveil.privacy.verify.public_inputs import (
    PublicInputs,
    check_constants_agree,
    check_public_inputs,
    read_public_inputs,
)
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement
from neuroveil.privacy.verify.table import check_table

CERTIFICATE = "certificate.json"
ALWAYS = ("table.csv", "table.parquet", "table.json", "STATEMENT.md")
MESSAGES = "messages.csv"
ESTIMATE = ("table_estimated.csv", "table_estimated.parquet", "table_estimated.json")
INPUTS = "public_inputs.json"
LARGEST_INPUTS = 200_000_000
_CHUNK = 1 << 20


def check_folder(statement: Statement, folder: Path) -> Iterator[Check]:
    """Check every file of a release folder against the certificate.

    Parameters
    ----------
    statement : Statement
        The certificate.
    folder : Path
        The release folder.

    Yields
    ------
    Check
        Files and digests, and, where those are right, dictionary, statement and table.
    """
    release = statement.document.get("release")
    listed = release if isinstance(release, Mapping) else {}
    faults = list(_file_faults(statement, folder, listed))
    if faults:
        yield from faults
        return
    yield holds(
        "release.files", f"All {len(listed)} files are there, and each has its stated digest.",
        source="SHA-256",
    )  # fmt: skip
    yield _check_statement(statement, folder)
    if is_of_moments(statement):
        yield from check_moment_files(statement, folder, digest_of_chain(statement.document))
        return
    try:
        table = _dictionary(folder, "table.json")
        estimate = _dictionary(folder, ESTIMATE[2]) if steps_of(statement) else None
        inputs = _dictionary(folder, INPUTS) if _has_inputs(statement) else None
    except CertificateError as error:
        yield broken("release.dictionary", str(error))
        return
    yield from _check_contents(statement, folder, (table, estimate, inputs))


def _dictionary(folder: Path, name: str) -> Mapping[str, Any]:
    return load_json(read_bytes(folder / name, "data dictionary", LARGEST_INPUTS), "dictionary")


def _has_inputs(statement: Statement) -> bool:
    return is_projected(statement) or bool(steps_of(statement))


def _check_contents(
    statement: Statement, folder: Path, documents: tuple[Mapping[str, Any], Any, Any]
) -> Iterator[Check]:
    """Check dictionaries, tables and public constants against each other."""
    table, estimate, inputs = documents
    chain_digest = digest_of_chain(statement.document)
    yield from check_dictionary(statement, table, chain_digest, row_names(statement, table))
    names = list_columns(table)
    if statement.text("mechanism.name") == "privunit":
        files = folder / MESSAGES, folder / "table.csv"
        yield from check_messages(statement, *files, names)
    else:
        yield from check_table(statement, folder / "table.csv", names)
    yield from check_label_counts(statement, folder / "table.csv", names)
    yield check_copy(folder / "table.csv", names, row_dimension(statement))
    if not is_projected(statement):
        yield check_constants(statement, table)
    if estimate is not None:
        features = feature_names(statement, estimate)
        yield from check_dictionary(statement, estimate, chain_digest, features)
        yield check_constants(statement, estimate)
        d = statement.integer("domain.dimension")
        yield check_copy(folder / ESTIMATE[0], list_columns(estimate), d)
    if inputs is None:
        return
    constants = read_public_inputs(statement, inputs)
    if isinstance(constants, str):
        yield broken("release.public_inputs", constants)
        return
    yield from check_public_inputs(statement, constants)
    yield from check_correlation(statement, steps_of(statement), constants)
    if estimate is not None:
        entries = feature_entries(statement, estimate)
        yield from check_constants_agree(constants, entries)
        yield from _check_estimated(statement, folder, (names, estimate, constants))


def _check_estimated(
    statement: Statement, folder: Path, found: tuple[list[str], Mapping[str, Any], PublicInputs]
) -> Iterator[Check]:
    names, estimate, constants = found
    m, d = row_dimension(statement), statement.integer("domain.dimension")
    entries = feature_entries(statement, estimate)
    if m is None or d is None or len(entries) != d:
        return
    tables = Tables(
        folder / "table.csv", folder / ESTIMATE[0], names, list_columns(estimate), m, d,
        [entry.get("Transform") == "log10" for entry in entries],
    )  # fmt: skip
    yield from check_estimate(steps_of(statement), constants, tables)


def digest_of_chain(document: Mapping[str, Any]) -> str:
    """Digest that dictionary and statement carry.

    Parameters
    ----------
    document : mapping
        The certificate as read.

    Returns
    -------
    str
        ``sha256:…`` over everything but ``release``, ``previous_hash`` and ``signature``.
    """
    outside = ("release", "previous_hash", "signature")
    return canonical_digest({key: document[key] for key in document if key not in outside})


def _required(statement: Statement) -> tuple[list[str], list[str]]:
    """Files that this certificate needs, and known files that it cannot have."""
    if is_of_moments(statement):
        rows = [*ALWAYS, MESSAGES, *ESTIMATE, INPUTS]
        return list(MOMENT_FILES), [file for file in rows if file not in MOMENT_FILES]
    cases = {
        (MESSAGES,): statement.text("mechanism.name") == "privunit",
        ESTIMATE: bool(steps_of(statement)),
        (INPUTS,): _has_inputs(statement),
    }
    needed = [*ALWAYS, *(file for files, there in cases.items() if there for file in files)]
    foreign = [file for files, there in cases.items() if not there for file in files]
    return needed, foreign + [file for file in MOMENT_FILES if file not in ALWAYS]


def _file_faults(statement: Statement, folder: Path, listed: Mapping[str, Any]) -> Iterator[Check]:
    """What is wrong with the files. Names that nobody vouches for are not repeated."""
    name = "release.files"
    for file in listed:
        if file in {CERTIFICATE, "", ".", ".."} or "/" in file or "\\" in file or "\0" in file:
            yield broken(name, "The certificate lists something that is no file of the folder.")
    needed, foreign = _required(statement)
    yield from (
        broken(name, f"The certificate does not list {file}, which such a release has.")
        for file in needed
        if file not in listed
    )
    yield from (
        broken(name, f"The certificate lists {file}, which such a release does not have.")
        for file in foreign
        if file in listed
    )
    present = {entry.name: entry.lstat().st_mode for entry in folder.iterdir()}
    extra = set(present) - set(listed) - {CERTIFICATE}
    if extra:
        yield broken(
            name, f"{len(extra)} file(s) or folder(s) lie in the release folder that the "
            "certificate does not list. What they hold is not protected.", stated=len(extra),
            recomputed=0,
        )  # fmt: skip
    odd = [file for file, mode in present.items() if not stat.S_ISREG(mode) and file not in extra]
    if odd:
        yield broken(name, f"{len(odd)} listed name(s) are links or folders, not files.")
    for file in set(listed) - set(odd):
        if file not in present:
            yield broken(name, f"A listed file is missing: {quote(file)}.")
        elif _digest_of_file(folder / file) != listed[file]:
            yield broken(
                name, f"{quote(file)} is not the file that the certificate was made for: its "
                "digest differs.", source="SHA-256",
            )  # fmt: skip


def _digest_of_file(path: Path) -> str | None:
    """Digest of a file, read in pieces; ``None`` where it cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while piece := stream.read(_CHUNK):
                digest.update(piece)
    except OSError:
        return None
    return "sha256:" + digest.hexdigest()


def _check_statement(statement: Statement, folder: Path) -> Check:
    """The statement repeats the verdict and ends with the digest of the chain."""
    chain_digest = digest_of_chain(statement.document)
    try:
        lines = read_bytes(folder / "STATEMENT.md", "statement").decode().splitlines()
    except (CertificateError, UnicodeDecodeError):
        lines = []
    verdict = statement.document.get("verdict")
    belongs = [line for line in lines if line.strip()][-1:] == [f"Chain: {chain_digest}"]
    # Four spaces make a line that is shown as it stands.
    repeats = isinstance(verdict, str) and f"    {verdict}" in lines
    if belongs and repeats:
        words = "The statement in words repeats the verdict and belongs to this chain."
    elif repeats:
        words = (
            "The statement in words belongs to another chain: its last line does not carry the "
            "digest of this one."
        )
    else:
        words = "The statement in words does not repeat the verdict word for word."
    return finding(
        "holds" if belongs and repeats else "broken", "release.statement", words,
        recomputed=chain_digest,
    )  # fmt: skip
