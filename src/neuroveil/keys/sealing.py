"""Small files that hold one secret: read by their owner only, sealed by a passphrase.

scrypt (RFC 7914) stretches the passphrase, an authenticated cipher seals the secret, and what
stands in the open beside it is bound to it: neither can be exchanged without the other.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.keys.passphrases import PASSPHRASE_FILE, PASSPHRASE_VARIABLE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

Cipher = Literal["chacha20-poly1305", "aes-256-gcm"]

FORMAT_VERSION = 1
SCRYPT_COST = 1 << 17
"""Memory cost N of scrypt: 128 MiB with r = 8."""

_SCRYPT_BLOCK = 8
_LARGEST_COST = 1 << 20
_SALT_BYTES = 16
_NONCE_BYTES = 12
_MOST_BYTES = 10_000
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def open_to_others(status: os.stat_result) -> str:
    """Say whether others than its owner can reach a file that holds a secret.

    Parameters
    ----------
    status : os.stat_result
        Of the file.

    Returns
    -------
    str
        The mode, such as ``mode 644``; empty where nobody else can, or where modes say nothing
        (Windows).
    """
    if os.name != "posix" or not status.st_mode & _OTHERS:
        return ""
    return f"mode {status.st_mode & 0o777:o}"


OWNER_ONLY = "a file that only its owner can read"
"""What errors expect of such a file."""

CLOSE_IT = "Run `chmod 600` on it, and make a new one if others may have read it."
"""What to do about one that others can reach."""


@dataclass(frozen=True)
class SecretFile:
    """One kind of file that holds a secret.

    Parameters
    ----------
    where : str
        Its role, for errors.
    file_format : str
        What the field ``format`` of such a file says.
    made_by : str
        Command that makes one.
    otherwise : str
        What else a reader can do who has none; continues "Make one with ..., or".
    cipher : {"chacha20-poly1305", "aes-256-gcm"}
        Cipher of new files.
    """

    where: str
    file_format: str
    made_by: str
    otherwise: str
    cipher: Cipher

    def write_new(self, path: Path, data: bytes) -> None:
        """Write a file that does not exist yet and that only its owner can read.

        Parameters
        ----------
        path : Path
            The file.
        data : bytes
            Its content.

        Raises
        ------
        StudyError
            If the file exists or cannot be written.
        """
        try:
            _write_and_sync(path, data)
        except FileExistsError:
            raise self.mistake(
                "a file that does not exist yet", "an existing one",
                "Name another file: a key that is overwritten is lost for ever.",
            ) from None  # fmt: skip
        except OSError as error:
            raise self._not_written(error) from None

    def replace(self, path: Path, data: bytes) -> None:
        """Write a file anew, all of it or nothing.

        Parameters
        ----------
        path : Path
            The file.
        data : bytes
            Its new content.

        Raises
        ------
        StudyError
            If it cannot be written; the file is then as it was.
        """
        path = path.resolve()  # a link stays one, and the file that it names is replaced
        beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
        try:
            _write_and_sync(beside, data)
            beside.replace(path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise self._not_written(error) from None

    def read(self, path: Path) -> bytes:
        """Read a file, if nobody else can.

        Parameters
        ----------
        path : Path
            The file.

        Returns
        -------
        bytes
            Its content.

        Raises
        ------
        StudyError
            If it cannot be read, is too large, or other people can read it.
        """
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
                raise self.mistake("a small file", "something else", "Name the file of the key.")
            if found := open_to_others(status):
                raise self.mistake(OWNER_ONLY, found, CLOSE_IT)
            return path.read_bytes()
        except OSError as error:
            raise self.mistake(
                "a file that can be read", error.strerror or "none",
                f"Make one with `{self.made_by}`, or {self.otherwise}.",
            ) from None  # fmt: skip

    def document(self, data: bytes) -> dict[str, Any]:
        """Give the document of a sealed file.

        Parameters
        ----------
        data : bytes
            Content of a file.

        Returns
        -------
        dict
            Empty for any other file.
        """
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return {}
        is_ours = isinstance(document, dict) and document.get("format") == self.file_format
        return document if is_ours else {}

    def seal(self, head: dict[str, Any], secret: bytes, passphrase: str) -> bytes:
        """Seal a secret.

        Parameters
        ----------
        head : dict
            What may stand in the open; bound to the secret.
        secret : bytes
            What may not.
        passphrase : str
            Stretched to the cipher's key.

        Returns
        -------
        bytes
            Content of the file.

        Raises
        ------
        StudyError
            If the passphrase is empty.
        """
        if not passphrase.strip():
            raise self.mistake("a passphrase", "an empty one", "Choose a long phrase.")
        salt, nonce = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_NONCE_BYTES)
        kdf = {"name": "scrypt", "n": SCRYPT_COST, "r": _SCRYPT_BLOCK, "p": 1, "salt": salt.hex()}
        whole = {
            "format": self.file_format, "format_version": FORMAT_VERSION, **head,
            "kdf": kdf, "cipher": {"name": self.cipher, "nonce": nonce.hex()},
        }  # fmt: skip
        cipher = _cipher(self.cipher, _stretched(passphrase, salt, SCRYPT_COST))
        sealed = cipher.encrypt(nonce, secret, _bound_text(whole))
        return (json.dumps({**whole, "ciphertext": sealed.hex()}, indent=2) + "\n").encode()

    def open(self, document: dict[str, Any], passphrase: str | None) -> bytes:
        """Open what :meth:`seal` sealed.

        Parameters
        ----------
        document : dict
            As :meth:`document` gives it.
        passphrase : str or None
            What it was sealed with.

        Returns
        -------
        bytes
            The secret.

        Raises
        ------
        StudyError
            If the passphrase is missing or wrong, or the file was changed.
        """
        from cryptography.exceptions import InvalidTag

        if passphrase is None:
            raise self.no_passphrase()
        head = {key: value for key, value in document.items() if key != "ciphertext"}
        try:
            salt, cost = bytes.fromhex(document["kdf"]["salt"]), int(document["kdf"]["n"])
            nonce = bytes.fromhex(document["cipher"]["nonce"])
            sealed = bytes.fromhex(document["ciphertext"])
            if not 1 < cost <= _LARGEST_COST or cost & (cost - 1) or len(nonce) != _NONCE_BYTES:
                raise ValueError
            cipher = _cipher(document["cipher"]["name"], _stretched(passphrase, salt, cost))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise self.damaged() from None
        try:
            return cipher.decrypt(nonce, sealed, _bound_text(head))
        except (InvalidTag, ValueError):
            raise self.wrong_passphrase() from None

    def damaged(self) -> StudyError:
        """Make the refusal of a file that is not whole.

        Returns
        -------
        StudyError
            To be raised.
        """
        return self.mistake(
            f"a file as `{self.made_by}` writes it", "a damaged one",
            "Take the file from a backup.",
        )  # fmt: skip

    def no_passphrase(self) -> StudyError:
        """Make the refusal of a sealed file without its passphrase.

        Returns
        -------
        StudyError
            To be raised.
        """
        return self.mistake(
            "the key's passphrase", "none",
            f"Set {PASSPHRASE_VARIABLE}, or name a file that holds it in {PASSPHRASE_FILE}.",
        )  # fmt: skip

    def wrong_passphrase(self) -> StudyError:
        """Make the refusal of a wrong passphrase or a changed file: they cannot be told apart.

        Returns
        -------
        StudyError
            To be raised.
        """
        return self.mistake(
            "the key's passphrase, and the file as it was written",
            "another one, or a changed file",
            "Try again; without the passphrase the key cannot be recovered.",
        )  # fmt: skip

    def mistake(self, expected: str, found: str, remedy: str) -> StudyError:
        """Make a refusal that names this kind of file.

        Parameters
        ----------
        expected, found, remedy : str
            As in :class:`~neuroveil.errors.NeuroveilError`.

        Returns
        -------
        StudyError
            To be raised.
        """
        return StudyError([StudyMistake(self.where, expected, found, remedy)])

    def _not_written(self, error: OSError) -> StudyError:
        return self.mistake(
            "a place that can be written to", error.strerror or "none", "Choose another folder."
        )


def _write_and_sync(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        with open(descriptor, "wb") as stream:  # noqa: PTH123
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:  # a full disk: half a key in the way of the next try is of no use
        path.unlink(missing_ok=True)
        raise


def _cipher(name: str, key: bytes) -> AESGCM | ChaCha20Poly1305:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

    kinds: dict[str, type[AESGCM | ChaCha20Poly1305]] = {
        "chacha20-poly1305": ChaCha20Poly1305,
        "aes-256-gcm": AESGCM,
    }
    return kinds[name](key)


def _bound_text(head: dict[str, Any]) -> bytes:
    """What stands in the open is bound to what is sealed."""
    return json.dumps(head, sort_keys=True, separators=(",", ":")).encode()


def _stretched(passphrase: str, salt: bytes, cost: int) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    scrypt = Scrypt(salt=salt, length=32, n=cost, r=_SCRYPT_BLOCK, p=1)
    return scrypt.derive(passphrase.encode())
