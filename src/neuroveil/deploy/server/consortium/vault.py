"""Rows at rest: every chunk sealed with its study's data key, which is sealed by a key service.

Deleting a study's rows erases the data key too: what a disk still holds of them stays unread.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import sqlalchemy as sa

from neuroveil.deploy.server.settings import ServerSettings
from neuroveil.deploy.server.tables import DATA_KEY
from neuroveil.errors import LinkageError, MachineError
from neuroveil.keys import PASSPHRASE_FILE, PASSPHRASE_VARIABLE, find_passphrase
from neuroveil.linkage.key_service import KeyService
from neuroveil.linkage.keystore import create_keystore
from neuroveil.linkage.services import opened_service

PASSPHRASE_BESIDE = "data.passphrase"
"""File beside the keystore with its passphrase, where the environment names none."""

_NONCE_BYTES = 12
_KEY_BYTES = 32


class Vault:
    """Seals and opens with the data keys of studies.

    Parameters
    ----------
    service : KeyService
        The server's own; it has nothing to do with the linkage key of the hospitals, which this
        server never sees. Its key for ``"noise"`` belongs to nobody else.
    """

    def __init__(self, service: KeyService) -> None:
        (wrapping,) = service.hmac_sha256("noise", [b"neuroveil-data-key:1"])
        (self._content_key,) = service.hmac_sha256("noise", [b"neuroveil-content:1"])
        self._wrapping = wrapping

    def content_mac(self, digest: str) -> str:
        """Name a content that is private, so that the name tells nothing about it.

        Parameters
        ----------
        digest : str
            ``sha256:…`` of the content; never written down, since it would confirm a guess.

        Returns
        -------
        str
            64 hexadecimal digits.
        """
        import hmac

        return hmac.digest(self._content_key, digest.encode(), "sha256").hex()

    def data_key(self, connection: sa.Connection, study: str, make: bool = False) -> bytes:
        """Get the data key of a study.

        Parameters
        ----------
        connection : sqlalchemy.Connection
            In a transaction; one that writes where a key is to be made.
        study : str
            Whose.
        make : bool
            Whether to make one where there is none.

        Returns
        -------
        bytes
            For AES-256-GCM.

        Raises
        ------
        MachineError
            If there is none, or it was sealed by another key service.
        """
        wanted = sa.select(DATA_KEY.c.wrapped).where(DATA_KEY.c.study == study)
        wrapped = connection.execute(wanted).scalar()
        bound = f"data key of {study}"
        if wrapped is not None:
            return unseal(self._wrapping, bytes(wrapped), bound)
        if not make:
            raise _unreadable("a data key", "none: the rows were deleted")
        key = secrets.token_bytes(_KEY_BYTES)
        sealed = seal(self._wrapping, key, bound)
        connection.execute(DATA_KEY.insert().values(study=study, wrapped=sealed))
        return key


def seal(key: bytes, data: bytes, bound: str) -> bytes:
    """Seal data with AES-256-GCM (NIST SP 800-38D).

    Parameters
    ----------
    key : bytes
        32 bytes.
    data : bytes
        What is sealed.
    bound : str
        Where it belongs: sealed data cannot be moved to another place.

    Returns
    -------
    bytes
        Nonce and ciphertext.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, data, bound.encode())


def unseal(key: bytes, sealed: bytes, bound: str) -> bytes:
    """Open what :func:`seal` sealed.

    Parameters
    ----------
    key : bytes
        32 bytes.
    sealed : bytes
        Nonce and ciphertext.
    bound : str
        Where it belongs.

    Returns
    -------
    bytes
        The data.

    Raises
    ------
    MachineError
        If it was changed or moved, or the key is another one.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        nonce, ciphertext = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        return AESGCM(key).decrypt(nonce, ciphertext, bound.encode())
    except (InvalidTag, ValueError):
        raise _unreadable("rows as they were sealed", "changed ones, or another key") from None


def create_data_keystore(place: Path) -> None:
    """Make the embedded key service of a new server.

    Parameters
    ----------
    place : Path
        A file that does not exist yet. Where the environment names no passphrase, one is made
        and written beside it, for its owner only.
    """
    passphrase = find_passphrase()
    if passphrase is None:
        passphrase = secrets.token_urlsafe(32)
        number = os.open(
            place.with_name(PASSPHRASE_BESIDE), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600
        )
        with open(number, "w", encoding="ascii") as stream:  # noqa: PTH123
            stream.write(passphrase + "\n")
    create_keystore(place, passphrase)


def open_vault(settings: ServerSettings) -> Vault:
    """Open the key service that the settings name.

    Parameters
    ----------
    settings : ServerSettings
        Of a server that protects studies.

    Returns
    -------
    Vault
        With the keys that it derives from; the service itself is left again.

    Raises
    ------
    StudyError
        If the service, or its passphrase, is not there.
    """
    place = settings.root / settings.require_trusted().key_service
    with ExitStack() as stack:
        service = stack.enter_context(opened_service(place, _beside(place.parent)))
        try:
            return Vault(service.current)
        except LinkageError as error:
            raise MachineError(
                "key service", "a key of the server's own, named noise", error.found,
                "Deposit one: see docs/trusted-server.md.",
            ) from None  # fmt: skip


def _beside(folder: Path) -> Callable[[], str | None]:
    def read() -> str | None:
        try:
            return (folder / PASSPHRASE_BESIDE).read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    return read


def _unreadable(expected: str, found: str) -> MachineError:
    return MachineError(
        "sealed rows", expected, found,
        f"Check trusted.key_service, {PASSPHRASE_VARIABLE} and {PASSPHRASE_FILE}.",
    )  # fmt: skip
