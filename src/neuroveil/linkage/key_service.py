"""The linkage key, what is derived from it, and who computes with it.

One secret, the linkage key, makes the same patient look the same at every hospital of a
project. Three keys are separated from it by HKDF-SHA256 (RFC 5869), so that none of them says
anything about the others: for MACs of patient numbers, for fields of records, and for
hardening. A key service computes HMAC-SHA256 under them and may be a file, a server
inside the hospital or a hardware module: the last two never give the keys out. The key of one
field is one HMAC too (a step of HKDF-Expand), so every service can derive it.

A fourth key, for the permanent noise of ``blip``, is the hospital's own: it is drawn there and
never leaves, and has nothing to do with the linkage key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import KEY_BYTES, FieldKeys
from neuroveil.linkage.hardening import HardeningKeys
from neuroveil.linkage.schema import LinkageSchema

Purpose = Literal["mac", "fields", "hardening", "noise"]

SEPARATED: tuple[Purpose, ...] = ("mac", "fields", "hardening")
"""What the keys are for that all hospitals derive from the linkage key."""

PURPOSES: tuple[Purpose, ...] = (*SEPARATED, "noise")
"""What all four keys are for."""

MAC_PREFIX = b"neuroveil-id:"
"""How every encoded patient number begins; nothing else is ever given a MAC as one."""

_SALT = b"neuroveil-linkage"
_KEY_ID_MESSAGE = b"neuroveil-key-id:1"
_KEY_ID_DIGITS = 32


class KeyService(ABC):
    """Somebody who computes HMAC-SHA256 under keys that are separated from a linkage key."""

    @abstractmethod
    def hmac_sha256(self, purpose: Purpose, messages: Sequence[bytes]) -> list[bytes]:
        """Compute HMAC-SHA256 of messages.

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
            If the service refuses.
        """

    @cached_property
    def key_id(self) -> str:
        """Public name of the linkage key, 32 hexadecimal digits.

        It is computed with all separated keys, never looked up: a service that holds another
        key under the same label has another key id.
        """
        parts = [self.hmac_sha256(purpose, [_KEY_ID_MESSAGE])[0] for purpose in SEPARATED]
        return hashlib.sha256(b"".join(parts)).hexdigest()[:_KEY_ID_DIGITS]

    def macs(self, encoded: Sequence[bytes]) -> list[bytes]:
        """Compute the MACs of encoded patient numbers.

        Parameters
        ----------
        encoded : sequence of bytes
            As :func:`~neuroveil.linkage.identifiers.encode_identifier` gives them.

        Returns
        -------
        list of bytes
            32 bytes each, in the same order.

        Raises
        ------
        LinkageError
            If a message is no encoded patient number, or the service refuses.
        """
        if any(not message.startswith(MAC_PREFIX) for message in encoded):
            raise LinkageError("patient numbers", "encoded ones", "others", "Encode them before.")
        return self.hmac_sha256("mac", encoded) if encoded else []

    def field_keys(self, schema: LinkageSchema) -> FieldKeys:
        """Derive the keys of a schema's fields.

        Parameters
        ----------
        schema : LinkageSchema
            Public settings.

        Returns
        -------
        FieldKeys
            One key a field, by its name.
        """
        names = [each.name for each in schema.field]
        messages = [f"neuroveil-field:1:{name}".encode() + b"\x01" for name in names]
        keys = self.hmac_sha256("fields", messages) if names else []
        return FieldKeys(dict(zip(names, keys, strict=True)))

    def hardening_keys(self) -> HardeningKeys:
        """Derive the keys of ``diffusion`` and ``blip``.

        Returns
        -------
        HardeningKeys
            The first from the linkage key, the second from the hospital's own.
        """
        label = b"neuroveil-hardening:1:"
        return HardeningKeys(
            self.hmac_sha256("hardening", [label + b"diffusion\x01"])[0],
            self.hmac_sha256("noise", [label + b"blip\x01"])[0],
        )

    def require_key_id(self, key_id: str) -> None:
        """Refuse another key than the one that a project agreed on.

        Parameters
        ----------
        key_id : str
            The agreed key id.

        Raises
        ------
        LinkageError
            If this service holds another key.
        """
        stated = key_id.replace(" ", "").lower().encode()
        if not hmac.compare_digest(self.key_id.encode(), stated):
            raise LinkageError(
                "linkage key", "the key with the stated key id", "another key",
                "Ask the project which key is current, and take its key id from there.",
            )  # fmt: skip


@dataclass(frozen=True, eq=False)
class LinkageKey:
    """The secret of a project, in memory; nothing prints, compares or stores it.

    Parameters
    ----------
    secret : bytes
        32 random bytes.

    Raises
    ------
    LinkageError
        If it has another length.
    """

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise LinkageError(
                "linkage key", f"{KEY_BYTES} bytes", f"{len(self.secret)}",
                "Make one with `neuroveil link keygen`.",
            )  # fmt: skip

    @classmethod
    def generate(cls) -> LinkageKey:
        """Draw a new key from the operating system's randomness.

        Returns
        -------
        LinkageKey
            The key.
        """
        return cls(secrets.token_bytes(KEY_BYTES))

    def separated(self) -> dict[Purpose, bytes]:
        """Give the keys that are separated from it.

        Returns
        -------
        dict
            32 bytes by purpose: HKDF-SHA256 (RFC 5869) with the purpose as its info.
        """
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return {
            purpose: HKDF(SHA256(), KEY_BYTES, _SALT, f"neuroveil-linkage:1:{purpose}".encode())
            .derive(self.secret)
            for purpose in SEPARATED
        }  # fmt: skip

    def __reduce__(self) -> str:
        raise LinkageError(
            "linkage key", "use in the process that opened it", "an attempt to copy or store it",
            "Open the keystore where the key is used.",
        )  # fmt: skip


class LocalKeyService(KeyService):
    """Computes in this process with a key from a keystore file.

    Parameters
    ----------
    key : LinkageKey
        The project's secret.
    noise : bytes, optional
        The hospital's own 32 random bytes, where ``blip`` is used.
    """

    def __init__(self, key: LinkageKey, noise: bytes | None = None) -> None:
        self._keys = key.separated() | ({} if noise is None else {"noise": noise})

    def hmac_sha256(self, purpose: Purpose, messages: Sequence[bytes]) -> list[bytes]:
        """Compute HMAC-SHA256 of messages in this process.

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
            If there is no such key.
        """
        if purpose not in self._keys:
            raise LinkageError(
                "key for noise", "the hospital's own key", "none",
                "Open the hospital's keystore: it holds one.",
            )  # fmt: skip
        key = self._keys[purpose]
        return [hmac.digest(key, message, "sha256") for message in messages]
