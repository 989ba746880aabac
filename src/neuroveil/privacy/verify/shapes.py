"""What a fact's value may look like: kinds, ranges and the keys inside objects.

Every shape says the same thing three times: as a predicate, in words, and as a fragment of
JSON Schema for the published schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from neuroveil.privacy.verify.statement import as_number

Kind = Literal["text", "number", "integer", "flag", "object", "objects", "list", "null"]
JsonSchema = Mapping[str, Any]

DIGEST_PATTERN = "^sha256:[0-9a-f]{64}$"
_COMMIT_PATTERN = "^[0-9a-f]{7,64}$"
_SEED_PATTERN = "^[0-9a-f]{32}$"
_RATIONAL_PATTERN = "^[0-9]{1,400}/[1-9][0-9]{0,399}$"
_LONGEST_TEXT = 2000
_TYPES: dict[Kind, str] = {
    "text": "string", "number": "number", "integer": "integer", "flag": "boolean",
    "object": "object", "objects": "array", "list": "array", "null": "null",
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What a value has to be.

    Parameters
    ----------
    kind : str
        Kind of value; all that is asked of the values of a claim before they are checked.
    expected : str
        The requirement in words, for messages.
    fits : callable
        Whether a value of a certificate is as required.
    schema : mapping
        The requirement as JSON Schema, as far as that can say it.
    keys : mapping of str to str, optional
        Kind of each key, where the value is an object or a list of objects.
    """

    kind: Kind
    expected: str
    fits: Callable[[Any], bool]
    schema: JsonSchema
    keys: Mapping[str, Kind] = field(default_factory=dict)


def is_kind(value: Any, kind: Kind) -> bool:
    """Whether a value is of a kind, without looking at its range.

    Parameters
    ----------
    value : value
        Read from JSON or TOML.
    kind : str
        One of the kinds.

    Returns
    -------
    bool
        Truth values are never numbers.
    """
    if kind == "number":
        return as_number(value) is not None
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    types = {
        "text": str, "flag": bool, "object": Mapping, "objects": list, "list": list,
        "null": type(None),
    }  # fmt: skip
    return isinstance(value, types[kind])


def one_of(*allowed: str | bool | int) -> Shape:
    """One of a few constants, of the very same type.

    Parameters
    ----------
    *allowed : str, bool or int
        The constants, all of one type.

    Returns
    -------
    Shape
        The requirement.
    """
    kinds: dict[type, Kind] = {str: "text", bool: "flag", int: "integer"}
    expected = " or ".join(str(value).lower() for value in allowed)
    kind = kinds[type(allowed[0])]
    return Shape(
        kind, expected, lambda value: type(value) is type(allowed[0]) and value in allowed,
        {"type": _TYPES[kind], "enum": list(allowed)},
    )  # fmt: skip


def nothing() -> Shape:
    """The value null.

    Returns
    -------
    Shape
        The requirement.
    """
    return Shape("null", "null", lambda value: value is None, {"type": "null"})


def nullable(shape: Shape) -> Shape:
    """A value of a shape, or null.

    Parameters
    ----------
    shape : Shape
        What it is where it is not null.

    Returns
    -------
    Shape
        The requirement.
    """
    return Shape(
        shape.kind, f"{shape.expected}, or null",
        lambda value: value is None or shape.fits(value),
        {"anyOf": [shape.schema, {"type": "null"}]}, shape.keys,
    )  # fmt: skip


def number(low: float, high: float, *, includes_low: bool = True) -> Shape:
    """A number in a range.

    Parameters
    ----------
    low, high : float
        Ends of the range; the upper one belongs to it.
    includes_low : bool
        Whether the lower one belongs to it too.

    Returns
    -------
    Shape
        The requirement.
    """

    def fits(value: Any) -> bool:
        exact = as_number(value)
        if exact is None:
            return False
        return (low <= exact if includes_low else low < exact) and exact <= high

    lowest = "minimum" if includes_low else "exclusiveMinimum"
    schema = {"type": "number", lowest: low, "maximum": high}
    return Shape("number", f"a number from {low:g} to {high:g}", fits, schema)


def integer(low: int, high: int) -> Shape:
    """An integer in a range.

    Parameters
    ----------
    low, high : int
        Ends of the range; both belong to it.

    Returns
    -------
    Shape
        The requirement.
    """
    return Shape(
        "integer", f"an integer from {low} to {high}",
        lambda value: is_kind(value, "integer") and low <= value <= high,
        {"type": "integer", "minimum": low, "maximum": high},
    )  # fmt: skip


def words() -> Shape:
    """Any text that is not empty.

    Returns
    -------
    Shape
        The requirement.
    """
    schema = {"type": "string", "minLength": 1, "maxLength": _LONGEST_TEXT, "pattern": r"\S"}
    return Shape("text", "text that is not empty", has_words, schema)


