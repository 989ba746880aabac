"""Keep a private key in one file that only its owner can read.

Without a passphrase the file is PEM (PKCS #8, RFC 5208), which other programs read too. With
one it is a small JSON file: scrypt (RFC 7914) makes the key for ChaCha20-Poly1305 (RFC 8439).
PKCS #8 has encryption of its own, but the library derives its key by 2,048 rounds of PBKDF2,
which a graphics card tries thousands of times a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuroveil.keys.sealing import SecretFile
from neuroveil.keys.site_key import ALGORITHM, SiteKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_FILE = SecretFile(
    where="signing key",
    file_format="neuroveil-signing-key",
    made_by="neuroveil keys create",
    otherwise="correct output.signing_key",
    cipher="chacha20-poly1305",
)


def create_key(path: Path, passphrase: str | None = None) -> SiteKey:
    """Make a key and write it to a new file that only its owner can read.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    passphrase : str, optional
        Encrypts the file; without one it is protected by its file mode alone.

    Returns
    -------
    SiteKey
        The key.

    Raises
    ------
    StudyError
        If the file exists or cannot be written, or the passphrase is empty.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    if passphrase is None:
        data = _as_pem(private)
    else:
        public = private.public_key().public_bytes_raw().hex()
        head = {"algorithm": ALGORITHM, "public_key": public}
        data = _FILE.seal(head, private.private_bytes_raw(), passphrase)
    _FILE.write_new(path, data)
    return SiteKey(private)


def load_key(path: Path, passphrase: str | None = None) -> SiteKey:
    """Read a key.

    Parameters
    ----------
    path : Path
        As written by :func:`create_key`, or an Ed25519 key as PEM.
    passphrase : str, optional
        What the file is encrypted with.

    Returns
    -------
    SiteKey
        The key.

    Raises
    ------
    StudyError
        If the file cannot be read, other people can read it, it holds no Ed25519 key, or the
        passphrase is missing or wrong.
    """
    data = _FILE.read(path)
    document = _FILE.document(data)
    private = _opened(document, passphrase) if document else _from_pem(data, passphrase)
    return SiteKey(private)


def is_encrypted(path: Path) -> bool:
    """Whether a passphrase is needed to read a key.

    Parameters
    ----------
    path : Path
        A key file.

    Returns
    -------
    bool
        True for encrypted files.

    Raises
    ------
    StudyError
        If the file cannot be read, or other people can read it.
    """
    data = _FILE.read(path)
    return bool(_FILE.document(data)) or b"ENCRYPTED" in data.partition(b"\n")[0]


def _as_pem(private: Ed25519PrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _from_pem(data: bytes, passphrase: str | None) -> Ed25519PrivateKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    encrypted = b"ENCRYPTED" in data.partition(b"\n")[0]
    secret = passphrase.encode() if passphrase and encrypted else None
    if encrypted and secret is None:
        raise _FILE.no_passphrase()
    try:
        key = load_pem_private_key(data, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if encrypted:
            raise _FILE.wrong_passphrase() from None
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise _FILE.mistake(
            "an Ed25519 private key", "something else",
            "Make a key with `neuroveil keys create`.",
        )  # fmt: skip
    return key


def _opened(document: dict[str, Any], passphrase: str | None) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret = _FILE.open(document, passphrase)
    try:
        return Ed25519PrivateKey.from_private_bytes(secret)
    except ValueError:
        raise _FILE.damaged() from None
