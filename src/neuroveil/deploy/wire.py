"""What a signed request is: the same text, made by the hospital and made again by the server.

The signature covers method, host, target, the body's digest, a nonce, the time and the key, so
that a request cannot be changed, sent to another server, or sent again.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass

from neuroveil.keys import SiteKey
from neuroveil.privacy.verify import fingerprint
from neuroveil.types.certificate import digest

KEY = "neuroveil-key"
TIME = "neuroveil-time"
NONCE = "neuroveil-nonce"
BODY = "neuroveil-body"
SIGNATURE = "neuroveil-signature"

SCHEME = "neuroveil-request-v1"
"""First line of what is signed; another version of the protocol has another one."""

CLOCK_WINDOW_SECONDS = 15.0
"""How far the clocks of hospital and server may be apart."""

FORMS = {
    KEY: r"[0-9a-f]{32}",
    TIME: r"[0-9]{10}\.[0-9]{3}",
    NONCE: r"[0-9a-f]{32}",
    BODY: r"sha256:[0-9a-f]{64}",
    SIGNATURE: r"[0-9a-f]{128}",
}


@dataclass(frozen=True)
class SignedRequest:
    """Everything about a request that its signature covers, and the signature.

    Parameters
    ----------
    method : str
        HTTP method, in capitals.
    host : str
        The ``Host`` header, in small letters.
    target : str
        Path and query as sent.
    values : mapping of str to str
        The five headers of this module by name.
    peer : str or None
        SHA-256 of the TLS certificate that the sender showed, 64 hexadecimal digits. It is not
        signed: the connection says it.
    """

    method: str
    host: str
    target: str
    values: Mapping[str, str]
    peer: str | None = None

    @property
    def key_id(self) -> str:
        """Whose key is said to have signed it, 32 hexadecimal digits."""
        return self.values[KEY]

    @property
    def nonce(self) -> str:
        """A number that is used once, 32 hexadecimal digits."""
        return self.values[NONCE]

    @property
    def sent_at(self) -> float:
        """When it was signed, seconds since 1970."""
        return float(self.values[TIME])

    @property
    def signed_bytes(self) -> bytes:
        """What the signature is over: one line a part; no part can hold a line break."""
        parts = (self.method, self.host, self.target)
        covered = (self.values[name] for name in (BODY, NONCE, TIME, KEY))
        return "\n".join((SCHEME, *parts, *covered)).encode()

    def has_body(self, body: bytes) -> bool:
        """Tell whether a body is the one that was signed.

        Parameters
        ----------
        body : bytes
            As received.

        Returns
        -------
        bool
            Whether its SHA-256 is the stated one.
        """
        return hmac.compare_digest(digest(body), self.values[BODY])


def key_id(public_key: str) -> str:
    """Short name of a key in requests.

    Parameters
    ----------
    public_key : str
        64 hexadecimal digits.

    Returns
    -------
    str
        The fingerprint's 32 digits without spaces.
    """
    return fingerprint(public_key).replace(" ", "")


def sign_request(key: SiteKey, method: str, host: str, target: str, body: bytes) -> dict[str, str]:
    """Sign a request.

    Parameters
    ----------
    key : SiteKey
        The hospital's key.
    method, host, target : str
        As in :class:`SignedRequest`.
    body : bytes
        The whole body.

    Returns
    -------
    dict of str to str
        Headers to send.
    """
    values = {
        KEY: key_id(key.public_key),
        TIME: f"{time.time():.3f}",
        NONCE: secrets.token_hex(16),
        BODY: digest(body),
    }
    request = SignedRequest(method, host.lower(), target, values)
    return {**values, SIGNATURE: key.private.sign(request.signed_bytes).hex()}


def read_signed(
    method: str, host: str, target: str, headers: Mapping[str, str]
) -> SignedRequest | None:
    """Take the signature's parts out of a request's headers.

    Parameters
    ----------
    method, host, target : str
        As in :class:`SignedRequest`.
    headers : mapping of str to str
        By name in small letters.

    Returns
    -------
    SignedRequest or None
        ``None`` where a header is missing or not in its form.
    """
    values = {name: headers.get(name, "") for name in FORMS}
    if not all(re.fullmatch(FORMS[name], value) for name, value in values.items()):
        return None
    return SignedRequest(method, host.lower(), target, values)


def is_signed_by(public_key: str, message: bytes, signature: str) -> bool:
    """Check an Ed25519 signature, RFC 8032.

    Parameters
    ----------
    public_key : str
        64 hexadecimal digits.
    message : bytes
        What was signed.
    signature : str
        128 hexadecimal digits.

    Returns
    -------
    bool
        Whether it fits.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True
