"""What a document states, whatever it was written as: facts by dotted name, typed on access."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

_PRINTING_TOLERANCE = Fraction(1, 10_000)
_RATIONAL = re.compile(r"[0-9]{1,400}/[0-9]{1,400}")


@dataclass(frozen=True)
class Printed:
    """A number of a claim with how exactly it was printed.

    Parameters
    ----------
    value : Fraction
        The decimal number itself.
    half_unit : Fraction
        Half a unit of its last printed digit.
    """

    value: Fraction
    half_unit: Fraction


@dataclass(frozen=True)
class Statement:
    """The facts of a certificate or of a claim.

    Parameters
    ----------
    kind : {"certificate", "claim"}
        What kind of document it was read from.
    title : str
        What the document calls itself.
    facts : mapping of str to value
        Value of each stated fact by its dotted name. Not yet trusted: the accessors give
        ``None`` for a value of the wrong type.
    document : mapping
        The whole certificate as read; empty for a claim.
    """

    kind: Literal["certificate", "claim"]
    title: str
    facts: Mapping[str, Any]
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_claim(self) -> bool:
        """Whether this is somebody's claim, which may leave things out."""
        return self.kind == "claim"

    def raw(self, name: str, *keys: str) -> Any:
        """Value of a fact, or of an entry inside it, as it was read.

        Parameters
        ----------
        name : str
            Dotted name of the fact.
        *keys : str
            Keys inside a fact that is an object.

        Returns
        -------
        value
            ``None`` where it is not stated.
        """
        value = self.facts.get(name)
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def number(self, name: str, *keys: str) -> Fraction | None:
        """A stated number, exactly.

        Parameters
        ----------
        name, *keys : str
            As in :meth:`raw`.

        Returns
        -------
        Fraction or None
            ``None`` where it is not stated or not a finite number.
        """
        return as_number(self.raw(name, *keys))

    def rational(self, name: str) -> Fraction | None:
        """A stated rational, written as two whole numbers with ``/`` between them.

        Parameters
        ----------
        name : str
            Dotted name of the fact.

        Returns
        -------
        Fraction or None
            ``None`` where it is not stated, not of that form, or divides by 0.
        """
        text = self.raw(name)
        if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
            return None
        numerator, _, denominator = text.partition("/")
        return Fraction(int(numerator), int(denominator)) if int(denominator) else None

    def integer(self, name: str, *keys: str) -> int | None:
        """A stated integer.

        Parameters
        ----------
        name, *keys : str
            As in :meth:`raw`.

        Returns
        -------
        int or None
            ``None`` where it is not stated or not an integer.
        """
        value = self.raw(name, *keys)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, name: str, *keys: str) -> str | None:
        """A stated word.

        Parameters
        ----------
        name, *keys : str
            As in :meth:`raw`.

        Returns
        -------
        str or None
            ``None`` where it is not stated or not text.
        """
        value = self.raw(name, *keys)
        return value if isinstance(value, str) else None

    def flag(self, name: str) -> bool | None:
        """A stated yes or no.

        Parameters
        ----------
        name : str
            Dotted name of the fact.

        Returns
        -------
        bool or None
            ``None`` where it is not stated or not a truth value.
        """
        value = self.raw(name)
        return value if isinstance(value, bool) else None

    def entries(self, name: str) -> list[Mapping[str, Any]]:
        """A stated list of objects.

        Parameters
        ----------
        name : str
            Dotted name of the fact.

        Returns
        -------
        list of mapping
            Empty where it is not stated; entries that are no objects are left out.
        """
        value = self.raw(name)
        entries = value if isinstance(value, list) else []
        return [entry for entry in entries if isinstance(entry, Mapping)]

    def listing(self, name: str) -> list[Any] | None:
        """A stated list.

        Parameters
        ----------
        name : str
            Dotted name of the fact.

        Returns
        -------
        list or None
            ``None`` where it is not stated or no list.
        """
        value = self.raw(name)
        return value if isinstance(value, list) else None

    def printing(self, name: str) -> Fraction:
        """How far a claim's number may be off because it was rounded for printing.

        Parameters
        ----------
        name : str
            Dotted name of the fact.

        Returns
        -------
        Fraction
            Half a unit of the last printed digit, at most 1e-4 of the number; 0 in a
            certificate, whose numbers are exact.
        """
        value = self.raw(name)
        if not isinstance(value, Printed):
            return Fraction(0)
        return min(value.half_unit, abs(value.value) * _PRINTING_TOLERANCE)


def as_number(value: Any) -> Fraction | None:
    """Read a JSON or TOML value as an exact number.

    Parameters
    ----------
    value : value
        Anything that was read.

    Returns
    -------
    Fraction or None
        ``None`` unless it is a finite number; truth values are no numbers.
    """
    if isinstance(value, Printed):
        return value.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(value) if math.isfinite(value) else None


def is_same(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same, where 2 and 2.0 are, and 1 and true are not.

    Parameters
    ----------
    left, right : JSON value
        The values.

    Returns
    -------
    bool
        True where they say the same.
    """
    numbers = as_number(left), as_number(right)
    if None not in numbers:
        return numbers[0] == numbers[1]
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return type(left) is type(right) and bool(left == right)
