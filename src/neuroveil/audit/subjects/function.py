"""A Python function under audit: any library, wrapped in a few lines.

The function takes a table of rows, an array of shape (n_rows, dimension), and gives a release
of it: an array of any shape, the same each time. It may take ``n_trials`` too, and then gives
as many releases at once, of shape (n_trials, ...), which is much faster; and ``seed``, which
makes its noise repeatable and itself fit for replay.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from neuroveil.audit.subject import SubjectFacts
from neuroveil.errors import StudyError, StudyMistake
from neuroveil.types.recording import FloatArray

ROLE = "--callable"
_FORM = "MODULE:FUNCTION or FILE.py:FUNCTION"


@dataclass(frozen=True)
class FunctionSubject:
    """A Python function that claims differential privacy.

    Parameters
    ----------
    claim : SubjectFacts
        What it claims; whether it is repeatable follows from its parameters.
    function : callable
        Takes ``rows``, and ``n_trials`` and ``seed`` where it has parameters of these names.

    Raises
    ------
    StudyError
        If its parameters cannot be read, or others are required.
    """

    claim: SubjectFacts
    function: Callable[..., Any]

    def __post_init__(self) -> None:
        _ = self._parameters

    @property
    def facts(self) -> SubjectFacts:
        """What is claimed, and whether a seed repeats it."""
        return replace(self.claim, repeatable="seed" in self._parameters)

    def run(self, rows: FloatArray, n_trials: int, seed: int | None) -> FloatArray:
        """Call the function for one table.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, dimension)
            One table (no unit); the function gets a copy, which it may change.
        n_trials : int
            How many releases.
        seed : int, optional
            For a function that takes one.

        Returns
        -------
        ndarray of float64, shape (n_trials, n_values)
            One flattened release a trial.

        Raises
        ------
        StudyError
            If the function fails, or gives other things than numbers, or not one release a
            trial.
        """
        try:
            answers = self._answers(rows, n_trials, seed)
        except Exception as error:  # somebody else's code can fail in any way
            raise _mistake(
                "a function that gives a release of a table", f"{type(error).__name__} inside it",
                "Call it with an array of this shape yourself, and correct it.",
            ) from error  # fmt: skip
        return as_releases(answers, n_trials, ROLE)

    def _answers(self, rows: FloatArray, n_trials: int, seed: int | None) -> Any:
        names = self._parameters
        options = {"seed": seed} if "seed" in names else {}
        if "n_trials" in names:
            return self.function(rows.copy(), n_trials=n_trials, **options)
        if not options or seed is None:
            return [self.function(rows.copy(), **options) for _ in range(n_trials)]
        seeds = np.random.SeedSequence(seed).generate_state(n_trials, np.uint64).tolist()
        # A single trial gets the seed itself, so that a replay calls what its caller named.
        seeds = [seed] if n_trials == 1 else seeds
        return [self.function(rows.copy(), seed=each) for each in seeds]

    @property
    def _parameters(self) -> frozenset[str]:
        """Which of the two optional parameters the function has."""
        try:
            parameters = list(inspect.signature(self.function).parameters.values())
        except (TypeError, ValueError):
            return frozenset()  # written in C: it gets the rows alone
        required = [each.name for each in parameters[1:] if each.default is each.empty
                    and each.kind not in {each.VAR_POSITIONAL, each.VAR_KEYWORD}]  # fmt: skip
        others = [name for name in required if name not in {"n_trials", "seed"}]
        if not parameters or others:
            raise _mistake(
                "a function of rows, and of n_trials and seed where it likes",
                f"{len(others)} other required parameters" if others else "no parameter",
                "Wrap it in a function that fixes everything else.",
            )  # fmt: skip
        return frozenset(each.name for each in parameters) & {"n_trials", "seed"}


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
        function = getattr(_module(place), name)
    except AttributeError:
        raise _mistake(
            _FORM, "a module without this function", "Correct the name after the colon."
        ) from None
    except Exception as error:  # importing runs somebody else's code
        raise _mistake(
            _FORM, f"{type(error).__name__} on import",
            "Check the name before the colon, and that the module imports by itself.",
        ) from error  # fmt: skip
    if not callable(function):
        raise _mistake(_FORM, f"a {type(function).__name__}", "Name something that can be called.")
    found: Callable[..., Any] = function
    return found


def as_releases(answers: Any, n_trials: int, role: str) -> FloatArray:
    """Flatten somebody's answers to one row a trial.

    Parameters
    ----------
    answers : array-like
        One release a trial.
    n_trials : int
        How many there must be.
    role : str
        What an error calls the one who answered.

    Returns
    -------
    ndarray of float64, shape (n_trials, n_values)
        One flattened release a trial.

    Raises
    ------
    StudyError
        If they are no numbers, of different sizes, or not one a trial.
    """
    try:
        values = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError):
        raise _mistake(
            "releases of numbers, all of one size", "something else",
            "Give arrays of floats, of the same shape each time.", role,
        ) from None  # fmt: skip
    if values.ndim == 0 or values.shape[0] != n_trials or values.size == 0:
        raise _mistake(
            f"one release for each of {n_trials} trials", f"shape {values.shape}",
            "The first axis of the answer counts trials.", role,
        )  # fmt: skip
    return values.reshape(n_trials, -1)


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


def _mistake(expected: str, found: str, remedy: str, role: str = ROLE) -> StudyError:
    return StudyError([StudyMistake(role, expected, found, remedy)])
