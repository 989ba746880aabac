"""The process that reads one file for :mod:`neuroveil.recordings.apart`; not for use by hand.

The first line of standard input names the reader, the file, the options and the limits. The
lines after it ask for the lengths of the stretches of some channels
(``{"segments": [...]}``), or for samples of one of them (``{"indices": [...], "read":
[number, start, stop]}``). Every answer is one line of JSON, followed by float32 samples
where samples were asked for. The process ends when standard input does.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from neuroveil.errors import RecordingError
from neuroveil.recordings.contents import FileContents, RawSegment
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.readers import open_directly


def limit_resources(max_bytes: int, max_cpu_seconds: int) -> None:
    """Set limits on this process, where the system knows such limits (not on Windows).

    Parameters
    ----------
    max_bytes : int
        Most memory that it may ask for, in bytes.
    max_cpu_seconds : int
        Most processor time that it may use, in seconds.
    """
    try:
        import resource
    except ImportError:
        return
    wanted = {
        resource.RLIMIT_AS: max_bytes, resource.RLIMIT_CPU: max_cpu_seconds,
        resource.RLIMIT_CORE: 0,  # a core dump would hold what was read
    }  # fmt: skip
    for kind, limit in wanted.items():
        _, hard = resource.getrlimit(kind)
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (soft, hard))


class Server:
    """Answers requests about one file.

    Parameters
    ----------
    request : dict
        The first request.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        options = request["options"]
        for name in ("channels", "file_channels"):
            options[name] = tuple(options[name])
        path = Path(request["path"])
        self._contents = open_directly(request["reader"], path, ReadOptions(**options))
        self._parts: dict[tuple[int, ...], tuple[RawSegment, ...]] = {}

    def description(self) -> dict[str, Any]:
        """Describe the opened file.

        Returns
        -------
        dict
            Format, channels and findings.
        """
        contents: FileContents = self._contents
        return {
            "file_format": contents.file_format,
            "channels": [_plain(asdict(channel)) for channel in contents.channels],
            "findings": [_plain(asdict(finding)) for finding in contents.findings],
        }

    def answer(self, request: dict[str, Any]) -> tuple[dict[str, Any], memoryview | None]:
        """Answer one request after the first.

        Parameters
        ----------
        request : dict
            For lengths or samples.

        Returns
        -------
        tuple of (dict, memoryview or None)
            The line, and samples.

        Raises
        ------
        EOFError
            If the reader gives another number of samples than was asked for.
        """
        if "segments" in request:
            parts = self._segments(request["segments"])
            return {"lengths": [int(part.n_times) for part in parts]}, None
        number, start, stop = request["read"]
        values = self._segments(request["indices"])[number].read(start, stop)
        shape = (len(request["indices"]), stop - start)
        if values.shape != shape:
            raise EOFError
        plain = np.ascontiguousarray(values, dtype=np.float32).reshape(-1)
        return {"samples": plain.size}, plain.view(np.uint8).data

    def _segments(self, indices: list[int]) -> tuple[RawSegment, ...]:
        """Make the stretches of some channels once."""
        key = tuple(int(i) for i in indices)
        if key not in self._parts:
            self._parts = {key: self._contents.segments(key)}
        return self._parts[key]


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more.

    Parameters
    ----------
    requests, answers : binary file
        Lines of JSON each way.
    """
    server: Server | None = None
    for line in requests:
        request = json.loads(line)
        samples: memoryview | None = None
        try:
            if server is None:
                limit_resources(request["max_bytes"], request["max_cpu_seconds"])
                server = Server(request)
                answer = server.description()
            else:
                answer, samples = server.answer(request)
        except RecordingError as error:
            said = error.as_dict()
            answer = {"refused": {k: said[k] for k in ("expected", "found", "remedy", "code")}}
        except Exception as error:
            # Messages of readers quote the file; the kind of error is enough.
            answer = {"failed": type(error).__name__}
        answers.write(json.dumps(answer).encode() + b"\n")
        if samples is not None:
            answers.write(samples)
        answers.flush()
        if server is None:
            return


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Turn numbers of numpy and bytes into what JSON knows."""
    return {
        key: value.decode("latin-1") if isinstance(value, bytes)
        else value.item() if isinstance(value, np.generic) else value
        for key, value in fields.items()
    }  # fmt: skip


def main() -> None:
    """Serve standard input and output."""
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, sys.stdout.fileno())
    with warnings.catch_warnings():
        # Warnings of readers quote paths and header fields.
        warnings.simplefilter("ignore")
        serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
