"""Where a passphrase comes from: a variable of the environment, a file, or a person."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from neuroveil.errors import StudyError, StudyMistake

PASSPHRASE_VARIABLE = "NEUROVEIL_KEY_PASSPHRASE"
"""Variable that holds the passphrase."""

PASSPHRASE_FILE = f"{PASSPHRASE_VARIABLE}_FILE"
"""Variable that names a file whose first line is the passphrase."""


def find_passphrase(ask: Callable[[], str | None] | None = None) -> str | None:
    """Look for the passphrase of the signing key.

    Parameters
    ----------
    ask : callable, optional
        Asks a person, where the environment says nothing.

    Returns
    -------
    str or None
        The passphrase; ``None`` where there is none anywhere.
    """
    return find_secret(PASSPHRASE_VARIABLE, ask)


def find_secret(variable: str, ask: Callable[[], str | None] | None = None) -> str | None:
    """Look for a secret in a variable, in a file that another variable names, or ask.

    Parameters
    ----------
    variable : str
        Variable that holds it; with ``_FILE`` after it, the variable that names a file.
    ask : callable, optional
        Asks a person, where the environment says nothing.

    Returns
    -------
    str or None
        The secret; ``None`` where there is none anywhere.

    Raises
    ------
    StudyError
        If the named file cannot be read, or is empty.
    """
    stated = os.environ.get(variable)
    if stated:
        return stated
    name = os.environ.get(f"{variable}_FILE")
    if not name:
        return ask() if ask is not None else None
    try:
        first_line = Path(name).read_text(encoding="utf-8").partition("\n")[0].rstrip("\r")
    except (OSError, UnicodeDecodeError):
        first_line = ""
    if not first_line:
        raise StudyError([StudyMistake(
            f"{variable}_FILE", "a file whose first line is the secret",
            "none that can be read", "Correct the path, or the rights of the file.",
        )])  # fmt: skip
    return first_line
