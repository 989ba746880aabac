"""What exactly would leave the hospital, before anything does."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.deploy.manifest import CERTIFICATE, Manifest, manifest_of
from neuroveil.errors import CertificateError
from neuroveil.privacy.verify import verify


@dataclass(frozen=True)
class Preview:
    """What would be sent.

    Parameters
    ----------
    manifest : Manifest
        Files, sizes and digests.
    fields : dict of str to list of str
        Columns of every table and top-level keys of every JSON file, by file name.
    verdict : str
        What the certificate says.
    announcement_bytes : int
        Bytes of the manifest, which is sent first.
    """

    manifest: Manifest
    fields: dict[str, list[str]]
    verdict: str
    announcement_bytes: int

    def as_dict(self) -> dict[str, Any]:
        """Give the preview as plain data.

        Returns
        -------
        dict
            Keys ``content_id``, ``files`` (name, bytes, digest, fields), ``bytes``,
            ``manifest_bytes``, ``headers`` and ``verdict``.
        """
        files = [
            {"name": file.name, "bytes": file.size, "digest": file.digest,
             "fields": self.fields.get(file.name, [])}
            for file in self.manifest.files
        ]  # fmt: skip
        return {
            "content_id": self.manifest.content_id, "verdict": self.verdict, "files": files,
            "bytes": self.manifest.size, "manifest_bytes": self.announcement_bytes,
            "headers": ["key id", "time", "nonce", "digest of the body", "signature"],
        }  # fmt: skip


def preview(folder: Path) -> Preview:
    """Verify a release and list what would be sent of it.

    Parameters
    ----------
    folder : Path
        A release folder.

    Returns
    -------
    Preview
        Nothing was sent.

    Raises
    ------
    CertificateError
        If the release does not hold: nothing that does not is ever sent.
    """
    if not (folder / CERTIFICATE).is_file():
        raise CertificateError(
            "release folder", "a folder with a certificate", "none",
            "Name the folder that `neuroveil release` wrote.",
        )  # fmt: skip
    result = verify(folder)
    if result.outcome != "holds":
        links = ", ".join(result.broken_links or result.unchecked_links)
        raise CertificateError(
            "release folder", "a release that holds", f"open links: {links}",
            "Run `neuroveil verify` on it. Nothing was sent.",
        )  # fmt: skip
    manifest = manifest_of(folder)
    document = json.loads((folder / CERTIFICATE).read_bytes())
    fields = {file.name: _fields(folder / file.name) for file in manifest.files}
    return Preview(
        manifest, {name: found for name, found in fields.items() if found},
        document["verdict"], len(announcement(manifest)),
    )  # fmt: skip


def announcement(manifest: Manifest) -> bytes:
    """Write the first body that is sent.

    Parameters
    ----------
    manifest : Manifest
        What will follow.

    Returns
    -------
    bytes
        JSON.
    """
    document = {"content_id": manifest.content_id, "manifest": manifest.to_json()}
    return json.dumps(document).encode()


def _fields(path: Path) -> list[str]:
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as stream:
            return next(csv.reader(stream), [])
    if path.suffix == ".json":
        document = json.loads(path.read_bytes())
        return list(document) if isinstance(document, dict) else []
    if path.suffix == ".parquet":
        from pyarrow.parquet import read_schema

        return list(read_schema(path).names)
    return []
