"""What the routes read from a request."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from fastapi import Request

from neuroveil.deploy.server.guard import PEER
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.wire import SignedRequest, read_signed


def signature_of(request: Request) -> SignedRequest | None:
    """Take the parts of a signature out of a request, with what it covers.

    Parameters
    ----------
    request : Request
        As it arrived.

    Returns
    -------
    SignedRequest or None
        None where there is none.
    """
    path = request.scope["raw_path"].decode("ascii", "replace")
    query = request.scope["query_string"].decode("ascii", "replace")
    target = f"{path}?{query}" if query else path
    headers = {name: request.headers.get(name, "") for name in request.headers}
    signed = read_signed(request.method, headers.get("host", ""), target, headers)
    peer = request.scope.get("state", {}).get(PEER)
    return None if signed is None else replace(signed, peer=peer)


def json_of(body: bytes) -> Any:
    """Read a body.

    Parameters
    ----------
    body : bytes
        As it arrived.

    Returns
    -------
    JSON value
        Unchecked.

    Raises
    ------
    Refusal
        Code ``bad_request``.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(
            "bad_request", "JSON", "something else", "Use the commands of neuroveil."
        ) from None


def offset_of(request: Request) -> int:
    """Read where a chunk begins.

    Parameters
    ----------
    request : Request
        With ``offset`` in its query.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    Refusal
        Code ``bad_request``.
    """
    stated = request.query_params.get("offset", "")
    if not stated.isascii() or not stated.isdigit() or len(stated) > 15:
        raise Refusal(
            "bad_request", "an offset in bytes", "something else", "Use `neuroveil submit`."
        )
    return int(stated)
