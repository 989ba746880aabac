"""The signature of a trusted server under everything that it publishes of a training."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from neuroveil.deploy.federated.progress import MODEL_FILE
from neuroveil.deploy.federated.result_file import RESULT_FILE
from neuroveil.deploy.receipt import holds as is_signed
from neuroveil.deploy.receipt import signed
from neuroveil.errors import CertificateError
from neuroveil.keys import SiteKey
from neuroveil.pipeline.internal_files import write_json
from neuroveil.privacy.verify.document import load_json, read_bytes
from neuroveil.privacy.verify.findings import broken, holds
from neuroveil.privacy.verify.result import Check
from neuroveil.types.certificate import digest

PAGE_FILE, SIGNATURE_FILE = "report.html", "signature.json"
SIGNED_FILES = (RESULT_FILE, MODEL_FILE, PAGE_FILE)
"""What the signature covers: all that is published but the signature itself."""

_KIND = "neuroveil-training"
_LINK = "signature"


def sign_training(folder: Path, key: SiteKey) -> None:
    """Sign the files of a training.

    Parameters
    ----------
    folder : Path
        With :data:`SIGNED_FILES`; gets ``signature.json``.
    key : SiteKey
        The server's.
    """
    files = {name: digest((folder / name).read_bytes()) for name in SIGNED_FILES}
    write_json(folder / SIGNATURE_FILE, signed(key, _KIND, {"files": files}))


def check_signature(folder: Path, server_key: str | None) -> Iterator[Check]:
    """Check who vouches for a training, and for which files.

    Parameters
    ----------
    folder : Path
        Of a training.
    server_key : str, optional
        Whose signature it has to be, 64 hexadecimal digits; anybody's where left out.

    Yields
    ------
    Check
        Of the link ``signature``.
    """
    try:
        document = load_json(read_bytes(folder / SIGNATURE_FILE, SIGNATURE_FILE), SIGNATURE_FILE)
        found = {name: digest(read_bytes(folder / name, name)) for name in SIGNED_FILES}
    except CertificateError as error:
        yield broken(_LINK, f"{error.found} instead of {error.expected}.")
        return
    if not is_signed(document, _KIND, server_key):
        whose = "anybody" if server_key is None else "the key that was asked for"
        yield broken(_LINK, f"This is no signature of {whose}.")
    elif document.get("files") != found:
        yield broken(_LINK, "The files are not those that were signed.",
                     stated=document.get("files"), recomputed=found)  # fmt: skip
    else:
        yield holds(_LINK, "The server has signed these very files.", source="Ed25519")
