"""What a fact's value may look like: kinds, ranges and the keys inside objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from neuroveil.privacy.verify.statement import as_number

Kind = Literal["text", "number", "integer", "flag", "object", "objects", "list"]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


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
    keys : mapping of str to str, optional
        Kind of each key, where the value is an object or a list of objects.
    """

    kind: Kind
    expected: str
    fits: Callable[[Any], bool]
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
    types = {"text": str, "flag": bool, "object": Mapping, "objects": list, "list": list}
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
    words = " or ".join(str(value).lower() for value in allowed)
    return Shape(
        kinds[type(allowed[0])], words,
        lambda value: type(value) is type(allowed[0]) and value in allowed,
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

    return Shape("number", f"a number from {low:g} to {high:g}", fits)


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
    )  # fmt: skip


def words() -> Shape:
    """Any text that is not empty.

    Returns
    -------
    Shape
        The requirement.
    """
    return Shape("text", "text that is not empty", _has_words)


def digest() -> Shape:
    """A digest, ``sha256:`` and 64 hexadecimal digits.

    Returns
    -------
    Shape
        The requirement.
    """
    return Shape("text", "sha256: and 64 hexadecimal digits", is_digest)


def commit() -> Shape:
    """A source revision or null.

    Returns
    -------
    Shape
        The requirement.
    """
    return Shape(
        "text", "7 to 64 hexadecimal digits, or null",
        lambda v: v is None or (isinstance(v, str) and bool(_COMMIT.fullmatch(v))),
    )  # fmt: skip


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
    return isinstance(value, str) and bool(_DIGEST.fullmatch(value))


def budget() -> Shape:
    """An object ``{epsilon, delta}``.

    Returns
    -------
    Shape
        The requirement; a negative entry fits, so that overspending can be named.
    """
    keys: dict[str, Kind] = {"epsilon": "number", "delta": "number"}
    return Shape("object", "{epsilon, delta}, two numbers", lambda v: has_keys(v, keys), keys)


def labels() -> Shape:
    """A list of label columns under randomised response.

    Returns
    -------
    Shape
        The requirement: distinct names, two or more categories, ε above 0.
    """
    keys: dict[str, Kind] = {
        "name": "text", "policy": "text", "n_categories": "integer", "epsilon": "number",
    }  # fmt: skip

    def fits(value: Any) -> bool:
        if not isinstance(value, list) or not all(has_keys(entry, keys) for entry in value):
            return False
        named = {entry["name"] for entry in value}
        return len(named) == len(value) and all(
            _has_words(e["name"]) and e["policy"] == "randomised_response"
            and e["n_categories"] >= 2 and 0 < e["epsilon"] <= 1e6
            for e in value
        )  # fmt: skip

    return Shape("objects", "a list of {name, policy, n_categories, epsilon}", fits, keys)


def names() -> Shape:
    """A list of distinct column names.

    Returns
    -------
    Shape
        The requirement.
    """

    def fits(value: Any) -> bool:
        return (
            isinstance(value, list) and all(map(_has_words, value))
            and len(set(value)) == len(value)
        )  # fmt: skip

    return Shape("list", "a list of distinct names", fits)


def step() -> Shape:
    """An object that describes a step of preprocessing.

    Returns
    -------
    Shape
        The requirement; ε and δ are 0 in this version.
    """
    keys: dict[str, Kind] = {
        "step": "text", "params": "object", "params_digest": "text", "fitted_on": "text",
        "epsilon": "number", "delta": "number",
    }  # fmt: skip

    def fits(v: Any) -> bool:
        return (
            has_keys(v, keys) and _has_words(v["step"]) and is_digest(v["params_digest"])
            and v["fitted_on"] in {"public", "private"} and v["epsilon"] == v["delta"] == 0
        )  # fmt: skip

    return Shape("object", "{step, params, params_digest, fitted_on, epsilon, delta}", fits, keys)


def numbers(*keys: str) -> Shape:
    """An object with a number under each key.

    Parameters
    ----------
    *keys : str
        The keys, no more and no fewer.

    Returns
    -------
    Shape
        The requirement.
    """
    kinds: dict[str, Kind] = dict.fromkeys(keys, "number")
    expected = "{" + ", ".join(keys) + "}, numbers"
    return Shape("object", expected, lambda v: has_keys(v, kinds), kinds)


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
            and all(map(_has_words, value.values()))
        )  # fmt: skip

    return Shape("object", f"a version by package, {' and '.join(needed)} among them", fits)


def has_keys(value: Any, keys: Mapping[str, Kind]) -> bool:
    """Whether a value is an object with exactly these keys, each of its kind.

    Parameters
    ----------
    value : value
        Anything.
    keys : mapping of str to str
        Kind by key.

    Returns
    -------
    bool
        True where nothing is missing, additional or of another kind.
    """
    return (
        isinstance(value, Mapping)
        and set(value) == set(keys)
        and all(is_kind(value[key], kind) for key, kind in keys.items())
    )


def _has_words(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= 2000
