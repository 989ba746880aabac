"""Who sent a request: the checks of its signature, in the order in which they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import sqlalchemy as sa

from neuroveil.deploy.server.client_certificates import require_certificate
from neuroveil.deploy.server.database import NONCE, Database
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.wire import CLOCK_WINDOW_SECONDS, SIGNATURE, SignedRequest, is_signed_by


class Known(Protocol):
    """Somebody whose public key is registered."""

    @property
    def public_key(self) -> str:
        """64 hexadecimal digits."""
        ...


Sender = TypeVar("Sender", bound=Known)


def authenticate(
    database: Database,
    request: SignedRequest | None,
    body: bytes,
    find: Callable[[Database, str], Sender | None],
) -> Sender:
    """Find out who sent a request, and that it is fresh and unchanged.

    Parameters
    ----------
    database : Database
        The server's database.
    request : SignedRequest or None
        From the headers; ``None`` where they hold no signature.
    body : bytes
        The whole body.
    find : callable
        Looks an active sender up by key id.

    Returns
    -------
    Sender
        What ``find`` gave.

    Raises
    ------
    Refusal
        With a code that says which check failed.
    """
    if request is None:
        raise Refusal(
            "no_signature", "a signed request", "none", "Use `neuroveil submit` with a site's key."
        )
    sender = find(database, request.key_id)
    if sender is None:
        raise Refusal(
            "unknown_key", "a key that is registered here", "another key",
            "Ask the coordinator to register it: `neuroveil serve hospital add`, or "
            "`neuroveil serve person add`.",
        )  # fmt: skip
    signature = request.values[SIGNATURE]
    fits = is_signed_by(sender.public_key, request.signed_bytes, signature)
    if not fits or not request.has_body(body):
        raise Refusal(
            "bad_signature", "a signature over this request and its body", "one that does not fit",
            "Something on the way changed the request; a proxy must keep its host and path.",
        )  # fmt: skip
    require_certificate(database, request)
    now = time.time()
    if abs(now - request.sent_at) > CLOCK_WINDOW_SECONDS:
        raise Refusal(
            "clock_skew", f"a clock that is right within {CLOCK_WINDOW_SECONDS:.0f} s",
            f"one that is {request.sent_at - now:+.0f} s off",
            "Set the clock of the sending machine (NTP), then try again.",
        )  # fmt: skip
    _use_nonce(database, request, now)
    return sender


def _use_nonce(database: Database, request: SignedRequest, now: float) -> None:
    """Write the nonce down, once; it is kept until its request would be too old anyway."""
    mine = (NONCE.c.key_id == request.key_id) & (NONCE.c.nonce == request.nonce)
    with database.writing() as connection:
        connection.execute(NONCE.delete().where(NONCE.c.expires < now))
        if connection.execute(sa.select(NONCE.c.nonce).where(mine)).first():
            raise Refusal(
                "replayed_request", "a request that was not sent before", "one that was",
                "Nothing was changed. If you did not send it twice, tell the coordinator.",
            )  # fmt: skip
        expires = request.sent_at + 2 * CLOCK_WINDOW_SECONDS
        connection.execute(
            NONCE.insert().values(key_id=request.key_id, nonce=request.nonce, expires=expires)
        )
