"""What every request passes first: limits of size and time, counting, logging, clear refusals."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from neuroveil.deploy.server.logs import log
from neuroveil.deploy.server.metrics import Metrics
from neuroveil.deploy.server.refusals import Refusal, own_mistake
from neuroveil.deploy.server.settings import Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_NOT_ROUTED = "none"

CONNECTIONS, PEER = "connections", "peer"
"""What a connection adds to ``scope["state"]``: the open connections of this process, and the
SHA-256 of the client's certificate, 64 hexadecimal digits, or ``None``."""


class Guard:
    """ASGI middleware around the whole application.

    A body is read here, whole, within its limits, before anything else looks at the request.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    limits : Limits
        Size of a chunk and time for a body.
    metrics : Metrics
        What is counted.
    """

    def __init__(self, app: App, limits: Limits, metrics: Metrics) -> None:
        self._app, self.limits, self.metrics = app, limits, metrics
        self._bytes_held = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one connection of ASGI.

        Parameters
        ----------
        scope : mapping
            What is asked.
        receive, send : callables
            As in ASGI.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, outcome, body = time.monotonic(), _Outcome(send), bytearray()
        try:
            self._require_a_place(scope)
            await self._read_body(scope, receive, body)
            await self._app(scope, _replay(bytes(body), receive), outcome)
        except Refusal as refusal:
            await _answer(outcome, refusal)
        except Exception as error:  # nothing of it is told: it may repeat what was sent
            log("bug", error=type(error).__name__, route=_route(scope))
            if not outcome.status:
                await _answer(outcome, own_mistake())
        finally:
            self._bytes_held -= len(body)
        self._account(scope, outcome, start)

    def _require_a_place(self, scope: Message) -> None:
        # Their protocol says so; another server in between has limits of its own.
        open_now = scope.get("state", {}).get(CONNECTIONS, ())
        if len(open_now) > self.limits.connections:
            raise Refusal(
                "too_many_connections", f"{self.limits.connections} at a time at most", "more",
                "Run the same command again in a while.",
            )  # fmt: skip

    async def _read_body(self, scope: Message, receive: Receive, body: bytearray) -> None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Refusal(
                "encoded_body", "a body as it is", "a compressed one", "Send it uncompressed."
            )
        largest = self.limits.chunk_mib << 20
        stated = headers.get(b"content-length", b"0")
        if not stated.isdigit() or len(stated) > 12 or int(stated) > largest:
            raise _too_large(self.limits)
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal("incomplete", "a whole body", "a part", "Send it again.")
                    part = message.get("body", b"")
                    if len(body) + len(part) > largest:
                        raise _too_large(self.limits)
                    self._hold(len(part))
                    body += part
                    if not message.get("more_body"):
                        return
        except TimeoutError:
            raise Refusal(
                "slow_request", f"a body within {self.limits.body_seconds:g} s", "a part of it",
                "Check the connection, and run the same command again.",
            ) from None  # fmt: skip

    def _hold(self, size: int) -> None:
        """Count a part of a body, while there is memory for it; nobody has signed it yet."""
        if self._bytes_held + size > self.limits.bodies_mib << 20:
            raise Refusal(
                "busy", f"bodies of {self.limits.bodies_mib} MiB together at most", "more",
                "Run the same command again in a while.",
            )  # fmt: skip
        self._bytes_held += size

    def _account(self, scope: Message, outcome: _Outcome, start: float) -> None:
        route, status = _route(scope), outcome.status or 500
        self.metrics.count("requests", route=route, status=str(status))
        facts: dict[str, object] = dict(scope.get("state", {}).get("log", {}))
        if status >= 400:
            facts["code"] = outcome.code or "not_found"
            self.metrics.count("refusals", code=str(facts["code"]))
        milliseconds = round(1000 * (time.monotonic() - start))
        # A method is a free word; only those that a route knows are written down.
        method = scope["method"] if route != _NOT_ROUTED else ""
        log("request", method=method, route=route, status=status, milliseconds=milliseconds,
            **facts)  # fmt: skip


class _Outcome:
    """Passes an answer on and remembers its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.code = ""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.code = next(
                (value.decode() for name, value in message["headers"] if name == CODE_HEADER),
                self.code,
            )
        await self._send(message)


CODE_HEADER = b"neuroveil-refusal"
"""Header of a refusal's answer that holds its code."""

SAFE_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
)
"""Headers of every answer."""


def refusal_headers(code: str) -> dict[str, str]:
    """Give the headers that only refusals have.

    Parameters
    ----------
    code : str
        Code of the refusal.

    Returns
    -------
    dict of str to str
        The code, and what makes a browser ask for a password.
    """
    headers = {CODE_HEADER.decode(): code}
    if code == "wrong_password":
        headers["www-authenticate"] = 'Basic realm="neuroveil"'
    return headers


async def _answer(send: Send, refusal: Refusal) -> None:
    """Answer before the application was asked; what is left of the body is not read."""
    body = json.dumps(refusal.as_dict()).encode()
    special = {"content-type": "application/json", "content-length": str(len(body)),
               "connection": "close", **refusal_headers(refusal.code)}  # fmt: skip
    headers = [*SAFE_HEADERS, *((k.encode(), v.encode()) for k, v in special.items())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Hand a body that was read to the application."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _route(scope: Message) -> str:
    """Template of the path, never the path itself."""
    return str(getattr(scope.get("route"), "path", _NOT_ROUTED))


def _too_large(limits: Limits) -> Refusal:
    return Refusal(
        "too_large", f"a body of {limits.chunk_mib} MiB at most", "a larger one",
        "Send the file in chunks.",
    )  # fmt: skip
