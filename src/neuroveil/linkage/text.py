"""One canonical form of a text, whoever typed it on whatever machine.

Two hospitals write the same thing with other letters' cases, full-width digits, a no-break
space or an invisible mark that a spreadsheet left behind. The form given here is the same for
all of these, and stable: it is Unicode's own compatibility composition (UAX #15) after case
folding, which Unicode promises never to change for characters that are assigned. Characters
that are not assigned are refused, since a later version of Unicode may fold them otherwise.
"""

from __future__ import annotations

import unicodedata

from neuroveil.errors import LinkageError

LONGEST_TEXT = 512
"""Characters. Longer values are files or notes in the wrong column."""

# Minus, hyphen bullet and the like are dashes to a person and are not in the category Pd.
_DASHES = frozenset("\u2212\u2043\u02d7\ufe63")
_APOSTROPHES = frozenset("\u2019\u2018\u02bc\u02b9\u0060\u00b4\u2032\u201b\uff07")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ROUNDS = 4


def clean_text(value: object, role: str) -> str:
    r"""Bring a text into its canonical form.

    Width and compatibility forms, case, dashes, apostrophes, digits of other scripts,
    white space (control characters included) and invisible characters no longer matter.

    Parameters
    ----------
    value : object
        What was written. Only a text is accepted: a number has lost its leading zeros.
    role : str
        What it is and where, for errors, such as ``"identifier, line 12"``.

    Returns
    -------
    str
        Canonical text in NFC, without white space at its ends; may be empty.

    Raises
    ------
    LinkageError
        If it is no text, is too long, or holds characters that mean nothing.

    Examples
    --------
    >>> clean_text(" Ｓmith\u00a0 \u200bJONES ", "name, line 1")
    'smith jones'
    """
    if not isinstance(value, str):
        raise LinkageError(
            role, "a text", type(value).__name__,
            "Read the column as text: numbers lose leading zeros.",
        )  # fmt: skip
    if len(value) > LONGEST_TEXT:
        raise LinkageError(
            role, f"at most {LONGEST_TEXT} characters", f"{len(value)} characters",
            "Check that the columns are not exchanged.",
        )  # fmt: skip
    if value.isascii() and value.isprintable():  # nearly all of a list, ten times as fast
        return " ".join(value.lower().replace("`", "'").split())
    text = value
    # Folding case can make a character that composes with its neighbour, and composing can
    # make one that folds; two rounds have always been enough.
    for _ in range(_ROUNDS):
        folded = unicodedata.normalize("NFKC", _each(text, role).casefold())
        folded = " ".join(folded.split())
        if folded == text:
            return text
        text = folded
    raise LinkageError(
        role, "a text with a canonical form", "one that keeps changing",
        "Correct the value by hand.",
    )  # fmt: skip


def _each(text: str, role: str) -> str:
    """Replace character by character after compatibility composition."""
    return "".join(_one(character, role) for character in unicodedata.normalize("NFKC", text))


def _one(character: str, role: str) -> str:
    if character.isascii() and character.isprintable():
        return "'" if character == "`" else character
    category = unicodedata.category(character)
    if category in ("Cc", "Zs", "Zl", "Zp"):
        return " "
    if category in ("Cf", "Me"):
        return ""
    if category in ("Cs", "Co", "Cn") or character == _REPLACEMENT:
        raise LinkageError(
            role, "characters that Unicode assigns",
            "one that stands for a letter that was lost"
            if character == _REPLACEMENT
            else f"one of category {category}",
            "The file was probably read with a wrong encoding; save it as UTF-8.",
        )  # fmt: skip
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Pd" or character in _DASHES:
        return "-"
    return "'" if character in _APOSTROPHES else character
