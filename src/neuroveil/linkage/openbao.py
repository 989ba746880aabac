"""A key service in an OpenBao or Vault server inside the hospital.

The separated keys are imported into the server's transit engine (type ``hmac``) and cannot be
exported from it; neuroveil asks for HMACs, by AppRole with a policy that allows that and
nothing else. A central server may hand out wrapped linkage keys instead, which it cannot open;
it never computes, since it would see patient numbers.
"""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Sequence
from typing import Any

from neuroveil.linkage.bloom import KEY_BYTES
from neuroveil.linkage.key_service import KeyService, LinkageKey, Purpose
from neuroveil.linkage.openbao_client import NotThere, OpenBaoClient, refused

LARGEST_BATCH = 250
"""Messages in one request: what the server answers well within its default limits."""

_MAC_FORM = re.compile(r"vault:v1:([A-Za-z0-9+/]{43}=)")


class OpenBaoKeyService(KeyService):
    """Asks a server inside the hospital for HMACs; keys never come here.

    Parameters
    ----------
    client : OpenBaoClient
        Logged in.
    """

    def __init__(self, client: OpenBaoClient) -> None:
        self.client = client

    def hmac_sha256(self, purpose: Purpose, messages: Sequence[bytes]) -> list[bytes]:
        """Have HMAC-SHA256 of messages computed, at most 250 a request.

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
            If the server refuses, or answers something else.
        """
        address = self.client.address
        path = f"{address.mount}/hmac/{address.key_name(purpose)}/sha2-256"
        macs: list[bytes] = []
        for start in range(0, len(messages), LARGEST_BATCH):
            batch = messages[start : start + LARGEST_BATCH]
            inputs = [{"input": base64.b64encode(message).decode()} for message in batch]
            answer = self.client.request("POST", path, {"batch_input": inputs})
            macs += _macs_of(answer, len(batch))
        return macs


def deposit_in_openbao(client: OpenBaoClient, key: LinkageKey) -> None:
    """Import the separated keys into a server, not exportable; make the hospital's own there.

    Parameters
    ----------
    client : OpenBaoClient
        With the token of an administrator who may import keys.
    key : LinkageKey
        The project's secret.

    Raises
    ------
    LinkageError
        If the server refuses, or a key of that name is there already.
    """
    address = client.address
    for purpose, secret in key.separated().items():
        name = address.key_name(purpose)
        if _exists(client, f"{address.mount}/keys/{name}"):
            raise refused("no key of this name", "one", "Choose another name for this key.")
        wrapping = client.request("GET", f"{address.mount}/wrapping_key")["data"]["public_key"]
        client.request(
            "POST", f"{address.mount}/keys/{name}/import",
            {"type": "hmac", "ciphertext": _wrapped_for_import(secret, wrapping),
             "hash_function": "SHA256", "exportable": False, "allow_plaintext_backup": False},
        )  # fmt: skip
    noise = f"{address.mount}/keys/{address.key_name('noise')}"
    if not _exists(client, noise):
        client.request(
            "POST", noise,
            {"type": "hmac", "key_size": 32, "exportable": False, "allow_plaintext_backup": False},
        )  # fmt: skip


def fetch_wrapped(client: OpenBaoClient, path: str) -> object:
    """Read a wrapped linkage key from a central server.

    The server hands out what it cannot open: the key is sealed for this hospital's public key.

    Parameters
    ----------
    client : OpenBaoClient
        Logged in as this hospital.
    path : str
        Below ``/v1/``, in a key-value engine of version 2, such as
        ``secret/data/linkage/hospital-3``.

    Returns
    -------
    object
        For :func:`~neuroveil.linkage.wrapping.unwrap`.

    Raises
    ------
    LinkageError
        If the server refuses, or nothing is there.
    """
    answer = client.request("GET", path)
    try:
        return answer["data"]["data"]
    except (KeyError, TypeError):
        raise refused("a wrapped linkage key", "something else") from None


def _exists(client: OpenBaoClient, path: str) -> bool:
    try:
        client.request("GET", path)
    except NotThere:
        return False
    return True


def _wrapped_for_import(secret: bytes, public_pem: str) -> str:
    """Seal a key for the transit engine: AES key wrap (RFC 5649) below RSA-OAEP."""
    from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.keywrap import aes_key_wrap_with_padding
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    public = load_pem_public_key(public_pem.encode())
    if not isinstance(public, RSAPublicKey):
        raise refused("an RSA key for wrapping", "another key")
    ephemeral = secrets.token_bytes(KEY_BYTES)
    sealed = public.encrypt(ephemeral, OAEP(MGF1(SHA256()), SHA256(), None))
    return base64.b64encode(sealed + aes_key_wrap_with_padding(ephemeral, secret)).decode()


def _macs_of(answer: dict[str, Any], count: int) -> list[bytes]:
    try:
        results = answer["data"]["batch_results"]
        found = [_MAC_FORM.fullmatch(result["hmac"]) for result in results]
    except (KeyError, TypeError):
        raise refused("MACs", "another answer") from None
    macs = [base64.b64decode(each[1]) for each in found if each]
    if len(macs) != count:
        raise refused(
            f"{count} MACs of the key's first version", f"{len(macs)}",
            "Keys of a project are never rotated inside the server; import the next one "
            "under a new name.",
        )  # fmt: skip
    return macs
