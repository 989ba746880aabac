"""Tables for another program, and its answers: .npy, CSV or JSON lines.

``npy``: one array of shape (n_trials, n_rows, dimension) goes in, one array with ``n_trials``
as its first axis comes out. ``jsonl``: one line a trial, a list of rows in, a list of any shape
out. ``csv``: one line a row of numbers, an empty line after each trial, the same out. Text
carries every float exactly, in as many digits as it takes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuroveil.types.recording import FloatArray


@dataclass(frozen=True)
class Format:
    """One way to write tables and to read answers.

    Parameters
    ----------
    write : callable
        From the rows and a number of trials to bytes.
    read : callable
        From bytes to answers, one a trial; raises ValueError for anything else.
    """

    write: Callable[[FloatArray, int], bytes]
    read: Callable[[bytes], Any]


def _write_npy(rows: FloatArray, n_trials: int) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.broadcast_to(rows, (n_trials, *rows.shape)), allow_pickle=False)
    return buffer.getvalue()


def _read_npy(answer: bytes) -> Any:
    # An array of objects could run code when it is loaded; it is refused.
    return np.load(io.BytesIO(answer), allow_pickle=False)


def _write_json_lines(rows: FloatArray, n_trials: int) -> bytes:
    return (json.dumps(rows.tolist()) + "\n").encode() * n_trials


def _read_json_lines(answer: bytes) -> Any:
    return [np.ravel(json.loads(line)) for line in answer.decode().splitlines() if line.strip()]


def _write_csv(rows: FloatArray, n_trials: int) -> bytes:
    lines = "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())
    return (lines + "\n").encode() * n_trials


def _read_csv(answer: bytes) -> Any:
    blocks = answer.decode().replace("\r\n", "\n").strip("\n").split("\n\n")
    return [[float(cell) for cell in block.replace("\n", ",").split(",")] for block in blocks]


FORMATS: Mapping[str, Format] = {
    "npy": Format(_write_npy, _read_npy),
    "jsonl": Format(_write_json_lines, _read_json_lines),
    "csv": Format(_write_csv, _read_csv),
}
"""Formats by name."""
