"""Structured logs: one JSON object a line, with fields from a fixed list and nothing else."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress

from neuroveil.deploy.server.audit_log import utc_now

FIELDS: frozenset[str] = frozenset({
    "event", "code", "status", "route", "method", "hospital", "submission", "bytes",
    "milliseconds", "links", "error", "port", "days", "job",
})  # fmt: skip
"""All that a log line can hold besides the time. No address, path, header, name or content."""

_LOCK = threading.Lock()


def log(event: str, **facts: object) -> None:
    """Write one line on standard error.

    Parameters
    ----------
    event : str
        What happened, for example ``"request"``.
    **facts : object
        Fields of :data:`FIELDS`.

    Raises
    ------
    KeyError
        If a field is not on the list: a mistake of the program, found by its tests.
    """
    unknown = set(facts) - FIELDS
    if unknown:
        raise KeyError(f"no field of the log: {sorted(unknown)}")
    line = json.dumps({"time": utc_now(), "event": event, **facts}, ensure_ascii=True)
    with _LOCK, suppress(OSError):  # a log on a full disk must not hurt a request
        print(line, file=sys.stderr, flush=True)
