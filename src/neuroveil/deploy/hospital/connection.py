"""One HTTPS connection to a server: its authority, the way through a proxy, signed requests."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from neuroveil.deploy.tls import days_left
from neuroveil.deploy.wire import sign_request
from neuroveil.errors import MachineError, StudyError, StudyMistake
from neuroveil.keys import SiteKey
from neuroveil.study.server import is_server_address

_SECONDS = 60.0
_SECONDS_TO_VERIFY = 1800.0
_MOST_BYTES = 64_000_000
_DEFAULT_PORT = 443

CLIENT_CERTIFICATE = "NEUROVEIL_CLIENT_CERTIFICATE"
"""Variable that names this hospital's TLS certificate, for servers that ask for one."""


@dataclass(frozen=True)
class Address:
    """Where a server is.

    Parameters
    ----------
    url : str
        ``https://HOST:PORT``.
    ca_file : Path, optional
        Certificates of the server's authority; the system's by default.

    Raises
    ------
    StudyError
        If it is no such address, or the file holds no certificate.
    """

    url: str
    ca_file: Path | None = None

    def __post_init__(self) -> None:
        if not is_server_address(self.url):
            raise _mistake("--to", "an address like https://server.example:8443", "another text")

    @property
    def host(self) -> str:
        """Name or address of the server, without brackets."""
        return str(urlsplit(self.url).hostname)

    @property
    def port(self) -> int:
        """Its port."""
        return urlsplit(self.url).port or _DEFAULT_PORT

    @property
    def host_header(self) -> str:
        """What the ``Host`` header says, and the signature covers."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT else f"{host}:{self.port}"

    def context(self) -> ssl.SSLContext:
        """Say whom to trust.

        Returns
        -------
        ssl.SSLContext
            Names are checked; TLS 1.2 or newer.

        Raises
        ------
        StudyError
            If the file holds no certificate.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError):
            raise _mistake(
                "--ca", "a file of certificates (PEM)", "none that can be read"
            ) from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        own = os.environ.get(CLIENT_CERTIFICATE)
        if own:
            try:
                context.load_cert_chain(own, password="")  # never ask at the terminal
            except (OSError, ssl.SSLError, ValueError):
                raise _mistake(
                    CLIENT_CERTIFICATE, "a PEM file with a certificate and its unencrypted key",
                    "none that can be used",
                ) from None  # fmt: skip
        return context


@dataclass(frozen=True)
class Answer:
    """What a server answers.

    Parameters
    ----------
    status : int
        HTTP status.
    document : dict
        Its JSON; empty where it is none.
    content : bytes
        Its body as it came.
    """

    status: int
    document: dict[str, Any]
    content: bytes = b""


