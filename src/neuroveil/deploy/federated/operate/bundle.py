"""The app bundle: a name, a version and where the installed code starts; no code of its own.

Flower ships an app's code to the nodes. Ours ships none: the bundle names entry points inside
the installed package, so that what runs at a hospital is what the hospital has installed and can
read. The bundle is the same byte for byte on every machine with the same release, so every
hospital can derive the digest that it allows from its own installation.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from importlib.metadata import version

PLAN_KEY = "plan"
"""Setting of a run that holds the digest of the plan that it follows."""

_SERVER_APP = "neuroveil.deploy.federated.operate.apps:server_app"
_CLIENT_APP = "neuroveil.deploy.federated.apps:client_app"
_DATE = (2024, 1, 1, 0, 0, 0)


def pack(files: Mapping[str, bytes]) -> bytes:
    """Pack files as Flower's app bundle, the same bytes on every machine.

    Parameters
    ----------
    files : mapping of str to bytes
        Content by path; ``pyproject.toml`` first.

    Returns
    -------
    bytes
        A ZIP archive without compression, whose form differs between libraries.
    """
    lines = [
        f"{path},{hashlib.sha256(data).hexdigest()},{8 * len(data)}" for path, data in files.items()
    ]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path, data in {**files, ".info/CONTENT": "\n".join(lines).encode()}.items():
            entry = zipfile.ZipInfo(path, _DATE)
            entry.create_system, entry.external_attr = 3, 0o600 << 16
            archive.writestr(entry, data)
    return target.getvalue()


def digest_of(bundle: bytes) -> str:
    """Name a bundle as Flower and a site's policy do.

    Parameters
    ----------
    bundle : bytes
        The archive.

    Returns
    -------
    str
        SHA-256, 64 hexadecimal digits.
    """
    return hashlib.sha256(bundle).hexdigest()


def app_bundle() -> bytes:
    """Make the bundle of this installation.

    Returns
    -------
    bytes
        For Flower.
    """
    import tomli_w

    document = {
        "project": {"name": "neuroveil", "version": version("neuroveil")},
        "tool": {"flwr": {"app": {
            "publisher": "neuroveil",
            "components": {"serverapp": _SERVER_APP, "clientapp": _CLIENT_APP},
            "config": {PLAN_KEY: ""},
        }}},
    }  # fmt: skip
    return pack({"pyproject.toml": tomli_w.dumps(document).encode()})


def app_digest() -> str:
    """Name the bundle of this installation.

    Returns
    -------
    str
        SHA-256, 64 hexadecimal digits.
    """
    return digest_of(app_bundle())
