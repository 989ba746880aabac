"""Files on the server's disk: uploads in progress, and accepted content by its digest.

No name that a client sends becomes a path: uploads and content are named by digests. What is
acknowledged was flushed to the disk first.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from neuroveil.deploy.manifest import Manifest, ManifestFile
from neuroveil.deploy.server.refusals import Refusal

_CHUNK = 1 << 20
_EXAMINED = "examination-"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Store:
    """The folder of a server's files.

    Parameters
    ----------
    root : Path
        Gets ``uploads/`` and ``content/``, readable by their owner only.
    free_bytes : int
        How much of the disk stays free, in bytes.
    """

    def __init__(self, root: Path, free_bytes: int) -> None:
        self._uploads, self._content = root / "uploads", root / "content"
        self._free_bytes = free_bytes
        for folder in (self._uploads, self._content):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def clear(self) -> None:
        """Remove copies that were being verified when the server was killed."""
        for folder in self._uploads.glob(f"{_EXAMINED}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def require_room(self, size: int) -> None:
        """Refuse an upload that the disk has no room for.

        Parameters
        ----------
        size : int
            Bytes.

        Raises
        ------
        Refusal
            Code ``no_room``.
        """
        # Verification works on a copy.
        if shutil.disk_usage(self._uploads).free < 2 * size + self._free_bytes:
            raise _no_room()

    @contextmanager
    def locked(self, upload: str, wait: bool = True) -> Iterator[bool]:
        """Hold an upload alone, among all workers on this machine.

        Parameters
        ----------
        upload : str
            Its name: digits of digests.
        wait : bool
            Whether to wait for another one that holds it.

        Yields
        ------
        bool
            Whether it is held; always so after waiting. The lock falls when the process ends,
            however it ends.
        """
        with _refused(), (self._uploads / f"{upload}.lock").open("wb") as lock:
            yield _flock(lock, wait)

    def received(self, upload: str, file: ManifestFile) -> int:
        """Say how much of a file is here.

        Parameters
        ----------
        upload : str
            Name of the upload.
        file : ManifestFile
            Which file.

        Returns
        -------
        int
            Bytes from its beginning; the length on the disk is the only record of it.
        """
        try:
            return self._part(upload, file).stat().st_size
        except FileNotFoundError:
            return 0

    def append(self, upload: str, file: ManifestFile, offset: int, data: bytes) -> int:
        """Write a chunk and flush it to the disk; the caller holds the lock.

        Parameters
        ----------
        upload : str
            Name of the upload.
        file : ManifestFile
            Which file.
        offset : int
            Where the chunk begins, bytes.
        data : bytes
            The chunk.

        Returns
        -------
        int
            How much is here now, bytes.

        Raises
        ------
        Refusal
            Code ``wrong_offset`` with the right one, ``too_large`` or ``no_room``.
        """
        here = self.received(upload, file)
        if offset != here:
            raise Refusal(
                "wrong_offset", f"the chunk that begins at byte {here}", "another one",
                "Go on from there.", {"received": here},
            )  # fmt: skip
        if here + len(data) > file.size:
            raise Refusal(
                "too_large", "as many bytes as the manifest says", "more", "Correct the manifest."
            )
        part = self._part(upload, file)
        with _refused():
            part.parent.mkdir(mode=0o700, exist_ok=True)
            number = os.open(part, os.O_WRONLY | os.O_CREAT, 0o600)
            with open(number, "wb", buffering=0) as stream:  # noqa: PTH123
                try:
                    stream.seek(here)
                    _write_all(stream.fileno(), data)
                    os.fsync(stream.fileno())
                except OSError:
                    os.ftruncate(stream.fileno(), here)
                    raise
            _flush_folder(part.parent)
        return here + len(data)

    @contextmanager
    def assembled(self, upload: str, manifest: Manifest) -> Iterator[Path]:
        """Put an upload's files together in a folder of their own, for verification.

        Parameters
        ----------
        upload : str
            Name of the upload.
        manifest : Manifest
            Its files; names come from a fixed list.

        Yields
        ------
        Path
            The folder, removed at the end.

        Raises
        ------
        Refusal
            Code ``incomplete``, or ``content_mismatch`` where a file is not what was
            announced; that file is then to be sent anew.
        """
        with _refused(), tempfile.TemporaryDirectory(prefix=_EXAMINED, dir=self._uploads) as place:
            folder = Path(place) / "release"
            folder.mkdir()
            for file in manifest.files:
                if self.received(upload, file) != file.size or not self._has(upload, file):
                    raise Refusal(
                        "incomplete", "all files of the manifest", f"a part of {file.name}",
                        "Send the rest first.",
                    )  # fmt: skip
                self._copy(upload, file, folder / file.name)
            yield folder

    def keep(self, upload: str, manifest: Manifest) -> None:
        """Link an upload's files to the content that stays, and flush the links.

        Parameters
        ----------
        upload : str
            Name of the upload.
        manifest : Manifest
            Its files.
        """
        with _refused():
            for file in manifest.files:
                target = self._of_content(file)
                target.parent.mkdir(mode=0o700, exist_ok=True)
                # Another hospital's upload can hold the same bytes, and be kept at this moment.
                with suppress(FileExistsError):
                    target.hardlink_to(self._part(upload, file))
                _flush_folder(target.parent)
            _flush_folder(self._content)

    def forget(self, upload: str) -> None:
        """Remove what is left of an upload.

        Parameters
        ----------
        upload : str
            Name of the upload.
        """
        shutil.rmtree(self._uploads / upload, ignore_errors=True)

    def _copy(self, upload: str, file: ManifestFile, target: Path) -> None:
        source, content = self._part(upload, file), hashlib.sha256()
        with target.open("wb") as stream, source.open("rb") as reader:
            while chunk := reader.read(_CHUNK):
                content.update(chunk)
                stream.write(chunk)
        if f"sha256:{content.hexdigest()}" != file.digest:
            self._part(upload, file).unlink(missing_ok=True)
            raise Refusal(
                "content_mismatch", "files with the digests of the manifest",
                f"another content of {file.name}", "Send this file again from its beginning.",
            )  # fmt: skip

    def _has(self, upload: str, file: ManifestFile) -> bool:
        return self._part(upload, file).exists()

    def _part(self, upload: str, file: ManifestFile) -> Path:
        # Two files of one upload can have one content; each is sent on its own.
        name = hashlib.sha256(f"{file.name} {file.digest}".encode()).hexdigest()
        return self._uploads / upload / name

    def _of_content(self, file: ManifestFile) -> Path:
        digits = file.digest.removeprefix("sha256:")
        return self._content / digits[:2] / digits


def _flock(lock: IO[bytes], wait: bool) -> bool:
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_all(number: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(number, left) :]


def _flush_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _no_room() from None
        raise


def _no_room() -> Refusal:
    return Refusal(
        "no_room", "room on the server's disk", "none",
        "Nothing was lost. Tell the coordinator, and run the same command again later.",
    )  # fmt: skip
