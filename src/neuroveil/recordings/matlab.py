"""MATLAB files before version 7.3, read through pymatreader."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from pathlib import Path

from neuroveil.recordings.contents import FileContents
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.variables import contents_of


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

    with warnings.catch_warnings():
        # Warnings about classes name variables of the file; what is missing is found later.
        warnings.simplefilter("ignore")
        tree = read_mat(path)
    with ExitStack() as stack:
        return contents_of(tree, "MATLAB", path, options, stack)
