"""The readers by name. Those that are not our own run in a process of their own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from neuroveil.errors import NeuroveilError
from neuroveil.recordings.contents import UNREADABLE_REMEDY, FileContents
from neuroveil.recordings.options import ReadOptions

READERS: dict[str, tuple[str, str, str]] = {
    "edf": ("EDF or BDF", "edf", "open_edf"),
    "hdf5": ("HDF5 or MATLAB 7.3", "hdf5", "open_hdf5"),
    "matlab": ("MATLAB", "matlab", "open_matlab"),
    "brainvision": ("BrainVision", "brainvision", "open_brainvision"),
    "fif": ("FIF", "through_mne", "open_fif"),
    "gdf": ("GDF", "vendors", "open_gdf"),
    "neuroscan": ("Neuroscan", "vendors", "open_neuroscan"),
    "ant": ("ANT Neuro", "with_extras", "open_ant"),
    "persyst": ("Persyst", "persyst", "open_persyst"),
    "micromed": ("Micromed", "micromed", "open_micromed"),
    "nihon_kohden": ("Nihon Kohden", "vendors", "open_nihon_kohden"),
    "egi": ("EGI", "vendors", "open_egi"),
    "nicolet": ("Nicolet", "vendors", "open_nicolet"),
    "curry": ("Curry", "with_extras", "open_curry"),
}
"""Title, module of this room and function, by reader. Modules are imported when used."""


def open_directly(reader: str, path: Path, options: ReadOptions) -> FileContents:
    """Open a file with a reader in this process.

    Parameters
    ----------
    reader : str
        A key of :data:`READERS`.
    path : Path
        The file.
    options : ReadOptions
        What the study says about its files.

    Returns
    -------
    FileContents
        The file's own channels and signal; its ``resources`` have to be closed.

    Raises
    ------
    RecordingError
        If the file is damaged, cannot be opened, or needs a library that is not there.
    """
    title, module, function = READERS[reader]
    try:
        opener = getattr(import_module(f"neuroveil.recordings.{module}"), function)
        return cast("FileContents", opener(path, options))
    except NeuroveilError:
        raise
    except OSError as error:
        if error.errno is None:  # a reader's own, about what it read
            raise _damaged(title, options, error) from None
        raise options.refusal(
            "a file that can be opened", f"an error of the system ({type(error).__name__})",
            "Check that the file exists, with all its parts beside it, and may be read.",
            code="unreadable",
        ) from None  # fmt: skip
    except ImportError:
        raise options.refusal(
            f"the library that reads {title} files", "that it is not installed",
            "Install the extra 'formats' (pip install 'neuroveil[formats]'), or export the "
            "recording as EDF+.", code="library_missing",
        ) from None  # fmt: skip
    except Exception as error:
        # Readers of others raise anything on damaged files, and quote the file in doing so.
        raise _damaged(title, options, error) from None


def _damaged(title: str, options: ReadOptions, error: Exception) -> NeuroveilError:
    return options.refusal(
        f"a {title} file", f"one its reader cannot make sense of ({type(error).__name__})",
        UNREADABLE_REMEDY, code="damaged",
    )  # fmt: skip
