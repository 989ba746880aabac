"""A Python function under audit: any library, wrapped in a few lines.

The function takes a table of rows, an array of shape (n_rows, dimension), and gives a release
of it: an array of any shape, the same each time. It may take ``n_trials`` too, and then gives
as many releases at once, of shape (n_trials, ...), which is much faster; and ``seed``, which
makes its noise repeatable and itself fit for replay.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuroveil.audit.subject import SubjectFacts
from neuroveil.audit.subjects.answers import as_releases, mistake
from neuroveil.audit.subjects.loading import ROLE, apart_from_results
from neuroveil.types.recording import FloatArray


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
            with apart_from_results():
                answers = self._answers(rows, n_trials, seed)
        except (Exception, SystemExit) as error:  # somebody else's code can fail in any way
            raise mistake(
                "a function that gives a release of a table", f"{type(error).__name__} inside it",
                "Call it with an array of this shape yourself, and correct it.", ROLE,
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
            raise mistake(
                "a function of rows, and of n_trials and seed where it likes",
                f"{len(others)} other required parameters" if others else "no parameter",
                "Wrap it in a function that fixes everything else.", ROLE,
            )  # fmt: skip
        return frozenset(each.name for each in parameters) & {"n_trials", "seed"}
