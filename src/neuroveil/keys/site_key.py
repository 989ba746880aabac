"""An Ed25519 key and what it signs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from neuroveil.errors import CertificateError
from neuroveil.types.certificate import Certificate

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "ed25519"


@dataclass(frozen=True, eq=False)
class SiteKey:
    """A private key in memory; nothing prints, compares or stores it.

    Parameters
    ----------
    private : Ed25519PrivateKey
        The key, RFC 8032.
    """

    private: Ed25519PrivateKey = field(repr=False)

    @property
    def public_key(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self.private.public_key().public_bytes_raw().hex()

    @property
    def fingerprint(self) -> str:
        """Short name of the public key that people can compare: 32 digits in groups of four."""
        digits = hashlib.sha256(bytes.fromhex(self.public_key)).hexdigest()[:32]
        return " ".join(digits[start : start + 4] for start in range(0, 32, 4))

    def __reduce__(self) -> str:
        raise CertificateError(
            "signing key", "use in the process that opened it", "an attempt to copy or store it",
            "Open the key's file where the certificate is signed.",
        )  # fmt: skip


def sign(certificate: Certificate, key: SiteKey) -> Certificate:
    """Sign a certificate that is bound to its files.

    Parameters
    ----------
    certificate : Certificate
        With ``release`` filled in; a signature that it already has is replaced.
    key : SiteKey
        The site's key.

    Returns
    -------
    Certificate
        The same with its signature, which covers everything else in it.

    Raises
    ------
    CertificateError
        If the certificate is not bound to any file yet.
    """
    if not certificate.release:
        raise CertificateError(
            "certificate", "one that is bound to the files of a release", "one that is not",
            "Sign last: the signature covers the digests of all files.",
        )  # fmt: skip
    value = key.private.sign(certificate.signed_bytes).hex()
    signature = {"algorithm": ALGORITHM, "public_key": key.public_key, "value": value}
    return replace(certificate, signature=signature)
