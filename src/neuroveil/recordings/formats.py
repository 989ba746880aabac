"""What a file is: told by its first bytes and, where those do not say it, by its name."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from neuroveil.recordings.brainvision import named_files
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.parts import beside

SUPPORTED_SUFFIXES: frozenset[str] = frozenset({
    ".edf", ".rec", ".bdf", ".vhdr", ".set", ".fif", ".mat", ".h5", ".hdf5", ".hdf", ".he5",
    ".gdf", ".cnt", ".lay", ".trc", ".eeg", ".raw", ".mff", ".data", ".cdt", ".dat",
})  # fmt: skip
"""File name endings that a roster looks for. What a file is, its content decides."""

FOLDER_SUFFIX = ".mff"
"""Ending of folders that are one recording (EGI)."""

OWN_READERS = frozenset({"edf"})
"""Readers that run in the calling process; all others run apart."""

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HDF5_OFFSETS = (0, 512, 1024, 2048)
_START_BYTES = _HDF5_OFFSETS[-1] + 8

_BRAINVISION = re.compile(
    rb"(\xef\xbb\xbf)?\s*Brain ?Vision( Core| V-Amp)? Data( Exchange)? Header", re.ASCII
)
_NIHON_KOHDEN = (b"EEG-1100", b"EEG-1200", b"EEG-2100", b"QI-403A", b"DAE-2100")

# Files of these endings are recordings only beside, or only without, a file of another ending.
_NEEDS = {".data": (".head",), ".dat": (".dap",)}
_PART_OF = {".eeg": (".vhdr", ".ahdr")}

_KNOWN = (
    "EDF, BDF, BrainVision, EEGLAB, FieldTrip, MATLAB, HDF5, FIF, GDF, Micromed, Neuroscan, "
    "Nihon Kohden, Persyst or another format of the documentation's list"
)


def may_be_recording(path: Path) -> bool:
    """Whether a name looks like a recording, and not like a part of one.

    Parameters
    ----------
    path : Path
        A file, or a folder where the format is one (``.mff``).

    Returns
    -------
    bool
        For looking through folders; of the file itself only the name is looked at.
    """
    suffix = path.suffix.lower()
    if suffix not in SUPPORTED_SUFFIXES:
        return False
    if path.exists() and not (path.is_file() or path.is_dir()):
        return False  # a pipe or a device: opening it could wait for ever
    if suffix in _NEEDS:
        return bool(beside(path, _NEEDS[suffix]))
    return not beside(path, _PART_OF.get(suffix, ())) and not _is_named_by_a_header(path)


def recognise(path: Path, options: ReadOptions) -> str:
    """Tell which reader a file needs.

    Parameters
    ----------
    path : Path
        The recording.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    str
        A key of :data:`neuroveil.recordings.readers.READERS`.

    Raises
    ------
    RecordingError
        If the file is empty or of no supported kind.
    OSError
        If it cannot be opened.
    """
    if path.is_dir():
        if path.suffix.lower() == FOLDER_SUFFIX:
            return "egi"
        raise options.refusal(
            "a recording", "a folder", "Name the file itself.", code="unknown_format"
        )
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    if not start:
        raise options.refusal(
            "a recording", "an empty file", "Leave it out, or export it again.", code="empty_file"
        )
    for reader, fits in _RULES:
        if fits(start, path):
            return reader
    raise options.refusal(
        _KNOWN, "a file of another kind", "Export the recording as EDF+.", code="unknown_format"
    )


def _is_named_by_a_header(path: Path) -> bool:
    """Whether an ``.eeg`` file holds the samples of a BrainVision header of another name."""
    if path.suffix.lower() != ".eeg" or not path.is_file():
        return False
    return path in _named_in(path.parent, path.parent.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _named_in(folder: Path, changed: int) -> frozenset[Path]:
    """Files that the BrainVision headers of a folder name; looked up once for all its files."""
    del changed  # a folder with other files is another key
    headers = (each for each in folder.iterdir() if each.suffix.lower() == ".vhdr")
    return frozenset(part for header in headers for part in named_files(header).values())


def _is_egi(start: bytes, path: Path) -> bool:
    """Simple binary files begin with a big-endian version of 2 to 7."""
    return (
        path.suffix.lower() == ".raw"
        and len(start) > 36
        and 2 <= int(struct.unpack(">i", start[:4])[0]) <= 7
    )


def _is_curry(start: bytes, path: Path) -> bool:
    """Plain numbers, told by the name alone; older versions by the parameters beside them."""
    del start
    suffix = path.suffix.lower()
    return suffix == ".cdt" or (suffix == ".dat" and bool(beside(path, (".dap",))))


def _is_edf(start: bytes, path: Path) -> bool:
    """EDF by its first field; or by name, so that its reader says what is wrong."""
    stated = start.startswith(b"\xffBIOSEMI")
    stated = stated or (start[:1] == b"0" and not start[1:8].strip(b" \x00"))
    return stated or path.suffix.lower() in (".edf", ".bdf", ".rec")


_RULES: tuple[tuple[str, Callable[[bytes, Path], bool]], ...] = (
    ("hdf5", lambda s, p: any(s[o : o + 8] == _HDF5_SIGNATURE for o in _HDF5_OFFSETS)),
    ("matlab", lambda s, p: s.startswith((b"MATLAB 5.0", b"MATLAB 7"))),
    ("brainvision", lambda s, p: bool(_BRAINVISION.match(s))),
    ("fif", lambda s, p: s.startswith(b"\x00\x00\x00\x64\x00\x00\x00\x1f")),
    ("gdf", lambda s, p: s.startswith((b"GDF 1", b"GDF 2"))),
    ("neuroscan", lambda s, p: s.startswith(b"Version 3")),
    ("ant", lambda s, p: s.startswith((b"RIFF", b"RF64")) and p.suffix.lower() == ".cnt"),
    ("persyst", lambda s, p: b"[fileinfo]" in s.lower() and p.suffix.lower() == ".lay"),
    ("micromed", lambda s, p: b"MICROMED" in s[:32].upper()),
    ("nihon_kohden", lambda s, p: s.startswith(_NIHON_KOHDEN)),
    ("egi", _is_egi),
    ("nicolet", lambda s, p: p.suffix.lower() == ".data" and bool(beside(p, (".head",)))),
    ("curry", _is_curry),
    ("edf", _is_edf),
)  # fmt: skip
