"""A hospital's node key: ECDSA on P-384 in OpenSSH's form, as Flower reads it."""

from __future__ import annotations

from pathlib import Path

from neuroveil.deploy.federated.operate.files import write_secret
from neuroveil.errors import StudyError, StudyMistake


def create_node_key(private: Path, public: Path) -> str:
    """Make a node key.

    Parameters
    ----------
    private : Path
        New file, readable by its owner only.
    public : Path
        File for the half that the coordinator gets.

    Returns
    -------
    str
        The public half.
    """
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP384R1())
    write_secret(private, key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    text = _text(key.public_key())
    public.write_text(text + "\n", encoding="ascii")
    return text


def public_key_text(text: str) -> str:
    """Check a public key and leave its comment out.

    Parameters
    ----------
    text : str
        A line in OpenSSH's form.

    Returns
    -------
    str
        Kind and key.

    Raises
    ------
    StudyError
        If it is no public key on a NIST curve.
    """
    return _text(_loaded(text))


def public_key_bytes(text: str) -> bytes:
    """Give a public key as Flower sends and stores it.

    Parameters
    ----------
    text : str
        From :func:`public_key_text`.

    Returns
    -------
    bytes
        PEM.
    """
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = _loaded(text)
    form: bytes = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return form


def node_fingerprint(text: str) -> str:
    """Give a fingerprint to compare by telephone.

    Parameters
    ----------
    text : str
        A public key in OpenSSH's form.

    Returns
    -------
    str
        As ``ssh-keygen -l`` prints it.
    """
    import base64
    import hashlib

    blob = base64.b64decode(text.split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _loaded(text: str):  # type: ignore[no-untyped-def]
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    try:
        key = load_ssh_public_key(text.strip().encode())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise StudyError([StudyMistake(
            "public key of a hospital", "one line ecdsa-sha2-nistp384 …", "something else",
            "Give the file node.pub that `neuroveil federate hospital init` made.",
        )])  # fmt: skip
    return key


def _text(key) -> str:  # type: ignore[no-untyped-def]
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    text: bytes = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return text.decode("ascii")
