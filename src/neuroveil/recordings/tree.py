"""Nested variables of MAT and HDF5 files as one plain tree, and searching in it.

A tree is made of dictionaries (structs, groups), lists (cells), text, small arrays and
:class:`Matrix` for what may be large and is read when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from neuroveil.recordings.options import ReadOptions

MAX_DEPTH = 6

Path = tuple[str, ...]
Leaf = tuple[Path, Any]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Matrix:
    """An array of numbers, in memory or in an open HDF5 file.

    Parameters
    ----------
    stored : array_like
        Can be sliced like an array.
    transposed : bool
        Whether it is stored with its axes in reverse order, as MATLAB 7.3 does.
    """

    stored: Any
    transposed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape as the author of the file sees it."""
        shape = tuple(int(n) for n in self.stored.shape)
        return shape[::-1] if self.transposed else shape

    @property
    def is_integer(self) -> bool:
        """Whether the samples are stored as whole numbers."""
        return bool(np.issubdtype(self.stored.dtype, np.integer))

    def load(self) -> npt.NDArray[Any]:
        """Read it whole.

        Returns
        -------
        ndarray
            In the shape of :attr:`shape`.
        """
        values = np.asarray(self.stored[()])
        return values.T if self.transposed else values


def as_matrix(node: Any) -> Matrix | None:
    """See a node as numbers.

    Parameters
    ----------
    node : object
        Any node of a tree.

    Returns
    -------
    Matrix or None
        None where the node holds no real numbers.
    """
    if isinstance(node, Matrix):
        return node
    if isinstance(node, np.ndarray) and (
        np.issubdtype(node.dtype, np.floating) or np.issubdtype(node.dtype, np.integer)
    ):
        return Matrix(node)
    return None


def as_number(node: Any) -> float | None:
    """See a node as one finite positive number.

    Parameters
    ----------
    node : object
        Any node of a tree.

    Returns
    -------
    float or None
        None where it is anything else.
    """
    if isinstance(node, bool):
        return None
    if isinstance(node, Matrix):
        node = node.load() if int(np.prod(node.shape)) == 1 else None
    if isinstance(node, np.ndarray):
        node = node.item() if node.size == 1 else None
    if isinstance(node, int | float | np.integer | np.floating):
        value = float(node)
        return value if np.isfinite(value) and value > 0 else None
    return None


def as_texts(node: Any) -> tuple[str, ...] | None:
    """See a node as a list of texts.

    Parameters
    ----------
    node : object
        Text, a list or array of texts, or a list of structs with one text each.

    Returns
    -------
    tuple of str or None
        Without padding; None where the node holds anything but text.
    """
    if isinstance(node, bytes):
        node = node.decode("utf-8", errors="replace")
    if isinstance(node, str):
        parts = node.replace(";", ",").split(",") if "," in node or ";" in node else [node]
        return tuple(part.strip(" \x00\t") for part in parts)
    if isinstance(node, np.ndarray) and node.dtype.kind in "USO":
        node = node.ravel().tolist()
    if not isinstance(node, list | tuple) or not node:
        return None
    texts = [as_texts(item) for item in node]
    if any(text is None or len(text) != 1 for text in texts):
        return None
    return tuple(text[0] for text in texts if text is not None)


def leaves(tree: dict[str, Any], path: Path = ()) -> Iterator[Leaf]:
    """Walk all nodes that are not dictionaries.

    Parameters
    ----------
    tree : dict
        The tree.
    path : tuple of str
        Where it hangs.

    Yields
    ------
    tuple of (path, node)
        In the file's order.
    """
    if len(path) > MAX_DEPTH:
        return
    for key, node in tree.items():
        if key.startswith("__"):
            continue
        if isinstance(node, dict):
            yield from leaves(node, (*path, key))
        else:
            yield (*path, key), node


def plain(key: str) -> str:
    """Reduce a key to lower-case letters and digits, so that spellings do not matter.

    Parameters
    ----------
    key : str
        For example ``"Sampling_Rate"``.

    Returns
    -------
    str
        For example ``"samplingrate"``.
    """
    return "".join(letter for letter in key.lower() if letter.isalnum())


def nearest(
    found: list[tuple[Path, T]],
    near: Path,
    options: ReadOptions,
    what: str,
    *,
    prefer: Callable[[T], bool] = lambda _: True,
) -> T | None:
    """Choose among several values the one that stands nearest to the signal.

    Parameters
    ----------
    found : list of (path, value)
        All values of a kind in the tree.
    near : tuple of str
        Path of the signal.
    options : ReadOptions
        For the role in errors.
    what : str
        What is looked for, for the error.
    prefer : callable
        Values for which it is true go before others at the same distance.

    Returns
    -------
    object or None
        None where there is none.

    Raises
    ------
    RecordingError
        If two different values stand equally near.
    """
    for depth in range(len(near) - 1, -1, -1):
        level = [value for path, value in found if path[:depth] == near[:depth]]
        level = [value for value in level if prefer(value)] or level
        if not level:
            continue
        if any(value != level[0] for value in level):
            raise options.refusal(
                f"one {what}", f"{len(level)} that differ",
                "Keep only one of them in the file.", code="ambiguous",
            )  # fmt: skip
        return level[0]
    return None
