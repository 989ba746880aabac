"""Files of the owner only, written once or exchanged whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.keys.sealing import CLOSE_IT, OWNER_ONLY, open_to_others


def new_folder(folder: Path, what: str) -> None:
    """Make a folder for keys and state, open to its owner only.

    Parameters
    ----------
    folder : Path
        New or empty.
    what : str
        Whose folder it is, for the error.

    Raises
    ------
    StudyError
        If there are files in it.
    """
    if folder.exists() and any(folder.iterdir()):
        raise StudyError([StudyMistake(
            f"{what} folder", "a new or empty folder", "one with files in it",
            "Name another folder; keys are never overwritten.",
        )])  # fmt: skip
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)


def write_secret(path: Path, data: bytes) -> None:
    """Write a new file that only its owner can read.

    Parameters
    ----------
    path : Path
        Must not exist.
    data : bytes
        Its content.
    """
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(number, "wb") as stream:  # noqa: PTH123
        stream.write(data)


def exchange(path: Path, text: str) -> None:
    """Put a whole new content in a file's place; a reader sees the old one or the new one.

    Parameters
    ----------
    path : Path
        Of the owner only, whether it exists or not.
    text : str
        The content.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    write_secret(draft, text.encode())
    try:
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def read_secret(path: Path, what: str) -> bytes:
    """Read a file that the folder must hold, and that nobody else may read.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        Its role, for the error.

    Returns
    -------
    bytes
        Its content.

    Raises
    ------
    StudyError
        If it is missing or empty, or other people can read it.
    """
    data = read_file(path, what)
    if found := open_to_others(path.stat()):
        raise StudyError([StudyMistake(f"file {path.name}", OWNER_ONLY, found, CLOSE_IT)])
    return data


def read_file(path: Path, what: str) -> bytes:
    """Read a file that the folder must hold.

    Parameters
    ----------
    path : Path
        The file.
    what : str
        Its role, for the error.

    Returns
    -------
    bytes
        Its content.

    Raises
    ------
    StudyError
        If it is missing or empty.
    """
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if not data.strip():
        raise StudyError([StudyMistake(
            f"file {path.name}", what, "none",
            "Name the folder that `init` made, or make a new one.",
        )])  # fmt: skip
    return data
