"""Which files a recording consists of.

Readers take no other file than these: they decide when a recording has to be read again, and
how large it is. A test watches every file that a reader opens.
"""

from __future__ import annotations

from pathlib import Path

from neuroveil.recordings.brainvision import named_files
from neuroveil.recordings.persyst import named_samples

_CURRY = (
    ".dap", ".rs3", ".cef", ".ceo", ".cdt.dpa", ".cdt.dpo", ".cdt.cef", ".cdt.ceo", ".cdt.hpi",
)  # fmt: skip

_BESIDE = {
    ".set": (".fdt",), ".mat": (".fdt",), ".h5": (".fdt",), ".hdf5": (".fdt",),
    ".eeg": (".21e", ".pnt", ".log"), ".data": (".head",),
    ".dat": _CURRY, ".cdt": _CURRY, ".cnt": (".evt", ".trg", ".seg"),
}  # fmt: skip
"""Endings of files of the same name that belong to a recording."""


def parts_of(path: Path) -> list[Path]:
    """List the files that a recording consists of, in a fixed order.

    Parameters
    ----------
    path : Path
        The recording.

    Returns
    -------
    list of Path
        The file itself, then those that its header names in the same folder or that differ
        from it by their ending only; for a folder, all files in it.

    Raises
    ------
    OSError
        If a folder cannot be looked through.
    """
    if path.is_dir():
        return sorted(part for part in path.rglob("*") if part.is_file())
    suffix = path.suffix.lower()
    if suffix in (".vhdr", ".ahdr"):
        found = list(named_files(path).values())
    elif suffix == ".lay":
        found = [samples for samples in [named_samples(path)] if samples is not None]
    else:
        found = beside(path, _BESIDE.get(suffix, ()))
    # Where case does not matter, both spellings are the same file.
    return [path, *(part for i, part in enumerate(found) if not _stands_in(part, found[:i]))]


def beside(path: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """List files of the same name with other endings.

    Parameters
    ----------
    path : Path
        A file.
    suffixes : tuple of str
        In small letters; capitals are looked for too.

    Returns
    -------
    list of Path
        Those that exist.
    """
    candidates = (path.with_suffix(each) for s in suffixes for each in (s, s.upper()))
    return [part for part in candidates if part.is_file()]


def _stands_in(part: Path, others: list[Path]) -> bool:
    """Whether a file is one of some others under another spelling."""
    return any(part.samefile(other) for other in others)
