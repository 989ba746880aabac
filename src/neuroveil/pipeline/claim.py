"""Everything that could keep a release from being written, tried before budget is spent."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any

from neuroveil.errors import StudyError, StudyMistake

_BYTES_A_CELL = 80
"""Text, Parquet and their estimated twins take at most this much a cell, in bytes."""

_BYTES_BESIDE = 32 << 20


@contextmanager
def claimed(target: Path, n_cells: int) -> Iterator[Path]:
    """Hold the right to make a folder, and give a draft folder beside it.

    Parameters
    ----------
    target : Path
        The folder that will appear; must not exist.
    n_cells : int
        Cells of the table, for the room that it needs.

    Yields
    ------
    Path
        An empty draft folder on the same file system, removed at the end. A draft that an
        earlier run left behind when it was killed is removed first.

    Raises
    ------
    StudyError
        If the target exists, cannot be made, has no room, or another release is being
        written to it.
    """
    name = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()[:16]
    with ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((target.parent / f".neuroveil-{name}.lock").open("wb"))
        except OSError as error:
            raise _refused("a place that can be written to", type(error).__name__) from None
        if not _locked(lock):
            raise _refused("a folder of its own", "one that another release is being written to")
        stack.callback(_remove, target.parent / f".neuroveil-{name}.lock")
        check_target(target, n_cells)
        draft = target.parent / f".neuroveil-{name}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        stack.callback(shutil.rmtree, draft, ignore_errors=True)
        yield draft


def check_target(target: Path, n_cells: int = 0) -> None:
    """Make sure that a folder can appear at a place.

    Parameters
    ----------
    target : Path
        The folder.
    n_cells : int
        Cells of the table, for the room that it needs.

    Raises
    ------
    StudyError
        If it exists already, or cannot be made, or there is too little room.
    """
    if os.path.lexists(target):
        raise _refused("a folder that does not exist yet", "an existing one")
    try:
        str(target.absolute()).encode()
        target.mkdir(parents=True)
        target.rmdir()
        room = shutil.disk_usage(target.parent).free
    except (OSError, UnicodeEncodeError) as error:
        raise _refused("a place that can be written to", type(error).__name__) from None
    needed = _BYTES_BESIDE + _BYTES_A_CELL * n_cells
    if room < needed:
        raise _refused(f"{needed >> 20} MiB of free disk space", f"{room >> 20} MiB")


def check_apart(internal: Path, target: Path) -> None:
    """Refuse an internal folder and a release that meet.

    Parameters
    ----------
    internal, target : Path
        Folders, existing or not; links and dots are resolved.

    Raises
    ------
    StudyError
        If one lies inside the other.
    """
    one, other = internal.resolve(), target.resolve()
    if one == other or one in other.parents or other in one.parents:
        raise _refused(
            "a release folder apart from the internal one", "folders that meet",
            "Internal results hold patient rows and must not travel with a release.",
        )  # fmt: skip


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold interruptions back while a table that was paid for is being written.

    Yields
    ------
    None
        Interruption and termination take effect at the end of the block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)

    before: dict[int, Any] = {
        number: signal.signal(number, hold) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in held:
            signal.raise_signal(number)


def _locked(lock: IO[bytes]) -> bool:
    """Take the lock if nobody has it; it falls when its process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows: the rename at the end still never overwrites
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The one before may have removed the file between our opening and locking it.
        return Path(lock.name).stat().st_ino == os.fstat(lock.fileno()).st_ino
    except OSError:
        return False


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


def _refused(
    expected: str, found: str, remedy: str = "Name another folder with --out. Nothing was spent."
) -> StudyError:
    return StudyError([StudyMistake("output.release", expected, found, remedy)])
