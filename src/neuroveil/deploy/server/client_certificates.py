"""Which TLS certificate a hospital's requests have to come with, on top of their signatures."""

from __future__ import annotations

import hashlib
from pathlib import Path

import sqlalchemy as sa

from neuroveil.deploy.server import audit_log
from neuroveil.deploy.server.database import Database
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.tables import CERTIFICATE
from neuroveil.deploy.wire import SignedRequest
from neuroveil.errors import StudyError, StudyMistake


def certificate_fingerprint(file: Path) -> str:
    """Name a certificate.

    Parameters
    ----------
    file : Path
        PEM; where it holds several, the first is the client's own.

    Returns
    -------
    str
        SHA-256 of its DER form, 64 hexadecimal digits, as TLS libraries show it.

    Raises
    ------
    StudyError
        If there is none in the file.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except (OSError, ValueError):
        raise StudyError([StudyMistake(
            "--certificate", "a file with a certificate (PEM)", "none that can be read",
            "Ask the hospital for the certificate, without its key.",
        )]) from None  # fmt: skip
    return hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()


def bind_certificate(database: Database, key_id: str, fingerprint: str) -> None:
    """Take a key's requests only over connections with one certificate from now on.

    Parameters
    ----------
    database : Database
        The server's database.
    key_id : str
        Whose requests.
    fingerprint : str
        From :func:`certificate_fingerprint`; it replaces an earlier one.
    """
    with database.writing() as connection:
        connection.execute(CERTIFICATE.delete().where(CERTIFICATE.c.key_id == key_id))
        connection.execute(CERTIFICATE.insert().values(key_id=key_id, fingerprint=fingerprint))
        facts = {"hospital": key_id, "certificate": fingerprint}
        audit_log.append(connection, "hospital.certificate", facts)


def require_certificate(database: Database, request: SignedRequest) -> None:
    """Refuse a request that came with another certificate than its key is bound to.

    Parameters
    ----------
    database : Database
        The server's database.
    request : SignedRequest
        With a signature that holds.

    Raises
    ------
    Refusal
        Code ``wrong_certificate``.
    """
    wanted = sa.select(CERTIFICATE.c.fingerprint).where(CERTIFICATE.c.key_id == request.key_id)
    with database.reading() as connection:
        row = connection.execute(wanted).first()
    if row is not None and row.fingerprint != request.peer:
        raise Refusal(
            "wrong_certificate", "the TLS certificate that is registered for this key",
            "another one, or none",
            "Name it in NEUROVEIL_CLIENT_CERTIFICATE, or have the new one registered.",
        )  # fmt: skip