class Connection:
    """A connection that is kept open, and opened anew where it was lost.

    Parameters
    ----------
    address : Address
        Where the server is.
    key : SiteKey
        Signs every request.
    """

    def __init__(self, address: Address, key: SiteKey) -> None:
        self._address, self._key = address, key
        self._context = address.context()
        self._open: http.client.HTTPSConnection | None = None

    def ask(self, method: str, target: str, body: bytes = b"", slow: bool = False) -> Answer:
        """Send one signed request.

        Parameters
        ----------
        method : str
            HTTP method.
        target : str
            Path and query.
        body : bytes
            The body.
        slow : bool
            Whether the server verifies a release before it answers.

        Returns
        -------
        Answer
            Good or bad.

        Raises
        ------
        MachineError
            If there is no answer.
        StudyError
            If the server is not the one that the authority vouches for.
        """
        try:
            return self._exchange(method, target, body, slow)
        except ssl.SSLCertVerificationError:
            raise _mistake(
                "server", "a certificate of the stated authority, for this name", "another one",
                "Check --ca and the address with the coordinator. Nothing was sent.",
            ) from None  # fmt: skip
        except (OSError, http.client.HTTPException) as error:
            if _is_about_certificates(error):
                raise _mistake(
                    "server", "a TLS certificate of this hospital that it trusts",
                    "none, or one that has ended or that it does not know",
                    f"Name the right one in {CLIENT_CERTIFICATE}, or have it renewed.",
                ) from None  # fmt: skip
            raise MachineError(
                "server", "an answer", type(error).__name__,
                "Run the same command again: it goes on where it stopped.",
            ) from None  # fmt: skip

    def _exchange(self, method: str, target: str, body: bytes, slow: bool) -> Answer:
        """Ask; once more, signed anew, where the server has closed an idle connection."""
        host = self._address.host_header
        for is_last in (self._open is None, True):
            headers = sign_request(self._key, method, host, target, body)
            headers |= {"Host": host, "Content-Type": "application/octet-stream"}
            try:
                connection = self._connected()
                if connection.sock is not None:
                    connection.sock.settimeout(_SECONDS_TO_VERIFY if slow else _SECONDS)
                connection.request(method, target, body, headers)
                response = connection.getresponse()
                content = response.read(_MOST_BYTES)
                if response.length:  # http.client says nothing of an answer that is cut off
                    raise http.client.IncompleteRead(content[:0], response.length)
                return Answer(response.status, _document(content), content)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.close()
                if is_last:
                    raise
            except (OSError, http.client.HTTPException):
                self.close()
                raise
        raise AssertionError("the second try answers or raises")

    def server_days_left(self) -> float:
        """Say how long the server's certificate is still valid.

        Returns
        -------
        float
            Days.
        """
        connection = self._connected()
        assert isinstance(connection.sock, ssl.SSLSocket)
        certificate = connection.sock.getpeercert(binary_form=True)
        return days_left(certificate) if certificate else 0.0

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _connected(self) -> http.client.HTTPSConnection:
        if self._open is None or self._open.sock is None:
            host, port = self._address.host, self._address.port
            proxy = proxy_for(self._address)
            if proxy is None:
                connection = _https(host, port, self._context)
            else:
                connection = _https(proxy.host, proxy.port, self._context)
                connection.set_tunnel(host, port, proxy.headers)
            connection.connect()
            self._open = connection
        return self._open


@dataclass(frozen=True)
class Proxy:
    """A proxy that lets HTTPS through.

    Parameters
    ----------
    host : str
        Its name or address.
    port : int
        Its port.
    headers : mapping of str to str
        Its user and password, where it wants any. They never reach the server.
    """

    host: str
    port: int
    headers: Mapping[str, str]


def proxy_for(address: Address) -> Proxy | None:
    """Look up the proxy that the environment names (``HTTPS_PROXY``, ``NO_PROXY``).

    Parameters
    ----------
    address : Address
        Where a request goes.

    Returns
    -------
    Proxy or None
        ``None`` for a direct way.

    Raises
    ------
    StudyError
        If what it names is no proxy.
    """
    stated = urllib.request.getproxies().get("https")
    if not stated or urllib.request.proxy_bypass(f"{address.host}:{address.port}"):
        return None
    try:
        parts = urlsplit(stated if "://" in stated else f"http://{stated}")
        host, port = parts.hostname, parts.port or 3128
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme != "http":
        raise _mistake("HTTPS_PROXY", "a proxy like http://proxy.example:3128", "another text")
    headers = {}
    if parts.username:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(secret).decode()}"
    return Proxy(host, port, headers)


def _is_about_certificates(error: Exception) -> bool:
    """Whether the server's TLS has refused ours; it says so in an alert, RFC 8446 section 6."""
    reason = str(getattr(error, "reason", "")) if isinstance(error, ssl.SSLError) else ""
    return "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason)


def _https(host: str, port: int, context: ssl.SSLContext) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=context)


def _document(text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    return document if isinstance(document, dict) else {}


def _mistake(
    where: str, expected: str, found: str, remedy: str = "Correct it; nothing was sent."
) -> StudyError:
    return StudyError([StudyMistake(where, expected, found, remedy)])
