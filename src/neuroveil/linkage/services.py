"""Open the key service that a hospital uses: a keystore file, a server, or a hardware module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.keys import find_passphrase, find_secret
from neuroveil.linkage.key_service import PURPOSES, KeyService, LinkageKey, LocalKeyService
from neuroveil.linkage.keystore import load_keystore
from neuroveil.linkage.openbao import OpenBaoKeyService, deposit_in_openbao, fetch_wrapped
from neuroveil.linkage.openbao_client import AppRole, OpenBaoAddress, OpenBaoClient
from neuroveil.linkage.pkcs11 import Pkcs11KeyService, Token, deposit_in_token
from neuroveil.study.section import Section, Text
from neuroveil.study.validation import read_toml, validated

SECRET_ID_VARIABLE = "NEUROVEIL_OPENBAO_SECRET_ID"
"""Variable that holds the secret id of the hospital's AppRole."""

ADMINISTRATOR_VARIABLE = "NEUROVEIL_OPENBAO_TOKEN"
"""Variable that holds an administrator's token, for depositing keys."""

PIN_VARIABLE = "NEUROVEIL_PKCS11_PIN"
"""Variable that holds the user PIN of a hardware module."""


class OpenBaoSection(Section):
    """``[openbao]``: a server inside the hospital.

    Parameters
    ----------
    url : str
        ``https://HOST:PORT``.
    role_id : str
        The hospital's AppRole.
    ca_file : str
        Certificates of the hospital's own authority, from the file's folder; empty for the
        system's.
    mount, approle_mount : str
        Where the transit engine and AppRole are mounted.
    name : str
        First part of the names of the current keys.
    previous_name : str
        The same of the previous keys, while a rotation is under way; empty for none.
    """

    url: Text
    role_id: str = ""
    ca_file: str = ""
    mount: Text = "transit"
    approle_mount: Text = "approle"
    name: Text = "neuroveil"
    previous_name: str = ""


class Pkcs11Section(Section):
    """``[pkcs11]``: a hardware module.

    Parameters
    ----------
    module : str
        The library of the module's maker.
    token : str
        Label of the token.
    name : str
        First part of the labels of the current keys.
    previous_name : str
        The same of the previous keys, while a rotation is under way; empty for none.
    """

    module: Text
    token: Text
    name: Text = "neuroveil"
    previous_name: str = ""


class ServiceSettings(Section):
    """A key service's settings file.

    Parameters
    ----------
    key_id : str
        The key id that the project announced; a service with another key is refused.
    openbao : OpenBaoSection, optional
        A server inside the hospital.
    pkcs11 : Pkcs11Section, optional
        A hardware module.
    """

    key_id: Text
    openbao: OpenBaoSection | None = None
    pkcs11: Pkcs11Section | None = None

    def mistakes(self) -> list[StudyMistake]:
        """List settings that do not fit together.

        Returns
        -------
        list of StudyMistake
            Empty where exactly one service is stated.
        """
        if (self.openbao is None) != (self.pkcs11 is None):
            return []
        found = "both" if self.openbao else "neither"
        return [StudyMistake("openbao", "either [openbao] or [pkcs11]", found, "Keep one.")]


@dataclass(frozen=True, eq=False)
class OpenedService:
    """A key service that is ready.

    Parameters
    ----------
    current : KeyService
        Computes with the current key.
    previous : KeyService or None
        Computes with the previous one, while a rotation is under way.
    """

    current: KeyService
    previous: KeyService | None


@contextmanager
def opened_service(
    path: Path, ask: Callable[[], str | None] | None = None
) -> Iterator[OpenedService]:
    """Open a key service, and leave it at the end.

    Parameters
    ----------
    path : Path
        A keystore, or a file of settings that ends in ``.toml``.
    ask : callable, optional
        Asks a person for the keystore's passphrase, where the environment says nothing.

    Yields
    ------
    OpenedService
        The current and the previous key.

    Raises
    ------
    LinkageError
        If the service refuses, or holds another key than its settings say.
    StudyError
        If the file is wrong, or a secret is missing.
    """
    if path.suffix != ".toml":
        store = load_keystore(path, find_passphrase(ask))
        yield OpenedService(store.service, store.previous_service)
        return
    settings = _load(path)
    with ExitStack() as stack:
        if settings.openbao is not None:
            opened = _openbao(settings.openbao, path.parent, stack)
        else:
            assert settings.pkcs11 is not None
            opened = _pkcs11(settings.pkcs11, stack)
        opened.current.require_key_id(settings.key_id)
        yield opened


