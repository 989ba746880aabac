"""Variables of MATLAB's class ``string``, which is stored like an object of a program.

Only top-level variables are looked for, and only through the library mat-io, where it is
installed (extra ``formats``). Everything else of a MAT file is read by pymatreader and h5py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np


def string_variables(path: Path) -> dict[str, list[str]]:
    """Read the texts of all top-level variables of class ``string``.

    Parameters
    ----------
    path : Path
        A MAT file of any version.

    Returns
    -------
    dict of str to list of str
        Texts in MATLAB's order, by variable. Nothing where mat-io is not installed or cannot
        make sense of the file: names that are missing for that are refused later, and a file
        that has its names elsewhere is none the worse.
    """
    try:
        from matio import load_from_mat, whosmat
    except ImportError:
        return {}
    try:
        names = [name for name, (_, kind) in whosmat(str(path)).items() if kind == "string"]
        loaded = load_from_mat(str(path), variable_names=names) if names else {}
    except Exception:
        return {}
    listed = {name: np.asarray(loaded[name]).ravel(order="F").tolist() for name in names}
    return {name: texts for name, texts in listed.items() if all(isinstance(t, str) for t in texts)}
