"""Every change of one place in a JSON document, by the kind of value that stands there.

Loaded by the fixture ``mutations`` in conftest.py. Nothing here knows what a certificate is,
except for the words that may stand in place of others.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]
MISSING = "(left out)"

# Words that the contract allows in some place, so that each stands once in the place of another.
VOCABULARY: tuple[tuple[str, ...], ...] = (
    ("replace_one", "add_or_remove_one"),
    ("l1", "l2", "none"),
    ("gaussian", "laplace", "paper_laplace", "privunit"),
    ("discrete_gaussian", "discrete_laplace", "k_closest_codeword"),
    ("pure_dp", "approximate_dp"),
    ("analytic_gaussian", "laplace_closed_form", "two_valued_likelihood"),
    ("public", "private", "simulated"),
    ("local", "central", "shuffled", "federated"),
    ("proven", "measured", "assumed"),
    ("randomised_response", "unprotected"),
    ("up", "down"),
    ("basic", "pld", "advanced"),
    ("operating_system", "seeded_generator"),
    ("opendp", "numpy", "python"),
    ("study", "patients", "site"),
    ("privacy_blanket", "clones_2021"),
    ("wiener", "james_stein", "unclipping", "clamp", "projection_back", "inverse_scaling"),
    ("patient", "recording"),
    ("random_permutation", "roster_order"),
    ("public_centre", "cohort_median"),
    ("roster_key", "none"),
    ("scale_to_norm_then_truncate_toward_zero", "round_to_nearest"),
)


@dataclass(frozen=True)
class Mutant:
    """One change.

    Parameters
    ----------
    path : tuple of str and int
        Where: keys and positions from the root.
    kind : str
        What was done, in a word or two.
    old, new : JSON value
        What stands there before and after; the new one may be an instruction for the writer.
    """

    path: Path
    kind: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path)) or '(root)'}: {self.kind}"

    def apply(self, document: Any) -> Any:
        """Give a changed copy of a document; what did not change is shared with it."""
        return _replaced(document, self.path, self.new)


def _replaced(node: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    step, rest = path[0], path[1:]
    changed = copy.copy(node)
    if new is MISSING and not rest:
        del changed[step]
    else:
        changed[step] = _replaced(node[step], rest, new)
    return changed


def walk(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place of a document, containers before what they hold."""
    yield path, node
    if isinstance(node, dict):
        for key, value in node.items():
            yield from walk(value, (*path, key))
    elif isinstance(node, list):
        for position, value in enumerate(node):
            yield from walk(value, (*path, position))


def mutants(document: Any, twice: Callable[..., Any]) -> Iterator[Mutant]:
    """Every mutant of every place of a document.

    Parameters
    ----------
    document : JSON value
        The honest one.
    twice : callable
        Makes an object that is written with a key twice, from content, key and other value.
    """
    for path, node in walk(document):
        for kind, new in changes(node, twice):
            yield Mutant(path, kind, node, new)
        if path and isinstance(path[-1], str):
            yield Mutant(path, "key removed", node, MISSING)


def changes(node: Any, twice: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What may be put in the place of a value."""
    if isinstance(node, bool):
        yield from _of_bool(node)
    elif isinstance(node, (int, float)):
        yield from _of_number(node)
    elif isinstance(node, str):
        yield from _of_text(node)
    elif isinstance(node, list):
        yield from _of_list(node)
    elif isinstance(node, dict):
        yield from _of_object(node, twice)
    else:
        yield from (("text for null", "x"), ("empty for null", ""), ("zero for null", 0))
        yield from (("false for null", False), ("list for null", []), ("object for null", {}))


def _of_bool(node: bool) -> Iterator[tuple[str, Any]]:
    yield "flipped", not node
    yield "number for bool", int(node)
    yield "text for bool", str(node).lower()
    yield "null", None


def _of_number(node: float) -> Iterator[tuple[str, Any]]:
    candidates: list[tuple[str, Any]] = [
        ("doubled", node * 2), ("halved", node / 2), ("minus one", node - 1),
        ("plus one", node + 1), ("zero", 0), ("sign turned", -node),
        ("a millionth up", node * (1 + 1e-6)), ("a millionth down", node * (1 - 1e-6)),
        ("huge", 1e300), ("tiny", 5e-324),
    ]  # fmt: skip
    yield from ((kind, new) for kind, new in candidates if new != node)
    yield from (("NaN", math.nan), ("infinity", math.inf), ("minus infinity", -math.inf))
    yield from (("text for number", repr(node)), ("null", None), ("list for number", [node]))
    yield "beyond every double", 10**400
    if node in (0, 1):
        yield "bool for number", bool(node)
    if float(node).is_integer() and abs(node) < 2**53:
        yield "other spelling", float(node) if isinstance(node, int) else int(node)


def _of_text(node: str) -> Iterator[tuple[str, Any]]:
    yield from (("emptied", ""), ("blank", " "), ("null", None), ("number for text", 1))
    yield from (("longer", node + "x"), ("space before", " " + node), ("space after", node + " "))
    yield from (("list for text", [node]), ("true for text", True))
    if len(node) > 1:
        yield "shorter", node[:-1]
    if node.upper() != node:
        yield "upper case", node.upper()
    if node:
        last = "0" if node[-1] != "0" else "1"
        yield "last letter changed", node[:-1] + last
    for words in VOCABULARY:
        if node in words:
            yield from ((f"{other} for {node}", other) for other in words if other != node)


def _of_list(node: list[Any]) -> Iterator[tuple[str, Any]]:
    yield from (("null", None), ("object for list", {}), ("text for list", "x"))
    yield "longer", [*node, copy.deepcopy(node[-1]) if node else "x"]
    yield "null added", [*node, None]
    if node:
        yield "last left out", node[:-1]
        yield "first left out", node[1:]
    if node[::-1] != node:
        yield "turned round", node[::-1]


def _of_object(node: dict[str, Any], twice: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    yield from (("null", None), ("list for object", [node]), ("emptied", {}))
    yield "unknown key", {**node, "note": "x"}
    if node:
        first = next(iter(node))
        yield "key twice", twice(node, first, "x")
        yield "key twice, same value", twice(node, first, node[first])
        renamed = {(key.upper() if key == first else key): value for key, value in node.items()}
        if renamed.keys() != node.keys():
            yield "key in capitals", renamed
    if len(node) > 1:
        yield "keys in another order", dict(reversed(node.items()))
