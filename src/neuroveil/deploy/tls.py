"""A private authority for certificates, for sites that have none, and how long they last."""

from __future__ import annotations

import datetime
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from neuroveil.errors import StudyError, StudyMistake

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

WARN_BELOW_DAYS = 30.0
"""A certificate that ends sooner is warned of."""

_AUTHORITY_DAYS = 3650
_SERVER_DAYS = 397


@dataclass(frozen=True)
class TLSFiles:
    """Files of a server's identity.

    Parameters
    ----------
    authority : Path
        Certificate of the authority; hospitals get this one.
    certificate, key : Path
        The server's certificate and its private key.
    """

    authority: Path
    certificate: Path
    key: Path


def tls_files(folder: Path) -> TLSFiles:
    """Say where a folder keeps its identity.

    Parameters
    ----------
    folder : Path
        The server's folder.

    Returns
    -------
    TLSFiles
        Paths, whether they exist or not.
    """
    return TLSFiles(folder / "ca.pem", folder / "tls.pem", folder / "tls.key")


def create_identity(folder: Path, hosts: tuple[str, ...]) -> TLSFiles:
    """Make an authority and a server certificate signed by it (ECDSA on P-256).

    The authority's private key signs this one certificate and is then forgotten: nobody can
    make a second server with it.

    Parameters
    ----------
    folder : Path
        Gets three files; the key is readable by its owner only.
    hosts : tuple of str
        Names and addresses at which hospitals reach the server.

    Returns
    -------
    TLSFiles
        The files.

    Raises
    ------
    StudyError
        If a file exists already or cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding

    files = tls_files(folder)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    server_key = ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key)
    server = _server(authority, authority_key, server_key, hosts)
    _write_new(files.key, _pem(server_key), 0o600)
    _write_new(files.certificate, server.public_bytes(Encoding.PEM), 0o644)
    _write_new(files.authority, authority.public_bytes(Encoding.PEM), 0o644)
    return files


def days_left(certificate: bytes) -> float:
    """Say how long a certificate is still valid.

    Parameters
    ----------
    certificate : bytes
        DER or PEM.

    Returns
    -------
    float
        Days; negative where it has ended.
    """
    from cryptography import x509

    is_pem = certificate.lstrip().startswith(b"-----")
    load = x509.load_pem_x509_certificate if is_pem else x509.load_der_x509_certificate
    left = load(certificate).not_valid_after_utc - datetime.datetime.now(datetime.UTC)
    return left.total_seconds() / 86400


def _builder(
    subject: str, issuer: str, key: EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.datetime.now(datetime.UTC)

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    return (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )


_AUTHORITY_NAME = "neuroveil private authority"


def _authority(key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=True, crl_sign=True,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    return (
        _builder(_AUTHORITY_NAME, _AUTHORITY_NAME, key, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, SHA256())
    )


def _server(
    authority: x509.Certificate,
    authority_key: EllipticCurvePrivateKey,
    key: EllipticCurvePrivateKey,
    hosts: tuple[str, ...],
) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import ExtendedKeyUsageOID

    names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    return (
        _builder("neuroveil server", _AUTHORITY_NAME, key, _SERVER_DAYS)
        .add_extension(names, critical=False)
        .add_extension(issuer, critical=False)
        .add_extension(purpose, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(authority_key, SHA256())
    )


def _general_name(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(number, "wb") as stream:  # noqa: PTH123
            stream.write(data)
    except OSError as error:
        raise StudyError([StudyMistake(
            f"file {path.name}", "a new file in a folder that can be written to",
            error.strerror or "none", "Name a new folder for the server.",
        )]) from None  # fmt: skip
