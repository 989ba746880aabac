"""Talk to an OpenBao or Vault server: where it is, who asks, and what it answers.

Requests hold encoded patient numbers, so the address must be this machine, or a host that
proves its name by a certificate of a stated authority. Proxies of the environment are never
used. A token is renewed while there is work, and given back at the end.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from neuroveil.errors import LinkageError
from neuroveil.linkage.key_service import PURPOSES, Purpose

_SECONDS = 30.0
_MOST_BYTES = 10_000_000
_WHERE = "OpenBao server"
_RENEW_AT = 1 / 3  # of the token's life left


@dataclass(frozen=True)
class OpenBaoAddress:
    """Where a server is and what is used of it.

    Parameters
    ----------
    url : str
        ``https://HOST:PORT``; ``http`` only on this machine.
    ca_file : Path, optional
        Certificates of the hospital's own authority; by default the system's.
    mount : str
        Where the transit engine is mounted.
    name : str
        First part of the names of the keys.

    Raises
    ------
    LinkageError
        If the address would send patient numbers in the open.
    """

    url: str
    ca_file: Path | None = None
    mount: str = "transit"
    name: str = "neuroveil"

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_plain = parts.port != 0 and parts.netloc.rpartition("@")[0] == ""
        except ValueError:  # a port that is no port, or half an IPv6 address
            is_plain = False
        if (
            not is_plain
            or parts.scheme not in ("http", "https")
            or not parts.hostname
            or parts.path.strip("/") + parts.query + parts.fragment
        ):
            raise refused("an address like https://bao.hospital.example:8200", "another text")
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise refused("https, or http on this machine", "http to another machine")

    def key_name(self, purpose: Purpose) -> str:
        """Name a key of the transit engine.

        Parameters
        ----------
        purpose : {"mac", "fields", "hardening", "noise"}
            What it is for.

        Returns
        -------
        str
            Its name.
        """
        return f"{self.name}-{purpose}"

    def policy(self) -> str:
        """Write the policy that a hospital's AppRole needs: computing, and nothing else.

        Returns
        -------
        str
            HCL, for ``bao policy write``.
        """
        return "\n".join(
            f'path "{self.mount}/hmac/{self.key_name(purpose)}/sha2-256" '
            '{ capabilities = ["update"] }'
            for purpose in PURPOSES
        )


@dataclass(frozen=True)
class AppRole:
    """How a hospital logs in.

    Parameters
    ----------
    role_id : str
        Name of the role; not secret on its own.
    secret_id : str
        Its secret; never printed.
    mount : str
        Where AppRole is mounted.
    """

    role_id: str
    secret_id: str = field(repr=False)
    mount: str = "approle"


class OpenBaoClient:
    """A connection to a server, with a token.

    Parameters
    ----------
    address : OpenBaoAddress
        Where it is.
    token : str, optional
        A token of an administrator; a hospital logs in by :meth:`log_in`.
    """

    def __init__(self, address: OpenBaoAddress, token: str = "") -> None:
        self.address = address
        self._token = token
        self._role: AppRole | None = None
        self._renew_after = self._ends = float("inf")
        self._connection = _connection(address)

    def log_in(self, role: AppRole) -> None:
        """Get a token by AppRole.

        Parameters
        ----------
        role : AppRole
            Who asks.

        Raises
        ------
        LinkageError
            If the server refuses, or cannot be reached.
        """
        body = {"role_id": role.role_id, "secret_id": role.secret_id}
        self._token = ""
        asked = time.monotonic()
        answer = self._send("POST", f"auth/{role.mount}/login", body)
        self._role = role
        self._take_token(answer, asked)

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask the server, after renewing the token where it is about to end.

        Parameters
        ----------
        method : str
            HTTP method.
        path : str
            Below ``/v1/``.
        body : dict, optional
            Sent as JSON.

        Returns
        -------
        dict
            The answer's JSON; empty where there is none.

        Raises
        ------
        LinkageError
            If the server refuses, or cannot be reached.
        """
        if time.monotonic() > self._renew_after:
            self._renew()
        try:
            return self._send(method, path, body)
        except LinkageError:
            if self._role is None or time.monotonic() < self._ends:
                raise
        # The token ended while the request was under way: the machine slept, or is busy.
        self.log_in(self._role)
        return self._send(method, path, body)

    def close(self) -> None:
        """Give back a token that came from a login, and close the connection."""
        try:
            if self._role is not None and self._token:
                self._send("POST", "auth/token/revoke-self")
        except LinkageError:
            pass  # it ends by itself; a server that is gone must not hide another error
        finally:
            self._token = ""
            self._connection.close()

    def _renew(self) -> None:
        assert self._role is not None
        asked = time.monotonic()
        try:
            self._take_token(self._send("POST", "auth/token/renew-self"), asked)
        except LinkageError:
            # Beyond its longest life a token is not renewed. A role that was revoked in the
            # meantime is refused here.
            self.log_in(self._role)

    def _take_token(self, answer: dict[str, Any], asked: float) -> None:
        """Keep a token, its life counted from when it was asked for: it lasts no longer here."""
        token = answer.get("auth") or {}
        seconds = token.get("lease_duration")
        if not isinstance(token.get("client_token"), str) or not isinstance(seconds, int):
            raise refused("a token", "another answer")
        self._token = token["client_token"]
        life = seconds if seconds > 0 else float("inf")
        self._renew_after = asked + life * (1 - _RENEW_AT)
        self._ends = asked + life

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "X-Vault-Request": "true"}
        if self._token:
            headers["X-Vault-Token"] = self._token
        try:
            status, text = self._exchange(method, path, data, headers)
        except ssl.SSLError:
            raise refused("a certificate of the stated authority", "another one") from None
        except (OSError, http.client.HTTPException) as error:
            raise refused("an answer", type(error).__name__) from None
        except ValueError:  # a character that no header can hold
            raise refused("a token that can be sent", "one with other characters") from None
        return _read_answer(status, text)

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        """Send one request; once more where the server has closed an idle connection."""
        for is_last in (False, True):
            try:
                self._connection.request(method, f"/v1/{quote(path)}", data, headers)
                response = self._connection.getresponse()
                return response.status, response.read(_MOST_BYTES)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self._connection.close()
                if is_last:
                    raise
            except (OSError, http.client.HTTPException):
                self._connection.close()
                raise
        raise AssertionError("the second try answers or raises")


