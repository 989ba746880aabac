"""MATLAB files before version 7.3, read whole through pymatreader."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.recordings.contents import FileContents
from neuroveil.recordings.matlab_strings import string_variables
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.variables import contents_of

_SMALL = 4096


def open_matlab(path: Path, options: ReadOptions) -> FileContents:
    """Open a MATLAB 5 to 7.2 file; such files can only be read whole.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        What the study says where the file does not.

    Returns
    -------
    FileContents
        Channels and signal.

    Raises
    ------
    RecordingError
        If it is not clear what in the file is the signal, its names or its rate.
    """
    from pymatreader import read_mat

    read = read_mat(str(path))
    tree = _portable(read)
    if "__function_workspace__" in read:  # objects, of which texts are one kind
        tree |= string_variables(path)
    with ExitStack() as stack:
        return contents_of(tree, "MATLAB", path, options, stack)


def _portable(node: Any) -> Any:
    """Keep what a tree may hold, and large matrices in single precision."""
    if isinstance(node, dict):
        return {str(key): _portable(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_portable(item) for item in node]
    if isinstance(node, np.ndarray):
        if node.dtype.kind == "O":
            return [_portable(item) for item in node.ravel().tolist()]
        plain = np.asarray(node)
        # Time axes have one dimension and keep their precision; signals need float32 only.
        if plain.dtype == np.float64 and plain.ndim > 1 and plain.size > _SMALL:
            with np.errstate(over="ignore"):
                return plain.astype(np.float32)
        return plain if plain.dtype.kind in "iufUS" else None
    return node if isinstance(node, str | bytes | int | float | np.number) else None
