"""HTTP connections that do not wait for ever, and that say whose certificate they came with."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from neuroveil.deploy.server.guard import CONNECTIONS, PEER, Guard
from neuroveil.deploy.server.logs import log


class PatientProtocol(H11Protocol):
    """uvicorn's protocol on h11 with a limit of time for the head of every request.

    uvicorn limits how long a connection may be idle between requests, but not how long a
    request line and its headers may take, which is what a slowloris attack uses. It can ask for
    client certificates, but does not tell the application which one it got. Bodies have their
    limit in :class:`~neuroveil.deploy.server.guard.Guard`.
    """

    _waiting: asyncio.TimerHandle | None = None

    @property
    def guard(self) -> Guard:
        """The application that all of this is for; it holds limits and counters."""
        assert isinstance(self.app, Guard)
        return self.app

    def connection_made(self, transport: Any) -> None:
        """Start to wait for a request, and look at the certificate.

        Parameters
        ----------
        transport : asyncio.Transport
            The connection, after the TLS handshake.
        """
        super().connection_made(transport)
        self.app_state = {
            **self.app_state, CONNECTIONS: self.connections, PEER: _fingerprint(transport),
        }  # fmt: skip
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and wait on only while a head is not complete.

        Parameters
        ----------
        data : bytes
            What came.
        """
        super().data_received(data)
        if self._is_busy():
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """Answer to what is no HTTP, and count it.

        Parameters
        ----------
        msg : str
            Of uvicorn.
        """
        self._count("not_http")
        super().send_400_response(msg)

    def shutdown(self) -> None:
        """Let go when the server stops; what is being answered is answered first.

        An idle connection is cut: a polite end of TLS waits half a minute for the client's
        agreement, and hospitals open a new connection anyway.
        """
        if self._is_busy():
            super().shutdown()
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting.

        Parameters
        ----------
        exc : Exception or None
            Why it was lost.
        """
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        seconds = self.guard.limits.header_seconds
        self._waiting = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self._is_busy() and self.transport is not None and not self.transport.is_closing():
            self._count("slow_request")
            self.transport.abort()

    def _count(self, code: str) -> None:
        self.guard.metrics.count("refusals", code=code)
        log("connection.closed", code=code)


def _fingerprint(transport: Any) -> str | None:
    tls = transport.get_extra_info("ssl_object")
    certificate = tls.getpeercert(binary_form=True) if tls is not None else None
    return hashlib.sha256(certificate).hexdigest() if certificate else None
