"""Whether what a hospital sent can be used: read first by a process that may come to grief."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from neuroveil.deploy.server.consortium.proposal import Proposal
from neuroveil.deploy.server.refusals import Refusal
from neuroveil.deploy.server.settings import ServerSettings


def require_sound(
    settings: ServerSettings, content: bytes, proposal: Proposal, roster: bytes | None
) -> None:
    """Refuse what cannot be used, without taking the server down with it.

    Parameters
    ----------
    settings : ServerSettings
        Limits.
    content : bytes
        A roster; with ``roster`` given, feature rows.
    proposal : Proposal
        The study's terms.
    roster : bytes, optional
        The closed roster that the rows must fit.

    Raises
    ------
    Refusal
        Code ``malformed_rows``; names what is wrong and nothing of the content.
    """
    limits = settings.limits
    head = {
        "largest": settings.require_trusted().largest_n_rows, "roster": len(roster or b""),
        "columns": [[column.channel, column.feature] for column in proposal.columns],
        "has_label": proposal.has_label,
    }  # fmt: skip
    # Only the interpreter's own way to its packages is handed on.
    known = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"{__package__}.examine_rows", str(limits.examination_mib),
             str(limits.examination_seconds)],
            input=json.dumps(head).encode() + b"\n" + (roster or b"") + content,
            capture_output=True, check=True, timeout=2 * limits.examination_seconds,
            env={**known, **threads, "ARROW_DEFAULT_MEMORY_POOL": "system"},
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        found = {"expected": "a file within the limits of time and memory", "found": "another"}
    if found:
        raise Refusal(
            "malformed_rows", str(found["expected"]), str(found["found"]),
            "Nothing of it was kept. Send it with `neuroveil submit`.",
        )  # fmt: skip
