"""Counters in the text format of Prometheus, since the server was started."""

from __future__ import annotations

import json
import secrets
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_HELP = {
    "neuroveil_requests_total": "Requests by route and status.",
    "neuroveil_refusals_total": "Refused requests and ended connections by reason.",
    "neuroveil_received_bytes_total": "Bytes of files that were received.",
}

_Key = tuple[str, tuple[tuple[str, str], ...]]


class Metrics:
    """Counters by name and labels.

    Parameters
    ----------
    folder : Path, optional
        Where the workers of one server keep theirs, so that any of them can answer for all.
        Left out, only this process counts.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._counts: Counter[_Key] = Counter()
        self._lock = threading.Lock()
        # A process's number can come back; a worker's file must not be another's.
        self._file = folder / f"{secrets.token_hex(8)}.json" if folder is not None else None

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
            if self._file is not None:
                with suppress(OSError):  # a full disk must not hurt a request; the next count is
                    _write(self._file, self._counts)  # written down with this one

    def text(self, states: Mapping[str, int], jobs: Mapping[str, int] | None = None) -> str:
        """Write all counters down.

        Parameters
        ----------
        states : mapping of str to int
            Submissions by state, from the database.
        jobs : mapping of str to int, optional
            Background jobs by state, of a server that has any.

        Returns
        -------
        str
            In the text exposition format, version 0.0.4; of all workers together.
        """
        with self._lock:
            counts = self._counts.copy()
        if self._file is not None:
            for other in set(self._file.parent.glob("*.json")) - {self._file}:
                counts.update(dict(_read(other)))
        lines = []
        for name, help_text in _HELP.items():
            lines += [f"# HELP {name} {help_text}", f"# TYPE {name} counter"]
            lines += [
                f"{name}{_labels(labels)} {value}"
                for (counted, labels), value in sorted(counts.items())
                if counted == name
            ]
        lines += _gauge("submissions", "Submissions in the database by state.", states)
        if jobs is not None:
            lines += _gauge("jobs", "Background jobs that make releases, by state.", jobs)
        return "\n".join(lines) + "\n"


def metrics_folder(root: Path) -> Path:
    """Say where the workers of a server keep their counters.

    Parameters
    ----------
    root : Path
        The server's folder.

    Returns
    -------
    Path
        A folder, made where it is missing.
    """
    folder = root / "metrics"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def forget_metrics(root: Path) -> None:
    """Count from zero: called once, before the workers start.

    Parameters
    ----------
    root : Path
        The server's folder.
    """
    shutil.rmtree(root / "metrics", ignore_errors=True)


def _write(file: Path, counts: Mapping[_Key, int]) -> None:
    """Replace a file in one step; whoever reads meanwhile sees the old one or the new one."""
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps([[name, labels, n] for (name, labels), n in counts.items()]))
    draft.replace(file)


def _read(file: Path) -> Iterator[tuple[_Key, int]]:
    with suppress(OSError, ValueError):
        for name, labels, number in json.loads(file.read_text()):
            yield (name, tuple((key, value) for key, value in labels)), number


def _gauge(name: str, help_text: str, states: Mapping[str, int]) -> list[str]:
    return [
        f"# HELP neuroveil_{name} {help_text}",
        f"# TYPE neuroveil_{name} gauge",
        *(f'neuroveil_{name}{{state="{state}"}} {n}' for state, n in states.items()),
    ]


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}" if labels else ""