def deposit(path: Path, key: LinkageKey) -> None:
    """Put a linkage key into the server or module that settings name.

    Parameters
    ----------
    path : Path
        A file of settings.
    key : LinkageKey
        The project's secret.

    Raises
    ------
    LinkageError
        If the key is not the one that the settings say, or the service refuses.
    StudyError
        If the file is wrong, or a secret is missing.
    """
    settings = _load(path)
    LocalKeyService(key).require_key_id(settings.key_id)
    if settings.openbao is not None:
        address = _address(settings.openbao, path.parent)
        client = OpenBaoClient(address, _secret(ADMINISTRATOR_VARIABLE))
        try:
            deposit_in_openbao(client, key)
        finally:
            client.close()
    elif settings.pkcs11 is not None:
        deposit_in_token(_token(settings.pkcs11), key)


def described(path: Path) -> dict[str, Any]:
    """Say which keys a service needs, and what the role that computes with them may do.

    Parameters
    ----------
    path : Path
        A file of settings.

    Returns
    -------
    dict
        ``service``; ``keys``, their names; ``policy``, empty for a hardware module.

    Raises
    ------
    StudyError
        If the file is wrong.
    """
    settings = _load(path)
    if settings.openbao is not None:
        address = _address(settings.openbao, path.parent)
        keys = [address.key_name(purpose) for purpose in PURPOSES]
        return {"service": "openbao", "keys": keys, "policy": address.policy()}
    assert settings.pkcs11 is not None
    keys = [f"{settings.pkcs11.name}-{purpose}" for purpose in PURPOSES]
    return {"service": "pkcs11", "keys": keys, "policy": ""}


def fetched(path: Path, place: str) -> object:
    """Read this hospital's wrapped key from a central server.

    Parameters
    ----------
    path : Path
        A file of settings with ``[openbao]``.
    place : str
        Below ``/v1/``.

    Returns
    -------
    object
        For :func:`~neuroveil.linkage.wrapping.unwrap`.

    Raises
    ------
    LinkageError
        If the server refuses, or nothing is there.
    StudyError
        If the settings name no server, or a secret is missing.
    """
    section = _load(path).openbao
    if section is None:
        raise StudyError([StudyMistake(
            "openbao", "a server to fetch from", "none", "Add the section [openbao]."
        )])  # fmt: skip
    client = OpenBaoClient(_address(section, path.parent))
    try:
        client.log_in(_role(section))
        return fetch_wrapped(client, place)
    finally:
        client.close()


def _load(path: Path) -> ServiceSettings:
    document = read_toml(path, "settings of the key service", "See docs/linkage.md for one.")
    return validated(ServiceSettings, document)


def _openbao(section: OpenBaoSection, folder: Path, stack: ExitStack) -> OpenedService:
    role = _role(section)

    def service(name: str) -> KeyService:
        client = OpenBaoClient(replace(_address(section, folder), name=name))
        stack.callback(client.close)
        client.log_in(role)
        return OpenBaoKeyService(client)

    previous = service(section.previous_name) if section.previous_name else None
    return OpenedService(service(section.name), previous)


def _pkcs11(section: Pkcs11Section, stack: ExitStack) -> OpenedService:
    def service(name: str) -> KeyService:
        made = Pkcs11KeyService(replace(_token(section), name=name))
        stack.callback(made.close)
        return made

    previous = service(section.previous_name) if section.previous_name else None
    return OpenedService(service(section.name), previous)


def _role(section: OpenBaoSection) -> AppRole:
    return AppRole(section.role_id, _secret(SECRET_ID_VARIABLE), section.approle_mount)


def _address(section: OpenBaoSection, folder: Path) -> OpenBaoAddress:
    ca_file = folder / section.ca_file if section.ca_file else None
    return OpenBaoAddress(section.url, ca_file, section.mount, section.name)


def _token(section: Pkcs11Section) -> Token:
    return Token(Path(section.module), section.token, _secret(PIN_VARIABLE), section.name)


def _secret(variable: str) -> str:
    found = find_secret(variable)
    if found is None:
        raise StudyError([StudyMistake(
            variable, "the secret of the key service", "none",
            f"Set it, or name a file that holds it in {variable}_FILE.",
        )])  # fmt: skip
    return found
