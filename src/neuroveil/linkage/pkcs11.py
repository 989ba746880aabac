"""A key service in a hardware security module, by PKCS #11 (OASIS, version 2.40).

The separated keys lie in the module as generic secrets that are sensitive and not extractable;
the module computes HMAC-SHA256. A key that could be read out is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import KEY_BYTES
from neuroveil.linkage.key_service import KeyService, LinkageKey, Purpose

_WHERE = "hardware module"


@dataclass(frozen=True)
class Token:
    """Where keys are and how to get in.

    Parameters
    ----------
    module : Path
        The library of the module's maker.
    label : str
        Name of the token.
    pin : str
        User PIN; never printed.
    name : str
        First part of the labels of the keys.
    """

    module: Path
    label: str
    pin: str = field(repr=False)
    name: str = "neuroveil"

    def key_label(self, purpose: Purpose) -> str:
        """Name a key.

        Parameters
        ----------
        purpose : {"mac", "fields", "hardening", "noise"}
            What it is for.

        Returns
        -------
        str
            Its label.
        """
        return f"{self.name}-{purpose}"


class Pkcs11KeyService(KeyService):
    """Has a hardware module compute HMACs.

    Parameters
    ----------
    token : Token
        Where the keys are.

    Raises
    ------
    LinkageError
        If the module cannot be opened, or refuses the PIN.
    """

    def __init__(self, token: Token) -> None:
        self.token = token
        self._session = _open(token, writes=False)
        self._keys: dict[Purpose, Any] = {}

    def hmac_sha256(self, purpose: Purpose, messages: Sequence[bytes]) -> list[bytes]:
        """Have HMAC-SHA256 of messages computed.

        Parameters
        ----------
        purpose : {"mac", "fields", "hardening", "noise"}
            Under which key.
        messages : sequence of bytes
            What is authenticated.

        Returns
        -------
        list of bytes
            32 bytes each, in the same order.

        Raises
        ------
        LinkageError
            If there is no such key, it can be read out, or the module refuses.
        """
        pkcs11 = _library()
        try:
            key = self._keys.get(purpose) or self._find(purpose)
            self._keys[purpose] = key
            return [
                bytes(key.sign(message, mechanism=pkcs11.Mechanism.SHA256_HMAC))
                for message in messages
            ]
        except pkcs11.exceptions.PKCS11Error as error:
            raise _refused("an HMAC", type(error).__name__) from None

    def close(self) -> None:
        """Log out."""
        self._session.close()

    def _find(self, purpose: Purpose) -> Any:
        """Find a key, and refuse one that the module would give away."""
        pkcs11 = _library()
        label = self.token.key_label(purpose)
        wanted = {
            pkcs11.Attribute.CLASS: pkcs11.ObjectClass.SECRET_KEY, pkcs11.Attribute.LABEL: label
        }  # fmt: skip
        found = list(self._session.get_objects(wanted))
        if len(found) != 1:
            raise _refused(
                f"one key for {purpose}", f"{len(found)}",
                "Deposit the linkage key with `neuroveil link deposit`, or correct the name.",
            )  # fmt: skip
        if found[0][pkcs11.Attribute.EXTRACTABLE] or not found[0][pkcs11.Attribute.SENSITIVE]:
            raise _refused(
                "a key that cannot be read out", "one that can",
                "Delete it from the token and deposit it again.",
            )  # fmt: skip
        return found[0]


def deposit_in_token(token: Token, key: LinkageKey) -> None:
    """Put the separated keys into a hardware module, and make the hospital's own there.

    Parameters
    ----------
    token : Token
        An initialised token.
    key : LinkageKey
        The project's secret.

    Raises
    ------
    LinkageError
        If the module refuses, or a key of that name is there already.
    """
    pkcs11 = _library()
    session = _open(token, writes=True)
    try:
        taken = {
            each[pkcs11.Attribute.LABEL]
            for each in session.get_objects({pkcs11.Attribute.CLASS: pkcs11.ObjectClass.SECRET_KEY})
        }
        separated = key.separated()
        if taken & {token.key_label(purpose) for purpose in separated}:
            raise _refused("no key of this name", "one", "Choose another name for this key.")
        for purpose, secret in separated.items():
            session.create_object(_template(token.key_label(purpose), secret))
        if token.key_label("noise") not in taken:
            noise = secrets.token_bytes(KEY_BYTES)
            session.create_object(_template(token.key_label("noise"), noise))
    except pkcs11.exceptions.PKCS11Error as error:
        raise _refused("room for the keys", type(error).__name__) from None
    finally:
        session.close()


def _template(label: str, secret: bytes) -> dict[Any, Any]:
    pkcs11 = _library()
    attribute = pkcs11.Attribute
    return {
        attribute.CLASS: pkcs11.ObjectClass.SECRET_KEY,
        attribute.KEY_TYPE: pkcs11.KeyType.GENERIC_SECRET,
        attribute.VALUE: secret,
        attribute.LABEL: label,
        attribute.TOKEN: True,
        attribute.PRIVATE: True,
        attribute.SENSITIVE: True,
        attribute.EXTRACTABLE: False,
        attribute.MODIFIABLE: False,
        attribute.SIGN: True,
    }


def _library() -> ModuleType:
    try:
        import pkcs11
    except ImportError:
        raise _refused(
            "the package python-pkcs11", "none", "Install it: pip install 'neuroveil[pkcs11]'."
        ) from None
    return pkcs11


def _open(token: Token, *, writes: bool) -> Any:
    pkcs11 = _library()
    try:
        opened = pkcs11.lib(str(token.module)).get_token(token_label=token.label)
        try:
            return opened.open(rw=writes, user_pin=token.pin)
        except pkcs11.exceptions.UserAlreadyLoggedIn:
            # A login holds for the whole process, and another session of it gave the PIN.
            return opened.open(rw=writes)
    except (pkcs11.exceptions.PinIncorrect, pkcs11.exceptions.PinLocked):
        raise _refused("the token's PIN", "another one", "Three wrong ones may lock it.") from None
    except (pkcs11.exceptions.PKCS11Error, RuntimeError, OSError) as error:
        raise _refused("a module and a token that can be opened", type(error).__name__) from None


def _refused(
    expected: str, found: str, remedy: str = "Check the module, the token's label and the PIN."
) -> LinkageError:
    return LinkageError(_WHERE, expected, found, remedy)
