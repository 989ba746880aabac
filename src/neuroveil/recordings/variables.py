"""Which layout the variables of a MAT or HDF5 file follow: EEGLAB, FieldTrip or plain."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from neuroveil.recordings.contents import FileContents
from neuroveil.recordings.eeglab import eeglab_contents, eeglab_struct
from neuroveil.recordings.fieldtrip import fieldtrip_contents, fieldtrip_struct
from neuroveil.recordings.named_arrays import plain_contents
from neuroveil.recordings.options import ReadOptions


def contents_of(
    tree: dict[str, Any], file_format: str, path: Path, options: ReadOptions, stack: ExitStack
) -> FileContents:
    """Find signal, names, rate and unit among the variables of a file.

    Parameters
    ----------
    tree : dict
        All variables.
    file_format : str
        Name of the container for a reader.
    path : Path
        The file, beside which EEGLAB may keep its signal.
    options : ReadOptions
        What the study says where the file does not.
    stack : ExitStack
        What the contents keep open; left alone if this raises.

    Returns
    -------
    FileContents
        Channels and signal.

    Raises
    ------
    RecordingError
        If anything is missing or could be read in two ways.
    """
    eeg, raw = eeglab_struct(tree), fieldtrip_struct(tree)
    if eeg is not None:
        channels, segments, findings = eeglab_contents(eeg, path, options)
        file_format = f"EEGLAB ({file_format})"
    elif raw is not None:
        channels, segments, findings = fieldtrip_contents(raw, options)
        file_format = f"FieldTrip ({file_format})"
    else:
        channels, segments, findings = plain_contents(tree, options)
    return FileContents(file_format, channels, segments, stack.pop_all(), findings)
