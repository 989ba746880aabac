"""An encrypted file that keeps a project's linkage keys, the default key service.

It holds the current key and, while a rotation is under way, the previous one: for that window
a hospital can say which old GlobalID is which new one. Retiring a key erases it; its name
stays, so that ids made with it are recognised and refused.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neuroveil.errors import LinkageError, StudyError
from neuroveil.keys.sealing import SecretFile
from neuroveil.linkage.bloom import KEY_BYTES
from neuroveil.linkage.key_service import LinkageKey, LocalKeyService

KEYSTORE_FORMAT = "neuroveil-linkage-keystore"

_FILE = SecretFile(
    where="keystore of linkage keys",
    file_format=KEYSTORE_FORMAT,
    made_by="neuroveil link keygen",
    otherwise="unwrap the key that the project sent you",
    cipher="aes-256-gcm",
)


@dataclass(frozen=True, eq=False)
class Keystore:
    """Linkage keys in memory.

    Parameters
    ----------
    current : LinkageKey
        What new ids are made with.
    noise : bytes
        32 random bytes of this hospital alone, for the permanent noise of ``blip``.
    previous : LinkageKey, optional
        What ids were made with before, while a rotation is under way.
    retired : tuple of str
        Key ids of keys that are no longer used.
    """

    current: LinkageKey = field(repr=False)
    noise: bytes = field(repr=False)
    previous: LinkageKey | None = field(default=None, repr=False)
    retired: tuple[str, ...] = ()

    @property
    def service(self) -> LocalKeyService:
        """Computes with the current key."""
        return LocalKeyService(self.current, self.noise)

    @property
    def previous_service(self) -> LocalKeyService | None:
        """Computes with the previous key; None where no rotation is under way."""
        return LocalKeyService(self.previous, self.noise) if self.previous else None

    @property
    def states(self) -> dict[str, str]:
        """What each key is: ``current``, ``previous`` or ``retired``, by key id."""
        found = {self.service.key_id: "current"}
        if self.previous_service is not None:
            found[self.previous_service.key_id] = "previous"
        return found | dict.fromkeys(self.retired, "retired")

    def rotated(self, key: LinkageKey) -> Keystore:
        """Make a key the current one and keep the one before.

        Parameters
        ----------
        key : LinkageKey
            A new key.

        Returns
        -------
        Keystore
            With two keys.

        Raises
        ------
        LinkageError
            If a rotation is under way, or the key is known already.
        """
        if self.previous is not None:
            raise LinkageError(
                "rotation of the linkage key", "at most two keys at a time", "a third one",
                "Retire the previous key first.",
            )  # fmt: skip
        if LocalKeyService(key).key_id in self.states:
            raise LinkageError(
                "rotation of the linkage key", "a new key", "one that is or was in the keystore",
                "Make a new key with `neuroveil link rotate`.",
            )  # fmt: skip
        return replace(self, current=key, previous=self.current)

    def without_previous(self) -> Keystore:
        """Retire the previous key for good.

        Returns
        -------
        Keystore
            With the current key alone.

        Raises
        ------
        LinkageError
            If there is no previous key.
        """
        service = self.previous_service
        if service is None:
            raise LinkageError(
                "rotation of the linkage key", "a previous key to retire", "none",
                "The current key is retired by rotating first.",
            )  # fmt: skip
        return replace(self, previous=None, retired=(*self.retired, service.key_id))


def create_keystore(path: Path, passphrase: str, key: LinkageKey | None = None) -> Keystore:
    """Write a keystore to a new file that only its owner can read.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    passphrase : str
        Encrypts it; a keystore without one does not exist.
    key : LinkageKey, optional
        The key that the project sent; a new one by default.

    Returns
    -------
    Keystore
        With one key.

    Raises
    ------
    StudyError
        If the file exists or cannot be written, or the passphrase is empty.
    """
    store = Keystore(key or LinkageKey.generate(), secrets.token_bytes(KEY_BYTES))
    _FILE.write_new(path, _sealed(store, passphrase))
    return store


def load_keystore(path: Path, passphrase: str | None) -> Keystore:
    """Open a keystore.

    Parameters
    ----------
    path : Path
        As :func:`create_keystore` wrote it.
    passphrase : str or None
        What it is encrypted with.

    Returns
    -------
    Keystore
        Its keys.

    Raises
    ------
    StudyError
        If the file cannot be read, is no keystore, other people can read it, or the passphrase
        is missing or wrong.
    """
    document = _FILE.document(_FILE.read(path))
    if not document:
        raise _FILE.mistake(
            "a keystore of linkage keys", "another file",
            "Make one with `neuroveil link keygen`.",
        )  # fmt: skip
    secret = _FILE.open(document, passphrase)
    return _unpacked(document, secret)


def update_keystore(path: Path, store: Keystore, passphrase: str) -> None:
    """Write a changed keystore over its file, all of it or nothing.

    Parameters
    ----------
    path : Path
        The file.
    store : Keystore
        Its new content.
    passphrase : str
        Encrypts it.

    Raises
    ------
    StudyError
        If it cannot be written.
    """
    _FILE.replace(path, _sealed(store, passphrase))


def require_passphrase(passphrase: str | None) -> str:
    """Refuse to go on without a passphrase.

    Parameters
    ----------
    passphrase : str or None
        As it was found.

    Returns
    -------
    str
        The same.

    Raises
    ------
    StudyError
        If there is none.
    """
    if passphrase is None:
        raise _FILE.no_passphrase()
    return passphrase


def _sealed(store: Keystore, passphrase: str) -> bytes:
    keys = [{"key_id": key_id, "state": state} for key_id, state in store.states.items()]
    kept = (store.current, store.previous)
    secret = store.noise + b"".join(key.secret for key in kept if key is not None)
    return _FILE.seal({"keys": keys}, secret, passphrase)


def _unpacked(document: dict[str, Any], secret: bytes) -> Keystore:
    """Give the keys of an opened file; what stands in the open is authentic by now."""
    if len(secret) not in (2 * KEY_BYTES, 3 * KEY_BYTES):
        raise _FILE.damaged()
    starts = range(KEY_BYTES, len(secret), KEY_BYTES)
    keys = [LinkageKey(secret[start : start + KEY_BYTES]) for start in starts]
    retired = tuple(each["key_id"] for each in document["keys"] if each["state"] == "retired")
    previous = keys[1] if len(keys) > 1 else None
    store = Keystore(keys[0], secret[:KEY_BYTES], previous, retired)
    if [each["key_id"] for each in document["keys"]] != list(store.states):
        raise _changed_rules()
    return store


def _changed_rules() -> StudyError:
    return _FILE.mistake(
        "keys that derive to the key ids in the file", "other key ids",
        "Use the version of neuroveil that wrote it.",
    )  # fmt: skip
