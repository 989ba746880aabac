"""Parts of a long comparison that are done, kept in a folder until the whole is.

The folder lies inside the trusted environment: it holds row numbers and similarities.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.errors import LinkageError
from neuroveil.linkage.bloom import BitArray
from neuroveil.linkage.dice import ScoredPairs
from neuroveil.linkage.private_files import no_room


class FinishedTables:
    """A folder of finished parts, bound to two lists and the way they are compared.

    Parameters
    ----------
    folder : Path or None
        Where they are kept; nothing is kept without one.
    about : mapping
        How the lists are compared, as plain data.
    lists : tuple of ndarray of uint8, shape (n_records, n_bytes) each
        Packed bits.

    Raises
    ------
    LinkageError
        If the folder holds parts of another comparison.
    """

    def __init__(
        self, folder: Path | None, about: Mapping[str, Any], lists: tuple[BitArray, BitArray]
    ) -> None:
        self.folder = folder
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        digest = hashlib.sha256(json.dumps(dict(about)).encode())
        for bits in lists:
            digest.update(f"{bits.shape}".encode())
            digest.update(np.ascontiguousarray(bits).data)
        file, text = folder / "run.json", json.dumps({"inputs": digest.hexdigest()})
        if not file.exists():
            unfinished = _draft_of(file)
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(file)
        elif file.read_text(encoding="utf-8") != text:
            raise LinkageError(
                "folder of the matching", "a new folder, or one of these very lists",
                "tables of other lists or another plan", "Name another folder, or remove this one.",
            )  # fmt: skip

    def read(self, number: int) -> ScoredPairs | None:
        """Read a part.

        Parameters
        ----------
        number : int
            Its number, from 0.

        Returns
        -------
        ScoredPairs or None
            None where it is not finished.
        """
        file = self._file(number)
        if file is None or not file.exists():
            return None
        with np.load(file, allow_pickle=False) as saved:
            return ScoredPairs(saved["left"], saved["right"], saved["scores"])

    def keep(self, number: int, pairs: ScoredPairs) -> None:
        """Keep a part, all of it or nothing.

        Parameters
        ----------
        number : int
            Its number, from 0.
        pairs : ScoredPairs
            What was found.

        Raises
        ------
        MachineError
            If there is no room for it.
        """
        file = self._file(number)
        if file is None:
            return
        unfinished = _draft_of(file)
        try:
            with unfinished.open("wb") as stream:
                np.savez(stream, left=pairs.left, right=pairs.right, scores=pairs.scores)
            unfinished.replace(file)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise no_room("finished table of the matching", error) from None

    def _file(self, number: int) -> Path | None:
        return None if self.folder is None else self.folder / f"table-{number:04d}.npz"


def _draft_of(file: Path) -> Path:
    # Two runs of one comparison may finish the same part at one moment.
    return file.with_suffix(f".{secrets.token_hex(8)}.unfinished")
