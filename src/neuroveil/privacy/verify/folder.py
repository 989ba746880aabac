"""Whether the files of a release folder are the ones that the certificate was made for."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify.document import canonical_digest, load_json, read_bytes
from neuroveil.privacy.verify.findings import broken, finding, holds, quote
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement, as_number
from neuroveil.privacy.verify.table import check_table

CERTIFICATE = "certificate.json"
REQUIRED = ("table.csv", "table.parquet", "table.json", "STATEMENT.md")
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
    faults = list(_file_faults(folder, listed))
    if faults:
        yield from faults
        return
    yield holds(
        "release.files", f"All {len(listed)} files are there, and each has its stated digest.",
        source="SHA-256",
    )  # fmt: skip
    chain_digest = digest_of_chain(statement.document)
    yield _check_statement(folder, chain_digest)
    try:
        dictionary = load_json(read_bytes(folder / "table.json", "data dictionary"), "dictionary")
    except CertificateError as error:
        yield broken("release.dictionary", str(error))
        return
    yield from _check_dictionary(statement, dictionary, chain_digest)
    yield _check_constants(statement, dictionary)
    columns = dictionary.get("Columns")
    names = list(columns) if isinstance(columns, Mapping) else []
    yield from check_table(statement, folder / "table.csv", names)


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


def _file_faults(folder: Path, listed: Mapping[str, Any]) -> Iterator[Check]:
    """What is wrong with the files. Names that nobody vouches for are not repeated."""
    name = "release.files"
    for file in listed:
        if file in {CERTIFICATE, "", ".", ".."} or "/" in file or "\\" in file or "\0" in file:
            yield broken(name, "The certificate lists something that is no file of the folder.")
    yield from (
        broken(name, f"The certificate does not list {file}, which every release has.")
        for file in REQUIRED
        if file not in listed
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


def _check_statement(folder: Path, chain_digest: str) -> Check:
    """The statement in words ends with the digest of the chain."""
    try:
        lines = read_bytes(folder / "STATEMENT.md", "statement").decode().splitlines()
    except (CertificateError, UnicodeDecodeError):
        lines = []
    agrees = [line for line in lines if line.strip()][-1:] == [f"Chain: {chain_digest}"]
    return finding(
        "holds" if agrees else "broken", "release.statement",
        "The statement in words belongs to this chain."
        if agrees
        else "The statement in words belongs to another chain: its last line does not carry the "
        "digest of this one.", recomputed=chain_digest,
    )  # fmt: skip


def _check_dictionary(
    statement: Statement, dictionary: Mapping[str, Any], chain_digest: str
) -> Iterator[Check]:
    """The data dictionary belongs to the chain and describes exactly its columns."""
    name, columns = "release.dictionary", dictionary.get("Columns")
    expected = _expected_columns(statement)
    if dictionary.get("NeuroveilChainDigest") != chain_digest:
        yield broken(name, "The data dictionary belongs to another chain.", recomputed=chain_digest)
    if not isinstance(columns, Mapping) or not all(
        isinstance(entry, Mapping) for entry in columns.values()
    ):
        yield broken(name, "Its key Columns has to be an object with an object a column.")
        return
    sizes = [dictionary.get("NumberOfRows"), dictionary.get("NumberOfColumns")]
    right = [statement.integer("domain.n"), len(columns)]
    if sizes != right or any(isinstance(size, bool) for size in sizes):
        yield broken(name, "Its numbers of rows and columns are wrong.", recomputed=right)
    d = statement.integer("domain.dimension") or 0
    features = list(columns)[:d]
    agrees = (
        len(features) == d
        and canonical_digest(features) == statement.text("domain.columns_digest")
        and list(columns)[d:] == expected
    )
    yield finding(
        "holds" if agrees else "broken", "release.columns",
        f"The dictionary describes {d} feature columns and {len(expected)} label column(s), as "
        "certified."
        if agrees
        else "The columns of the dictionary are not the ones that were certified.",
        source="SHA-256 of the list of column names",
    )  # fmt: skip


def _check_constants(statement: Statement, dictionary: Mapping[str, Any]) -> Check:
    """Centre and spread in the dictionary are the certified public ones, or absent."""
    name, columns = "release.constants", dictionary.get("Columns")
    features = dict(columns) if isinstance(columns, Mapping) else {}
    for label in _expected_columns(statement):
        features.pop(label, None)
    entries = [entry if isinstance(entry, Mapping) else {} for entry in features.values()]
    if statement.text("preprocessing.scaling", "fitted_on") != "public":
        agrees = not any({"Centre", "Spread"} & set(entry) for entry in entries)
        words = "Constants that were fitted on the private cohort are not published."
        return finding("holds" if agrees else "broken", name, words)
    right = constants_digest(dictionary.get("Reference"), list(features), entries)
    stated = statement.text("preprocessing.scaling", "params", "constants_digest")
    named = statement.text("preprocessing.scaling", "params", "reference")
    agrees = right is not None and stated == right and dictionary.get("Reference") == named
    return finding(
        "holds" if agrees else "broken", name,
        "Centre and spread of every column are the certified public constants."
        if agrees
        else "Centre and spread of the columns are not the certified public constants.",
        stated=stated, recomputed=right, source="SHA-256",
    )  # fmt: skip


def constants_digest(
    reference: object, columns: list[str], entries: list[Mapping[str, Any]]
) -> str | None:
    """Digest of public scaling constants.

    Parameters
    ----------
    reference : str
        Name of the reference.
    columns : list of str
        Names of the feature columns.
    entries : list of mapping
        Their entries of the dictionary, with ``Centre`` and ``Spread`` (on the column's scale).

    Returns
    -------
    str or None
        ``sha256:…``, or ``None`` where a constant is missing.
    """
    constants = {
        key.lower(): [as_number(entry.get(key)) for entry in entries]
        for key in ("Centre", "Spread")
    }
    if any(value is None for values in constants.values() for value in values):
        return None
    document = {
        "name": reference,
        "columns": columns,
        **{
            key: [float(value).hex() for value in values if value is not None]
            for key, values in constants.items()
        },
    }
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _expected_columns(statement: Statement) -> list[object]:
    """Label columns after the features: protected ones, then unprotected ones."""
    labels = [entry.get("name") for entry in statement.entries("domain.labels")]
    return labels + (statement.listing("domain.unprotected") or [])
