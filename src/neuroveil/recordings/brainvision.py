"""BrainVision recordings: a header of text that names the files of samples and of markers.

The names are read here too, and not by mne alone: which files belong to a recording decides
when it has to be read again, and a header must not reach beyond its own folder.
"""

from __future__ import annotations

import configparser
import re
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from neuroveil.recordings.contents import FileContents
from neuroveil.recordings.options import ReadOptions

_MAX_HEADER_BYTES = 16 << 20
_OUTSIDE = re.compile(r"[/\\:\x00-\x1f]")
_STEM = "$b"
"""Stands for the header's own name without its ending (BrainVision Core Data Format 1.0)."""

Role = Literal["DataFile", "MarkerFile"]
_SUFFIXES: dict[Role, str] = {"DataFile": ".eeg", "MarkerFile": ".vmrk"}


def named_files(header: Path) -> dict[Role, Path]:
    """Find the files that a BrainVision header names, in its own folder.

    Parameters
    ----------
    header : Path
        The ``.vhdr`` file.

    Returns
    -------
    dict of str to Path
        By the header's field. Without names that lead out of the folder or to nothing; where
        the file of markers is not there, the one with the header's name takes its place.
    """
    found: dict[Role, Path] = {}
    for role, name in _stated(header).items():
        part = _inside(header, name)
        if role == "MarkerFile" and (part is None or not part.is_file()):
            part = header.with_suffix(".vmrk")
        if part is not None and part.is_file():
            found[role] = part
    return found


def open_brainvision(path: Path, options: ReadOptions) -> FileContents:
    """Open a BrainVision recording by its header file.

    Parameters
    ----------
    path : Path
        The ``.vhdr`` file; the two files it names lie beside it.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    FileContents
        Channels and signal.

    Raises
    ------
    RecordingError
        If the header names a file of another folder or one that is not there, or leaves out
        markers that are there.
    """
    stated, found = _stated(path), named_files(path)
    if any(_inside(path, name) is None for name in stated.values()):
        raise options.refusal(
            "names of files in the header's own folder", "a name that leads elsewhere",
            "Put the files into one folder, and write their bare names into the header.",
            code="part_outside",
        )  # fmt: skip
    # Without markers, interruptions would not be seen.
    if "DataFile" not in found or found.keys() != stated.keys():
        raise options.refusal(
            "the files that the header names, in the same folder", "that one is not there",
            "Keep header, samples and markers together, under the names in the header.",
            code="part_missing",
        )  # fmt: skip
    if "MarkerFile" not in stated and path.with_suffix(".vmrk").is_file():
        raise options.refusal(
            "a header that names its file of markers", "one that does not, though one is there",
            "Write MarkerFile= and its name into the header's [Common Infos].",
            code="part_missing",
        )  # fmt: skip
    with ExitStack() as stack:
        header = path
        if path.suffix != ".vhdr" or any(
            part.name != stated[role] or (role == "MarkerFile" and part.suffix != ".vmrk")
            for role, part in found.items()
        ):
            header = _renamed(path, found, stack)
        contents = _through_mne(header, found["DataFile"])
        contents.resources.push(stack.pop_all())
        return contents


def _through_mne(header: Path, samples: Path) -> FileContents:
    from neuroveil.recordings.through_mne import contents_from_raw

    def read(mne: Any) -> Any:
        raw = mne.io.read_raw_brainvision(header, preload=False, verbose="CRITICAL")
        if not all(Path(name).samefile(samples) for name in raw.filenames):
            raise ValueError  # the header can be understood in two ways
        return raw

    return contents_from_raw(read, "BrainVision")


def _renamed(path: Path, parts: dict[Role, Path], stack: ExitStack) -> Path:
    """Give the recording under the only names and endings that mne knows what to do with."""
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="neuroveil-")))
    with path.open("rb") as file:
        content = file.read(_MAX_HEADER_BYTES)
    for role, part in parts.items():
        name = f"recording{_SUFFIXES[role]}"
        (folder / name).symlink_to(part.resolve())
        line = re.compile(rb"^%b\s*=[^\r\n]*" % role.encode(), re.MULTILINE | re.IGNORECASE)
        content = line.sub(f"{role}={name}".encode(), content, count=1)
    header = folder / "recording.vhdr"
    header.write_bytes(content)
    return header


def _stated(header: Path) -> dict[Role, str]:
    """Read the names as they stand in the header; nothing where it cannot be understood."""
    settings = configparser.ConfigParser(interpolation=None)
    try:
        with header.open("rb") as file:
            file.readline()  # the format's name
            content = file.read(_MAX_HEADER_BYTES)
        settings.read_string(_text(content).partition("[Comment]")[0])
    except (configparser.Error, OSError):
        return {}
    # NeurOne writes "infos".
    section = next((s for s in ("Common Infos", "Common infos") if settings.has_section(s)), "")
    names = {role: settings.get(section, role, fallback="") for role in _SUFFIXES}
    return {role: name for role, name in names.items() if name}


def _text(content: bytes) -> str:
    """Decode a header by the code page that it states, as mne does."""
    stated = re.search(rb"Codepage=([^\r\n]+)", content)
    page = stated[1].decode("ascii", "ignore").strip() if stated else "utf-8"
    try:
        return content.decode("cp1252" if page == "ANSI" else page)
    except (UnicodeDecodeError, LookupError):
        return content.decode("latin-1")


def _inside(header: Path, name: str) -> Path | None:
    """Give the file of that name beside the header; None for anything but a bare name."""
    bare = name.replace(_STEM, header.stem)
    if _OUTSIDE.search(bare) or bare in ("", ".", ".."):
        return None
    return header.with_name(bare)