def _pattern(expected: str, pattern: str) -> Shape:
    compiled = re.compile(pattern[1:-1])
    return Shape(
        "text", expected,
        lambda value: isinstance(value, str) and bool(compiled.fullmatch(value)),
        {"type": "string", "pattern": pattern},
    )  # fmt: skip


def digest() -> Shape:
    """A digest, ``sha256:`` and 64 hexadecimal digits.

    Returns
    -------
    Shape
        The requirement.
    """
    return _pattern("sha256: and 64 hexadecimal digits", DIGEST_PATTERN)


def hexadecimal(n_digits: int) -> Shape:
    """Text of a fixed number of hexadecimal digits.

    Parameters
    ----------
    n_digits : int
        How many, lower case.

    Returns
    -------
    Shape
        The requirement.
    """
    return _pattern(f"{n_digits} hexadecimal digits", f"^[0-9a-f]{{{n_digits}}}$")


def commit() -> Shape:
    """A source revision or null.

    Returns
    -------
    Shape
        The requirement.
    """
    return nullable(_pattern("7 to 64 hexadecimal digits", _COMMIT_PATTERN))


def rational() -> Shape:
    """Text, two whole numbers with ``/`` between them.

    Returns
    -------
    Shape
        The requirement.
    """
    return _pattern("two whole numbers with / between them", _RATIONAL_PATTERN)


def is_digest(value: Any) -> bool:
    """Whether a value is a digest.

    Parameters
    ----------
    value : value
        Anything.

    Returns
    -------
    bool
        True for ``sha256:`` and 64 lower-case hexadecimal digits.
    """
    return isinstance(value, str) and bool(re.fullmatch(DIGEST_PATTERN[1:-1], value))


def record(keys: Mapping[str, Shape], *, optional: tuple[str, ...] = ()) -> Shape:
    """An object with a shape under each key, no key more and none less.

    Parameters
    ----------
    keys : mapping of str to Shape
        What stands under each key.
    optional : tuple of str
        Keys that may be left out, all or none of them.

    Returns
    -------
    Shape
        The requirement.
    """
    needed = [key for key in keys if key not in optional]

    def fits(value: Any) -> bool:
        return (
            isinstance(value, Mapping)
            and set(value) in (set(keys), set(needed))
            and all(keys[key].fits(entry) for key, entry in value.items())
        )

    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: shape.schema for key, shape in keys.items()},
        "required": needed,
        "additionalProperties": False,
    }
    if optional:
        schema["dependentRequired"] = {key: list(optional) for key in optional}
    expected = "{" + ", ".join(keys) + "}"
    return Shape("object", expected, fits, schema, {key: keys[key].kind for key in keys})


def many(entry: Shape, what: str, *, distinct: str | None = None) -> Shape:
    """A list whose entries all have one shape.

    Parameters
    ----------
    entry : Shape
        The shape of an entry.
    what : str
        The entries in words.
    distinct : str, optional
        Key under which no two entries may hold the same.

    Returns
    -------
    Shape
        The requirement.
    """

    def fits(value: Any) -> bool:
        if not isinstance(value, list) or not all(entry.fits(each) for each in value):
            return False
        keys = [each[distinct] for each in value] if distinct else []
        return len(set(keys)) == len(keys)

    schema = {"type": "array", "items": entry.schema}
    return Shape("objects", f"a list of {what}", fits, schema, entry.keys)


def names() -> Shape:
    """A list of distinct column names.

    Returns
    -------
    Shape
        The requirement.
    """

    def fits(value: Any) -> bool:
        return (
            isinstance(value, list) and all(map(has_words, value))
            and len(set(value)) == len(value)
        )  # fmt: skip

    schema = {"type": "array", "items": words().schema, "uniqueItems": True}
    return Shape("list", "a list of distinct names", fits, schema)


def versions(*needed: str) -> Shape:
    """An object with a version by package.

    Parameters
    ----------
    *needed : str
        Packages that must be among them.

    Returns
    -------
    Shape
        The requirement.
    """

    def fits(value: Any) -> bool:
        return (
            isinstance(value, Mapping) and set(needed) <= set(value)
            and all(map(has_words, value.values()))
        )  # fmt: skip

    schema = {
        "type": "object", "required": list(needed), "additionalProperties": words().schema,
    }  # fmt: skip
    expected = f"a version by package, {' and '.join(needed)} among them"
    return Shape("object", expected, fits, schema)


def has_words(value: Any) -> bool:
    """Whether a value is text that is not empty, and not too long.

    Parameters
    ----------
    value : value
        Anything.

    Returns
    -------
    bool
        True for text of at most 2,000 characters that are not all white space.
    """
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _LONGEST_TEXT
