"""Dates in any common form, as one."""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

from neuroveil.errors import LinkageError
from neuroveil.linkage.names import fold_letters
from neuroveil.linkage.text import clean_text

DateOrder = Literal["dmy", "mdy"]

EARLIEST_YEAR = 1850
"""No patient was born before."""

_TIME = r"(?:[t ]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})[-./ ](\d{{1,2}})[-./ ](\d{{1,2}}){_TIME}")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})[-./ ]+(\d{{1,2}})[-./ ]+(\d{{4}}){_TIME}")
_DAY_WORD = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[-., ]+([a-z]{3,})[-., ]+(\d{4})")
_WORD_DAY = re.compile(r"([a-z]{3,})[-. ]+(\d{1,2})(?:st|nd|rd|th)?[-., ]+(\d{4})")

# The first three letters tell the months apart in English, German, Dutch and the Nordic
# languages, apart from Finnish, once accents and digraphs are folded.
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("jan", "tam"), ("feb", "hel"), ("mar", "mrt", "mal"), ("apr", "huh"),
            ("may", "mai", "maj", "mei", "tou"), ("jun", "kes"), ("jul", "hei"),
            ("aug", "elo"), ("sep", "syy"), ("oct", "okt", "lok"), ("nov",),
            ("dec", "dez", "des", "jou"),
        ),
        start=1,
    )
    for name in names
}  # fmt: skip
_FINNISH_NOVEMBER = "marras"


def canonical_date(value: object, order: DateOrder, role: str) -> str:
    """Read a date of birth.

    Parameters
    ----------
    value : object
        A text: year first (``1970-01-31``, ``19700131``), year last (``31.01.1970``,
        ``1/31/1970``), or with the month's name. A time after it is left out.
    order : {"dmy", "mdy"}
        What ``01/02/1970`` means. It is a fact about the hospital's file and never guessed.
    role : str
        What it is and where, for errors.

    Returns
    -------
    str
        ``YYYY-MM-DD``, or an empty text for an empty value.

    Raises
    ------
    LinkageError
        If it is no date, has two digits for the year, or lies outside 1850 to 2150.

    Examples
    --------
    >>> canonical_date("31. Januar 1970", "dmy", "date of birth, line 1")
    '1970-01-31'
    """
    text = clean_text(value, role)
    if not text:
        return ""
    year, month, day = _parts(text, order, role)
    try:
        found = date(year, month, day)
    except ValueError:
        raise _no_date(role, "a day that the calendar does not have") from None
    if not EARLIEST_YEAR <= found.year <= EARLIEST_YEAR + 300:
        raise _no_date(role, "a year in which no patient was born")
    return found.isoformat()


def _parts(text: str, order: DateOrder, role: str) -> tuple[int, int, int]:
    if found := _YEAR_FIRST.fullmatch(text) or _COMPACT.fullmatch(text):
        year, month, day = (int(part) for part in found.groups())
        return year, month, day
    if found := _YEAR_LAST.fullmatch(text):
        first, second, year = (int(part) for part in found.groups())
        return (year, second, first) if order == "dmy" else (year, first, second)
    words = fold_letters(text)
    if found := _DAY_WORD.fullmatch(words):
        return int(found[3]), _month(found[2], role), int(found[1])
    if found := _WORD_DAY.fullmatch(words):
        return int(found[3]), _month(found[1], role), int(found[2])
    raise _no_date(role, "another form")


def _month(word: str, role: str) -> int:
    if word.startswith(_FINNISH_NOVEMBER):
        return 11
    number = _MONTHS.get(word[:3])
    if number is None:
        raise _no_date(role, "a word that is no month in a language known here")
    return number


def _no_date(role: str, found: str) -> LinkageError:
    return LinkageError(
        role, "a date such as 1970-01-31 or 31.01.1970, with four digits for the year", found,
        "Correct the value, or state the order of day and month in the schema.",
    )  # fmt: skip
