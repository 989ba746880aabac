"""Send the linkage key to a hospital so that only that hospital can open it.

HPKE in base mode (RFC 9180: X25519, HKDF-SHA256, AES-256-GCM) seals the key for the public key
of one hospital. Base mode does not say who sealed it, so anybody could send a key of their
own and later read the hospital's GlobalIDs back. A hospital therefore opens a key only against
the key id that it was told on another way, at the key ceremony.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuroveil.errors import LinkageError
from neuroveil.keys.sealing import SecretFile
from neuroveil.linkage.key_service import LinkageKey, LocalKeyService

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.hpke import Suite

WRAPPED_FORMAT = "neuroveil-wrapped-linkage-key"
SUITE = "x25519-hkdf-sha256-aes-256-gcm"

_FORMAT_VERSION = 1
_FILE = SecretFile(
    where="hospital's own key",
    file_format="neuroveil-linkage-hospital-key",
    made_by="neuroveil link hospital-key",
    otherwise="name the file of the key that you made before",
    cipher="aes-256-gcm",
)


@dataclass(frozen=True, eq=False)
class HospitalKey:
    """A hospital's private key in memory, for receiving linkage keys.

    Parameters
    ----------
    private : X25519PrivateKey
        RFC 7748.
    """

    private: X25519PrivateKey = field(repr=False)

    @property
    def public_key(self) -> str:
        """The public half, 64 hexadecimal digits."""
        return self.private.public_key().public_bytes_raw().hex()


def fingerprint(public_key: str) -> str:
    """Give a short name of a public key that two people can compare by voice.

    Parameters
    ----------
    public_key : str
        64 hexadecimal digits.

    Returns
    -------
    str
        32 hexadecimal digits in groups of four.
    """
    digits = hashlib.sha256(_public_bytes(public_key)).hexdigest()[:32]
    return " ".join(digits[start : start + 4] for start in range(0, 32, 4))


def create_hospital_key(path: Path, passphrase: str) -> HospitalKey:
    """Make a hospital's key and write it to a new encrypted file.

    Parameters
    ----------
    path : Path
        A file that does not exist yet.
    passphrase : str
        Encrypts it.

    Returns
    -------
    HospitalKey
        The key.

    Raises
    ------
    StudyError
        If the file exists or cannot be written, or the passphrase is empty.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    key = HospitalKey(X25519PrivateKey.generate())
    secret = key.private.private_bytes_raw()
    _FILE.write_new(path, _FILE.seal({"public_key": key.public_key}, secret, passphrase))
    return key


def load_hospital_key(path: Path, passphrase: str | None) -> HospitalKey:
    """Open a hospital's key.

    Parameters
    ----------
    path : Path
        As :func:`create_hospital_key` wrote it.
    passphrase : str or None
        What it is encrypted with.

    Returns
    -------
    HospitalKey
        The key.

    Raises
    ------
    StudyError
        If the file cannot be read, is another file, or the passphrase is missing or wrong.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    document = _FILE.document(_FILE.read(path))
    if not document:
        raise _FILE.mistake(
            "a hospital's key", "another file", "Make one with `neuroveil link hospital-key`."
        )
    return HospitalKey(X25519PrivateKey.from_private_bytes(_FILE.open(document, passphrase)))


def wrap(key: LinkageKey, public_key: str) -> dict[str, Any]:
    """Seal a linkage key for one hospital.

    Parameters
    ----------
    key : LinkageKey
        The project's secret.
    public_key : str
        The hospital's, 64 hexadecimal digits, compared by its fingerprint before.

    Returns
    -------
    dict
        A document that may travel in the open.

    Raises
    ------
    LinkageError
        If the public key is none.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    head = {
        "format": WRAPPED_FORMAT, "format_version": _FORMAT_VERSION, "suite": SUITE,
        "key_id": LocalKeyService(key).key_id, "recipient": fingerprint(public_key),
    }  # fmt: skip
    recipient = X25519PublicKey.from_public_bytes(_public_bytes(public_key))
    try:
        sealed = _suite().encrypt(key.secret, recipient, _info(head))
    except ValueError:  # a public key of small order, which would let anybody open it
        raise _no_public_key() from None
    return {**head, "wrapped": sealed.hex()}


def unwrap(document: object, key: HospitalKey, key_id: str) -> LinkageKey:
    """Open a linkage key that was sealed for this hospital.

    Parameters
    ----------
    document : object
        As :func:`wrap` gave it.
    key : HospitalKey
        The hospital's own key.
    key_id : str
        The key id as the project announced it on another way than the document came.

    Returns
    -------
    LinkageKey
        The project's secret.

    Raises
    ------
    LinkageError
        If the document is broken or meant for another hospital, or holds another key.
    """
    from cryptography.exceptions import InvalidTag

    if not isinstance(document, dict) or document.get("format") != WRAPPED_FORMAT:
        raise _refused("a wrapped linkage key", "another document")
    if document.get("recipient") != fingerprint(key.public_key):
        raise _refused("a key that was wrapped for this hospital", "one for another")
    head = {name: value for name, value in document.items() if name != "wrapped"}
    try:
        secret = _suite().decrypt(bytes.fromhex(document["wrapped"]), key.private, _info(head))
    except (InvalidTag, ValueError, KeyError, TypeError):
        raise _refused("a wrapped key as it was sent", "a changed one") from None
    opened = LinkageKey(secret)
    LocalKeyService(opened).require_key_id(key_id)
    return opened


def read_wrapped(path: Path) -> object:
    """Read a wrapped key from a file.

    Parameters
    ----------
    path : Path
        JSON, as ``neuroveil link wrap`` writes it.

    Returns
    -------
    object
        The document, unchecked.

    Raises
    ------
    LinkageError
        If the file cannot be read.
    """
    try:
        return json.loads(path.read_bytes()[:10_000])
    except (OSError, ValueError, RecursionError):
        raise _refused("a file of JSON that can be read", "none") from None


def _suite() -> Suite:
    from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def _info(head: dict[str, Any]) -> bytes:
    """What stands in the open is bound to what is sealed."""
    return json.dumps(head, sort_keys=True, separators=(",", ":")).encode()


def _public_bytes(public_key: str) -> bytes:
    try:
        raw = bytes.fromhex(public_key)
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise _no_public_key()
    return raw


def _no_public_key() -> LinkageError:
    return LinkageError(
        "hospital's public key", "an X25519 public key, 64 hexadecimal digits", "another text",
        "Ask the hospital for what `neuroveil link hospital-key` printed.",
    )  # fmt: skip


def _refused(expected: str, found: str) -> LinkageError:
    return LinkageError(
        "wrapped linkage key", expected, found,
        "Ask the project to wrap the current key for your public key again.",
    )  # fmt: skip
