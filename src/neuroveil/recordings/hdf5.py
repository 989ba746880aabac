"""HDF5 files, among them MATLAB 7.3: read into a tree without loading the signal.

Links and storage that lead out of the file are not followed.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from neuroveil.recordings.contents import FileContents
from neuroveil.recordings.matlab_strings import string_variables
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.tree import MAX_DEPTH, Matrix
from neuroveil.recordings.variables import contents_of

SMALL = 4096
"""Arrays of up to this many elements are loaded at once: rates, names, gains."""

MAX_NODES = 20_000
CACHE_BYTES = 16 << 20


def open_hdf5(path: Path, options: ReadOptions) -> FileContents:
    """Open an HDF5 file or a MATLAB 7.3 file.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        What the study says where the file does not.

    Returns
    -------
    FileContents
        Channels and signal.

    Raises
    ------
    RecordingError
        If it is not clear what in the file is the signal, its names or its rate.
    """
    import h5py

    with ExitStack() as stack:
        file = stack.enter_context(h5py.File(path, "r", rdcc_nbytes=CACHE_BYTES))
        is_matlab = any(
            "MATLAB_class" in item.attrs for name in file if (item := _item(file, name)) is not None
        )
        tree = _Reader(file, is_matlab, options).group(file, 0)
        if "#subsystem#" in file:  # objects, of which texts are one kind
            tree |= string_variables(path)
        kind = "MATLAB 7.3" if is_matlab else "HDF5"
        return contents_of(tree, kind, path, options, stack)


def _item(group: Any, name: str) -> Any:
    """One member of a group, unless it lies in another file."""
    import h5py

    if isinstance(group.get(name, getlink=True), h5py.ExternalLink) or name.startswith("#"):
        return None
    item = group.get(name)
    # A soft link may lead through an external one.
    return item if item is not None and item.file.filename == group.file.filename else None


class _Reader:
    """Turns groups and datasets into a tree, with a limit on their number."""

    def __init__(self, file: Any, is_matlab: bool, options: ReadOptions) -> None:
        self.file, self.is_matlab, self.options = file, is_matlab, options
        self.n_nodes = 0

    def group(self, group: Any, depth: int) -> dict[str, Any]:
        """Read a group; attributes of HDF5 files stand beside its members."""
        tree: dict[str, Any] = {}
        if depth > MAX_DEPTH:
            return tree
        for name in group:
            item = _item(group, name)
            if item is not None:
                tree[name] = self.node(item, depth + 1)
                if not self.is_matlab and not hasattr(item, "keys"):
                    self._attributes(item, tree)
        if not self.is_matlab:
            self._attributes(group, tree)
        return tree

    def node(self, item: Any, depth: int) -> Any:
        """Read a member of any kind."""
        self.n_nodes += 1
        if self.n_nodes > MAX_NODES:
            raise self.options.refusal(
                f"at most {MAX_NODES} variables in a file", "more",
                "Save the recording alone, without the rest of the workspace.", code="ambiguous",
            )  # fmt: skip
        if hasattr(item, "keys"):
            return None if "MATLAB_sparse" in item.attrs else self.group(item, depth)
        if not hasattr(item, "dtype") or item.external or item.is_virtual:
            return None
        return self._matlab(item, depth) if self.is_matlab else self._dataset(item)

    def _attributes(self, item: Any, tree: dict[str, Any]) -> None:
        """Put attributes into the tree without displacing anything."""
        for name, value in item.attrs.items():
            if not name.startswith(("MATLAB_", "H5_", "DIMENSION_")):
                tree.setdefault(name, value)

    def _dataset(self, item: Any) -> Any:
        """Read a dataset of a plain HDF5 file."""
        if item.dtype.kind in "SO":
            return self._texts(item)
        if item.dtype.kind not in "iuf":
            return None
        return item[()] if item.size is not None and item.size <= SMALL else Matrix(item)

    def _texts(self, item: Any) -> Any:
        """Read a dataset of fixed or variable length text."""
        if item.size is None or item.size > SMALL:
            return None
        value = item[()]
        return value if isinstance(value, bytes | str) else np.asarray(value).ravel().tolist()

    def _matlab(self, item: Any, depth: int) -> Any:
        """Read a MATLAB variable; see MathWorks, MAT-File Versions (7.3 is HDF5)."""
        kind = item.attrs.get("MATLAB_class", b"")
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        if "MATLAB_empty" in item.attrs:
            return "" if kind == "char" else np.empty(0)
        if item.dtype.kind == "O":
            if depth > MAX_DEPTH or item.size > SMALL:
                return None
            references = np.asarray(item[()]).ravel(order="F").tolist()
            return [self.node(self.file[reference], depth + 1) for reference in references]
        if kind == "char":
            return self._char(item)
        if kind == "string" or item.dtype.kind not in "iuf":
            return None
        if item.size > SMALL:
            return Matrix(item, transposed=True)
        return np.asarray(item[()]).T

    def _char(self, item: Any) -> Any:
        """Read a char array: one text, or one a row."""
        if item.size > SMALL * 16:
            return None
        rows = ["".join(map(chr, row)) for row in np.atleast_2d(np.asarray(item[()]).T).tolist()]
        return rows[0] if len(rows) == 1 else rows
