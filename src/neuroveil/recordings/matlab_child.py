"""The process that reads one MATLAB file: limit and path come in, variables go out.

Started by :mod:`neuroveil.recordings.matlab`; not for use by hand.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from typing import Any

import numpy as np

_SMALL = 4096


def limit_memory(n_bytes: int) -> None:
    """Set the limit, where the system knows such limits (not on Windows).

    Parameters
    ----------
    n_bytes : int
        Most memory that this process may ask for, in bytes.
    """
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = n_bytes if hard == resource.RLIM_INFINITY else min(n_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def portable(node: Any) -> Any:
    """Keep what a tree may hold, and large matrices in single precision.

    Parameters
    ----------
    node : object
        What pymatreader made of a variable.

    Returns
    -------
    object
        Dictionaries, lists, text, numbers and arrays; None in place of anything else.
    """
    if isinstance(node, dict):
        return {str(key): portable(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [portable(item) for item in node]
    if isinstance(node, np.ndarray):
        if node.dtype.kind == "O":
            return [portable(item) for item in node.ravel().tolist()]
        plain = np.asarray(node)
        # Time axes have one dimension and keep their precision; signals need float32 only.
        if plain.dtype == np.float64 and plain.ndim > 1 and plain.size > _SMALL:
            with np.errstate(over="ignore"):
                return plain.astype(np.float32)
        return plain if plain.dtype.kind in "iufUS" else None
    return node if isinstance(node, str | bytes | int | float | np.number) else None


def main() -> None:
    """Read the file that standard input names and answer on standard output."""
    limit, _, path = sys.stdin.buffer.read().partition(b"\n")
    limit_memory(int(limit))
    answer: tuple[str, Any]
    try:
        from pymatreader import read_mat

        with warnings.catch_warnings():
            # Warnings name variables of the file; what is missing is found later.
            warnings.simplefilter("ignore")
            answer = ("read", portable(read_mat(os.fsdecode(path))))
    except Exception as error:
        # Messages of readers quote the file; the kind of error is enough.
        answer = ("failed", type(error).__name__)
    pickle.dump(answer, sys.stdout.buffer, protocol=5)


if __name__ == "__main__":
    main()
