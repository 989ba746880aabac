"""Keep a private key in one file that only its owner can read.

Without a passphrase the file is PEM (PKCS #8, RFC 5208), which other programs read too. With
one it is a small JSON file: scrypt (RFC 7914) makes the key for ChaCha20-Poly1305 (RFC 8439).
PKCS #8 has encryption of its own, but the library derives its key by 2,048 rounds of PBKDF2,
which a graphics card tries thousands of times a second.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.keys.site_key import ALGORITHM, SiteKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT = "neuroveil-signing-key"
FORMAT_VERSION = 1
SCRYPT_COST = 1 << 17
"""Memory cost N of scrypt: 128 MiB with r = 8."""

_SCRYPT_BLOCK = 8
_LARGEST_COST = 1 << 20
_SALT_BYTES = 16
_NONCE_BYTES = 12
_MOST_BYTES = 10_000
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WHERE = "signing key"


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

    if passphrase is not None and not passphrase.strip():
        raise _mistake("a passphrase, or none at all", "an empty one", "Choose a long phrase.")
    private = Ed25519PrivateKey.generate()
    data = _as_pem(private) if passphrase is None else _sealed(private, passphrase)
    _write_new(path, data)
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
    data = _read(path)
    document = _json_of(data)
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
    data = _read(path)
    return bool(_json_of(data)) or b"ENCRYPTED" in data.partition(b"\n")[0]


def _write_new(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with open(os.open(path, flags, 0o600), "wb") as stream:  # noqa: PTH123
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        raise _mistake(
            "a file that does not exist yet", "an existing one",
            "Name another file: a key that is overwritten is lost for ever.",
        ) from None  # fmt: skip
    except OSError as error:
        raise _mistake(
            "a place that can be written to", error.strerror or "none", "Choose another folder."
        ) from None


def _read(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            raise _mistake("a small file", "something else", "Name the file of the key.")
        if os.name == "posix" and status.st_mode & _OTHERS:
            raise _mistake(
                "a file that only its owner can read", f"mode {status.st_mode & 0o777:o}",
                "Run `chmod 600` on it, and make a new key if others may have read it.",
            )  # fmt: skip
        return path.read_bytes()
    except OSError as error:
        raise _mistake(
            "a file that can be read", error.strerror or "none",
            "Make a key with `neuroveil keys create`, or correct output.signing_key.",
        ) from None  # fmt: skip


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
        raise _no_passphrase()
    try:
        key = load_pem_private_key(data, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if encrypted:
            raise _wrong_passphrase() from None
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise _mistake(
            "an Ed25519 private key", "something else",
            "Make a key with `neuroveil keys create`.",
        )  # fmt: skip
    return key


def _sealed(private: Ed25519PrivateKey, passphrase: str) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    salt, nonce = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_NONCE_BYTES)
    head: dict[str, Any] = {
        "format": FORMAT, "format_version": FORMAT_VERSION, "algorithm": ALGORITHM,
        "public_key": private.public_key().public_bytes_raw().hex(),
        "kdf": {"name": "scrypt", "n": SCRYPT_COST, "r": _SCRYPT_BLOCK, "p": 1, "salt": salt.hex()},
        "cipher": {"name": "chacha20-poly1305", "nonce": nonce.hex()},
    }  # fmt: skip
    cipher = ChaCha20Poly1305(_stretched(passphrase, salt, SCRYPT_COST))
    sealed = cipher.encrypt(nonce, private.private_bytes_raw(), _bound_text(head))
    return (json.dumps({**head, "ciphertext": sealed.hex()}, indent=2) + "\n").encode()


def _opened(document: dict[str, Any], passphrase: str | None) -> Ed25519PrivateKey:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    if passphrase is None:
        raise _no_passphrase()
    head = {key: value for key, value in document.items() if key != "ciphertext"}
    try:
        salt, cost = bytes.fromhex(document["kdf"]["salt"]), int(document["kdf"]["n"])
        nonce = bytes.fromhex(document["cipher"]["nonce"])
        sealed = bytes.fromhex(document["ciphertext"])
        if not 1 < cost <= _LARGEST_COST or cost & (cost - 1) or len(nonce) != _NONCE_BYTES:
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _mistake(
            "a key file as `neuroveil keys create` writes it", "a damaged one",
            "Take the file from a backup.",
        ) from None  # fmt: skip
    try:
        cipher = ChaCha20Poly1305(_stretched(passphrase, salt, cost))
        private = Ed25519PrivateKey.from_private_bytes(
            cipher.decrypt(nonce, sealed, _bound_text(head))
        )
    except (InvalidTag, ValueError):
        raise _wrong_passphrase() from None
    return private


def _bound_text(head: dict[str, Any]) -> bytes:
    """What stands in the open is bound to what is sealed."""
    return json.dumps(head, sort_keys=True, separators=(",", ":")).encode()


def _stretched(passphrase: str, salt: bytes, cost: int) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    scrypt = Scrypt(salt=salt, length=32, n=cost, r=_SCRYPT_BLOCK, p=1)
    return scrypt.derive(passphrase.encode())


def _json_of(data: bytes) -> dict[str, Any]:
    """The document of an encrypted file; empty for any other."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    is_ours = isinstance(document, dict) and document.get("format") == FORMAT
    return document if is_ours else {}


def _no_passphrase() -> StudyError:
    from neuroveil.keys.passphrases import PASSPHRASE_FILE, PASSPHRASE_VARIABLE

    return _mistake(
        "the key's passphrase", "none",
        f"Set {PASSPHRASE_VARIABLE}, or name a file that holds it in {PASSPHRASE_FILE}.",
    )  # fmt: skip


def _wrong_passphrase() -> StudyError:
    return _mistake(
        "the key's passphrase, and the file as it was written", "another one, or a changed file",
        "Try again; without the passphrase the key cannot be recovered.",
    )  # fmt: skip


def _mistake(expected: str, found: str, remedy: str) -> StudyError:
    return StudyError([StudyMistake(_WHERE, expected, found, remedy)])
