"""Mistakes of a patient list, collected so that all of them are reported at once.

A report gives counts and row numbers. Patient keys, file names and paths never stand in it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from neuroveil.errors import RecordingError

MAX_ROWS_SHOWN = 5


def comparable_key(patient: str) -> str:
    """Reduce a patient key so that keys which differ only by accident become equal.

    Parameters
    ----------
    patient : str
        Key as it stands in the roster.

    Returns
    -------
    str
        Without white space and invisible characters, in one case and one Unicode form, and
        without the prefix that BIDS puts before the label of a participant.
    """
    visible = "".join(each for each in patient if unicodedata.category(each) != "Cf")
    key = unicodedata.normalize("NFKC", "".join(visible.split())).casefold()
    return key.removeprefix("sub-")


class RosterProblems:
    """Collects the mistakes of one patient list.

    Parameters
    ----------
    where : str
        Role of the list, for example ``"manifest"``.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._rows: dict[str, list[int]] = {}

    def add(self, problem: str, row: int | None = None) -> None:
        """Note one mistake.

        Parameters
        ----------
        problem : str
            What is wrong, in words that fit after a number.
        row : int, optional
            Row of the list, where the heading is row 1.
        """
        self._rows.setdefault(problem, []).append(row or 0)

    def check_keys(self, keys: Iterable[tuple[str, int]], *, once: bool) -> None:
        """Note keys that are empty, stand twice, or differ only by case or white space.

        Parameters
        ----------
        keys : iterable of (str, int)
            Keys and their rows.
        once : bool
            Whether a key may stand in one row only.
        """
        seen: dict[str, set[str]] = {}
        for key, row in keys:
            spellings = seen.setdefault(comparable_key(key), set())
            if not key:
                self.add("empty patient key", row)
            elif once and key in spellings:
                self.add("patient listed twice", row)
            elif spellings - {key}:
                self.add("patient key that differs from another only by case or white space", row)
            spellings.add(key)

    def raise_if_any(self) -> None:
        """Report everything that was noted.

        Raises
        ------
        RecordingError
            If anything was noted.
        """
        if self._rows:
            raise RecordingError(
                self.where, "every patient once and every recording readable from the list",
                "; ".join(self._line(p, rows) for p, rows in self._rows.items()),
                "Correct the list or the folder; nothing has been read yet.",
            )  # fmt: skip

    @staticmethod
    def _line(problem: str, rows: list[int]) -> str:
        """Word one kind of mistake with its count and first rows."""
        numbers = [str(row) for row in rows if row]
        shown = ", ".join(numbers[:MAX_ROWS_SHOWN])
        more = ", …" if len(numbers) > MAX_ROWS_SHOWN else ""
        return f"{len(rows)} x {problem}" + (f" (rows {shown}{more})" if shown else "")
