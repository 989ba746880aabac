"""HTTP connections that do not wait for ever: a slow head of a request ends its connection."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from neuroveil.deploy.server.logs import log


class PatientProtocol(H11Protocol):
    """uvicorn's protocol on h11 with a limit of time for the head of every request.

    uvicorn limits how long a connection may be idle between requests, but not how long a
    request line and its headers may take, which is what a slowloris attack uses. Bodies have
    their limit in :class:`~neuroveil.deploy.server.guard.Guard`.
    """

    header_seconds = 10.0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for a request.

        Parameters
        ----------
        transport : asyncio.Transport
            The connection.
        """
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and wait on only while a head is not complete.

        Parameters
        ----------
        data : bytes
            What came.
        """
        super().data_received(data)
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if is_busy:
            self._stop_waiting()
        elif self._waiting is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting.

        Parameters
        ----------
        exc : Exception or None
            Why it was lost.
        """
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.header_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if not is_busy and self.transport is not None and not self.transport.is_closing():
            log("connection.closed", code="slow_request")
            self.transport.abort()


def patient_protocol(header_seconds: float) -> type[PatientProtocol]:
    """Make a protocol with a limit.

    Parameters
    ----------
    header_seconds : float
        Time for the head of a request, in seconds.

    Returns
    -------
    type
        For uvicorn.
    """
    return type("LimitedProtocol", (PatientProtocol,), {"header_seconds": header_seconds})
