"""Whose signature a certificate carries, and whether it fits.

The one place in verification that needs more than the standard library: the Ed25519 arithmetic
of the package ``cryptography``, which is imported when there is a signature to check.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify.document import canonical_digest, load_json, read_bytes
from neuroveil.privacy.verify.findings import broken, finding, holds
from neuroveil.privacy.verify.result import Check
from neuroveil.privacy.verify.statement import Statement
from neuroveil.privacy.verify.structure import signature

_SOURCE = "Ed25519, RFC 8032"
_HEXADECIMAL = re.compile(r"[0-9a-f]{64}")
_PEM_START = "-----BEGIN PUBLIC KEY-----"
_LONGEST_KEY_FILE = 10_000


def fingerprint(public_key: str) -> str:
    """Short name of a key that people can compare.

    Parameters
    ----------
    public_key : str
        64 hexadecimal digits.

    Returns
    -------
    str
        The first 16 bytes of SHA-256 over the key's 32 bytes, in groups of four digits.
    """
    digits = hashlib.sha256(bytes.fromhex(public_key)).hexdigest()[:32]
    return " ".join(digits[start : start + 4] for start in range(0, 32, 4))


def read_public_key(path: Path) -> str:
    """Read a site's public key.

    Parameters
    ----------
    path : Path
        A text file with 64 hexadecimal digits, or a PEM file.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    CertificateError
        If it holds no Ed25519 public key.
    """
    data = read_bytes(path, "public key")
    text = data.decode("ascii", "replace").strip() if len(data) <= _LONGEST_KEY_FILE else ""
    if _HEXADECIMAL.fullmatch(text.lower()):
        return text.lower()
    if text.startswith(_PEM_START):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key

        try:
            key = load_pem_public_key(data)
        except ValueError:
            key = None
        if isinstance(key, Ed25519PublicKey):
            return key.public_bytes_raw().hex()
    raise CertificateError(
        "public key", "64 hexadecimal digits, or an Ed25519 key as PEM", "something else",
        "Ask the site for its public key; `neuroveil keys public` writes it.",
    )  # fmt: skip


def check_signature(statement: Statement, public_key: str | None) -> Iterator[Check]:
    """Check the signature of a certificate.

    Parameters
    ----------
    statement : Statement
        The certificate.
    public_key : str or None
        The key that has to have signed it, 64 hexadecimal digits; any where left out.

    Yields
    ------
    Check
        Nothing where there is no signature and none is asked for.
    """
    stated = statement.document.get("signature")
    if stated is None:
        if public_key is not None:
            yield broken("signature.value", "The certificate is not signed.", source=_SOURCE)
        return
    if not signature().fits(stated):
        yield broken("signature.value", "The signature does not have its form.", source=_SOURCE)
        return
    whose = stated["public_key"]
    if public_key is not None and whose != public_key:
        yield broken(
            "signature.public_key",
            f"It is signed by another key, {fingerprint(whose)}, not by {fingerprint(public_key)}.",
            stated=whose, recomputed=public_key, source=_SOURCE,
        )  # fmt: skip
    fits = _fits(whose, stated["value"], signed_bytes(statement))
    known = "the key that was asked for" if whose == public_key else "the key"
    yield finding(
        "holds" if fits else "broken", "signature.value",
        f"The certificate is signed by {known} {fingerprint(whose)}."
        if fits
        else "The signature does not fit: the certificate was changed after it was signed, or "
        "signed with another key.",
        stated=whose, source=_SOURCE,
    )  # fmt: skip


def signed_bytes(statement: Statement) -> bytes:
    """What a signature is over: the canonical JSON of all but the signature.

    Parameters
    ----------
    statement : Statement
        The certificate.

    Returns
    -------
    bytes
        UTF-8.
    """
    document = {key: value for key, value in statement.document.items() if key != "signature"}
    text = json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def _fits(public_key: str, value: str, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(value), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def check_previous(statement: Statement, previous: Path) -> Iterator[Check]:
    """Check that a certificate follows another one.

    Parameters
    ----------
    statement : Statement
        The certificate.
    previous : Path
        The certificate that it should follow.

    Yields
    ------
    Check
        Whether its ``previous_hash`` is that certificate's digest.
    """
    before = canonical_digest(load_json(read_bytes(previous, "previous certificate"), "previous"))
    stated = statement.document.get("previous_hash")
    words = "This certificate follows the one that was given as the previous one"
    if stated == before:
        yield holds("document.previous_hash", f"{words}.", source="SHA-256")
    else:
        yield broken(
            "document.previous_hash", f"{words.replace('follows', 'does not follow')}.",
            recomputed=before, source="SHA-256",
        )  # fmt: skip
