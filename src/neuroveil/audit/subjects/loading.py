"""Functions by name: from an installed module, the current folder, or a file."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from neuroveil.audit.subjects.answers import mistake
from neuroveil.errors import StudyError

ROLE = "--callable"
_FORM = "MODULE:FUNCTION or FILE.py:FUNCTION"


def load_function(target: str) -> Callable[..., Any]:
    """Import a function by name. This runs the code of its module.

    Parameters
    ----------
    target : str
        ``MODULE:FUNCTION``, where the module is installed or lies in the current folder, or
        ``FILE.py:FUNCTION``.

    Returns
    -------
    callable
        The function.

    Raises
    ------
    StudyError
        If there is none.
    """
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise _mistake(_FORM, "another form", "Name a function, for example examples.noise:add.")
    try:
        with apart_from_results():
            module = _module(place)
    except (Exception, SystemExit) as error:  # importing runs somebody else's code
        raise _mistake(
            _FORM, f"{type(error).__name__} on import",
            "Check the name before the colon, and that the module imports by itself.",
        ) from error  # fmt: skip
    function = getattr(module, name, None)
    if function is None:
        raise _mistake(_FORM, "a module without this function", "Correct the name after the colon.")
    if not callable(function):
        raise _mistake(_FORM, f"a {type(function).__name__}", "Name something that can be called.")
    found: Callable[..., Any] = function
    return found


@contextlib.contextmanager
def apart_from_results() -> Iterator[None]:
    """Drop what somebody else's code prints: standard output is for the result of the audit.

    Yields
    ------
    None
        While the code runs.
    """
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
    ):
        yield


def _module(place: str) -> ModuleType:
    if place.endswith(".py"):
        file = Path(place)
        spec = importlib.util.spec_from_file_location(f"audited_{file.stem}", file)
        if spec is None or spec.loader is None or not file.is_file():
            raise FileNotFoundError
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    folder = str(Path.cwd())
    if folder not in sys.path:  # as `python -m` does
        sys.path.insert(0, folder)
    return importlib.import_module(place)


def _mistake(expected: str, found: str, remedy: str) -> StudyError:
    return mistake(expected, found, remedy, ROLE)
