"""Which files of a release folder travel: names from a fixed list, sizes and digests."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.errors import CertificateError
from neuroveil.types.certificate import canonical_json, digest

CERTIFICATE = "certificate.json"

FILE_NAMES: frozenset[str] = frozenset({
    CERTIFICATE, "STATEMENT.md", "report.html", "table.csv", "table.parquet", "table.json",
    "table_estimated.csv", "table_estimated.parquet", "table_estimated.json", "messages.csv",
    "public_inputs.json", "moments.csv", "mean.csv", "covariance.csv", "synthetic.csv",
    "synthetic.parquet", "synthetic.json", "load_table.py", "load_table.R", "load_moments.py",
})  # fmt: skip
"""Every file that a release folder can hold. Nothing else is sent, and nothing else accepted."""

TRAINING_FILES: frozenset[str] = frozenset({
    "result.json", "model.safetensors", "report.html", "signature.json",
})  # fmt: skip
"""Every file of a training that a trusted server publishes; hospitals submit none of them."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class ManifestFile:
    """One file that travels.

    Parameters
    ----------
    name : str
        One of :data:`FILE_NAMES`.
    size : int
        Bytes.
    digest : str
        ``sha256:…`` of its content.
    """

    name: str
    size: int
    digest: str


@dataclass(frozen=True)
class Manifest:
    """All files of one submission.

    Parameters
    ----------
    files : tuple of ManifestFile
        Sorted by name; the certificate is one of them.
    """

    files: tuple[ManifestFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def content_id(self) -> str:
        """Name of the content, 64 hexadecimal digits; the same files always have the same."""
        return digest(canonical_json(self.to_json())).removeprefix("sha256:")

    def file(self, name: str) -> ManifestFile | None:
        """Look a file up.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        ManifestFile or None
            ``None`` where there is none of this name.
        """
        return next((file for file in self.files if file.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Give the manifest as plain data.

        Returns
        -------
        dict
            Key ``files``: ``{name: {"size": …, "digest": …}}``.
        """
        return {
            "files": {file.name: {"size": file.size, "digest": file.digest} for file in self.files}
        }


def manifest_from_json(document: Any, of_training: bool = False) -> Manifest | None:
    """Read a manifest from plain data that nobody vouches for.

    Parameters
    ----------
    document : JSON value
        As :meth:`Manifest.to_json` gives it.
    of_training : bool
        Whether it has to be that of a training instead of a release.

    Returns
    -------
    Manifest or None
        ``None`` where it is none, names a file that no release has, or has no certificate; for a
        training, where its files are not exactly :data:`TRAINING_FILES`.
    """
    if not isinstance(document, dict) or set(document) != {"files"}:
        return None
    stated = document["files"]
    if not isinstance(stated, dict):
        return None
    is_release = CERTIFICATE in stated and set(stated) <= FILE_NAMES
    if not (set(stated) == TRAINING_FILES if of_training else is_release):
        return None
    files = []
    for name, facts in sorted(stated.items()):
        if not isinstance(facts, dict) or set(facts) != {"size", "digest"}:
            return None
        size, content = facts["size"], facts["digest"]
        if type(size) is not int or size < 0 or not isinstance(content, str):
            return None
        if not _DIGEST.fullmatch(content):
            return None
        files.append(ManifestFile(name, size, content))
    return Manifest(tuple(files))


def manifest_of(folder: Path) -> Manifest:
    """List what would be sent of a release folder: what its certificate binds, nothing else.

    Parameters
    ----------
    folder : Path
        A release folder that was verified.

    Returns
    -------
    Manifest
        The certificate and the files that it lists.

    Raises
    ------
    CertificateError
        If the certificate lists a file that no release has, or that is not as it says.
    """
    listed = json.loads((folder / CERTIFICATE).read_bytes())["release"]
    if not set(listed) <= FILE_NAMES:
        raise CertificateError(
            "release folder", "files that neuroveil writes, and no others",
            f"{len(set(listed) - FILE_NAMES)} others",
            "Nothing was sent. Make the release again with `neuroveil release`.",
        )  # fmt: skip
    files = []
    for name in sorted({CERTIFICATE, *listed}):
        file = _described(folder / name)
        if name != CERTIFICATE and file.digest != listed[name]:
            raise CertificateError(
                "release folder", "files as the certificate states them", "a changed file",
                "Nothing was sent. Run `neuroveil verify` on the folder.",
            )  # fmt: skip
        files.append(file)
    return Manifest(tuple(files))


def manifest_of_training(folder: Path) -> Manifest:
    """List what is published of a training.

    Parameters
    ----------
    folder : Path
        A training's folder that was verified.

    Returns
    -------
    Manifest
        Its four files.
    """
    return Manifest(tuple(_described(folder / name) for name in sorted(TRAINING_FILES)))


def _described(path: Path) -> ManifestFile:
    content, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            content.update(chunk)
            size += len(chunk)
    return ManifestFile(path.name, size, f"sha256:{content.hexdigest()}")
