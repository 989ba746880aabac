"""Signed statements of a server: receipts, and the head of its audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuroveil.deploy.wire import is_signed_by
from neuroveil.keys import SiteKey
from neuroveil.types.certificate import canonical_json

RECEIPT = "neuroveil-receipt"
AUDIT_LOG = "neuroveil-audit-log"


def signed(key: SiteKey, kind: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Sign a statement.

    Parameters
    ----------
    key : SiteKey
        The server's key.
    kind : str
        What it is, so that one kind cannot pass for another.
    facts : mapping
        Plain data.

    Returns
    -------
    dict
        The facts with ``schema``, ``server_key`` and ``signature``.
    """
    document = {"schema": kind, "schema_version": 1, **facts, "server_key": key.public_key}
    return {**document, "signature": key.private.sign(canonical_json(document)).hex()}


def holds(document: Any, kind: str, server_key: str | None = None) -> bool:
    """Check a signed statement.

    Parameters
    ----------
    document : JSON value
        As :func:`signed` made it.
    kind : str
        What it has to be.
    server_key : str, optional
        Whose it has to be, 64 hexadecimal digits; anybody's where left out.

    Returns
    -------
    bool
        Whether kind, key and signature are right.
    """
    if not isinstance(document, dict) or document.get("schema") != kind:
        return False
    stated, signature = document.get("server_key"), document.get("signature")
    if not isinstance(stated, str) or not isinstance(signature, str):
        return False
    if server_key is not None and stated != server_key:
        return False
    facts = {name: value for name, value in document.items() if name != "signature"}
    return is_signed_by(stated, canonical_json(facts), signature)