class NotThere(LinkageError):
    """The server says 404."""


def _read_answer(status: int, text: bytes) -> dict[str, Any]:
    """Give the JSON of a good answer; what the server says in words is not repeated."""
    if status == 404:
        raise NotThere(_WHERE, "a key or path", "none of this name", "Check mount, name and path.")
    if status in (400, 403):
        raise refused(
            "leave to do this", f"a refusal (HTTP {status})",
            "Ask the server's administrator whether the role was revoked, and what its policy "
            "allows.",
        )  # fmt: skip
    if status >= 400:
        raise refused("an answer", f"HTTP {status}", "Check that the server is unsealed.")
    try:
        document = json.loads(text) if text else {}
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise refused("an answer in JSON", "another one")
    return document


def _connection(address: OpenBaoAddress) -> http.client.HTTPConnection:
    parts = urlsplit(address.url)
    host, port = str(parts.hostname), parts.port
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, port or 8200, timeout=_SECONDS)
    try:
        context = ssl.create_default_context(cafile=address.ca_file)
    except (OSError, ssl.SSLError):
        raise refused("a file of certificates", "none that can be read") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return http.client.HTTPSConnection(host, port or 8200, timeout=_SECONDS, context=context)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refused(
    expected: str, found: str, remedy: str = "Check the address and the server."
) -> LinkageError:
    """Make a refusal that names the server.

    Parameters
    ----------
    expected, found, remedy : str
        As in :class:`~neuroveil.errors.NeuroveilError`.

    Returns
    -------
    LinkageError
        To be raised.
    """
    return LinkageError(_WHERE, expected, found, remedy)
