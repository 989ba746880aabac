"""Patterns of file names such as ``"{patient}_{session}.edf"``."""

from __future__ import annotations

import re
from typing import Literal

from neuroveil.errors import RecordingError

_PIECE = re.compile(r"\{[^{}]*\}|\*|[{}]|[^{}*]+")
_FIELDS = ("patient", "session")


class NamePattern:
    """A pattern that finds patient and session in relative file names.

    Parameters
    ----------
    pattern : str
        Holds ``{patient}``, optionally ``{session}``, and ``*`` for anything within a name.

    Raises
    ------
    RecordingError
        If it has no ``{patient}``, another field, or leaves the folder.
    """

    def __init__(self, pattern: str) -> None:
        pieces = _PIECE.findall(pattern)
        fields = [piece[1:-1] for piece in pieces if piece.startswith("{") and piece != "{"]
        lone = "{" in pieces or "}" in pieces
        if "patient" not in fields or lone or set(fields) - set(_FIELDS):
            raise RecordingError(
                "file name pattern", "'{patient}', and at most '{session}' and '*' besides it",
                f"{len(fields)} fields in braces",
                "Write for example '{patient}_{session}.edf'.",
            )  # fmt: skip
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise RecordingError(
                "file name pattern", "a path inside the input folder", "one that leaves it",
                "Set input.folder to the folder that holds the recordings.",
            )  # fmt: skip
        # Both ends of what a name could mean: if they agree, there is only one reading.
        self._shortest_first = re.compile(_expression(pieces, "+?"))
        self._longest_first = re.compile(_expression(pieces, "+"))

    def match(self, name: str) -> tuple[str, str] | Literal["ambiguous"] | None:
        """Find patient and session in a relative path.

        Parameters
        ----------
        name : str
            With forward slashes.

        Returns
        -------
        tuple of (patient, session), "ambiguous" or None
            ``"ambiguous"`` where the name can be divided in more than one way, None where
            it does not fit. The session is ``""`` if the pattern has none.
        """
        short, long = self._shortest_first.fullmatch(name), self._longest_first.fullmatch(name)
        if short is None or long is None:
            return None
        if short.groupdict() != long.groupdict():
            return "ambiguous"
        return short["patient"], short.groupdict().get("session", "")


def _expression(pieces: list[str], repeat: str) -> str:
    """Translate a pattern into a regular expression."""
    seen: set[str] = set()
    parts = []
    for piece in pieces:
        name = piece[1:-1]
        if piece == "*":
            parts.append(f"[^/]{repeat.replace('+', '*')}")
        elif not piece.startswith("{"):
            parts.append(re.escape(piece))
        elif name in seen:
            parts.append(f"(?P={name})")
        else:
            seen.add(name)
            parts.append(f"(?P<{name}>[^/]{repeat})")
    return "".join(parts)
