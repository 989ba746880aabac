"""Values of fields, cut into small pieces that survive a misspelling.

A typing error changes two or three of a name's pairs of letters and leaves the others, so two
spellings share most pieces. Pieces of a date carry their place, since its digits mean different
things; pieces of names do not, since letters shift.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from neuroveil.linkage.dates import DateOrder, canonical_date
from neuroveil.linkage.names import canonical_name, fold_letters
from neuroveil.linkage.schema import Kind
from neuroveil.linkage.text import clean_text

_NOT_ALPHANUMERIC = re.compile(r"[^0-9a-z\u0080-\U0010ffff]+")
_LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


def canonical_value(value: object, kind: Kind, date_order: DateOrder, role: str) -> str:
    """Bring one value of a patient list into its canonical form.

    Parameters
    ----------
    value : object
        A text; empty for a missing value.
    kind : str
        How it is read; see :class:`~neuroveil.linkage.schema.FieldSection`.
    date_order : {"dmy", "mdy"}
        What ``01/02/1970`` means.
    role : str
        What it is and where, for errors.

    Returns
    -------
    str
        Canonical text; empty for a missing value.

    Raises
    ------
    LinkageError
        If the value cannot be of this kind.
    """
    if kind == "date":
        return canonical_date(value, date_order, role)
    if kind == "name":
        return canonical_name(value, role)
    if kind == "full_name":
        return canonical_name(value, role, ordered=False)
    text = fold_letters(clean_text(value, role))
    if kind == "postcode":
        return _NOT_ALPHANUMERIC.sub("", text)
    if kind == "number":
        return _LEADING_ZEROS.sub("", _NOT_ALPHANUMERIC.sub("", text))
    return " ".join(_NOT_ALPHANUMERIC.sub(" ", text).split())


def cut_into_grams(text: str, kind: Kind) -> frozenset[str]:
    """Cut a canonical value into the pieces that become bits.

    Parameters
    ----------
    text : str
        As :func:`canonical_value` gives it.
    kind : str
        How it was read.

    Returns
    -------
    frozenset of str
        Pairs of letters of each word, with its ends marked; for a date pairs of digits with
        their place; for a category the whole value. Empty for an empty value.

    Examples
    --------
    >>> sorted(cut_into_grams("kai", "name"))
    ['_k', 'ai', 'i_', 'ka']
    """
    return _CUTTERS.get(kind, _of_words)(text)


@lru_cache(maxsize=1 << 16)
def _of_words(text: str) -> frozenset[str]:
    return frozenset(
        padded[start : start + 2]
        for word in text.split()
        for padded in (f"_{word}_",)
        for start in range(len(padded) - 1)
    )


@lru_cache(maxsize=1 << 16)
def _of_date(text: str) -> frozenset[str]:
    digits = text.replace("-", "")
    padded = f"_{digits}_" if digits else ""
    return frozenset(f"{start}:{padded[start : start + 2]}" for start in range(len(padded) - 1))


def _whole(text: str) -> frozenset[str]:
    return frozenset((f"={text}",)) if text else frozenset()


_CUTTERS: dict[str, Callable[[str], frozenset[str]]] = {"date": _of_date, "category": _whole}
