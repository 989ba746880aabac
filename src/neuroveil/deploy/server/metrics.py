"""Counters in the text format of Prometheus. They count this process since it started."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_HELP = {
    "neuroveil_requests_total": "Requests by route and status.",
    "neuroveil_refusals_total": "Refused requests by reason.",
    "neuroveil_received_bytes_total": "Bytes of release files that were received.",
}


class Metrics:
    """Counters by name and labels."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to a counter.

        Parameters
        ----------
        name : str
            Without ``neuroveil_`` and ``_total``.
        amount : int
            How much.
        **labels : str
            Words of the program, never of a request.
        """
        with self._lock:
            self._counts[f"neuroveil_{name}_total", tuple(sorted(labels.items()))] += amount

    def text(self, states: Mapping[str, int]) -> str:
        """Write all counters down.

        Parameters
        ----------
        states : mapping of str to int
            Submissions by state, from the database.

        Returns
        -------
        str
            In the text exposition format, version 0.0.4.
        """
        with self._lock:
            counts = dict(self._counts)
        lines = []
        for name, help_text in _HELP.items():
            lines += [f"# HELP {name} {help_text}", f"# TYPE {name} counter"]
            lines += [
                f"{name}{_labels(labels)} {value}"
                for (counted, labels), value in sorted(counts.items())
                if counted == name
            ]
        lines += [
            "# HELP neuroveil_submissions Submissions in the database by state.",
            "# TYPE neuroveil_submissions gauge",
        ]
        lines += [f'neuroveil_submissions{{state="{name}"}} {n}' for name, n in states.items()]
        return "\n".join(lines) + "\n"


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
