"""Which ways, classifiers and rounds an evaluation compares. Public settings, checked at once."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.evaluate.downstream.choice_of_ways import WAY_KEYS
from neuroveil.evaluate.downstream.models import MODELS

LARGE_N = 200
"""From so many patients on, few rounds are done: each takes long, and patients say enough."""

ROUNDS, ROUNDS_IN_LARGE_COHORTS = 10, 3
SEED = 20260910


@dataclass(frozen=True)
class EvaluationWishes:
    """What is to be compared. Public.

    Parameters
    ----------
    models : tuple of str
        Classifiers for shared rows.
    ways : tuple of str
        Ways of sharing.
    n_rounds : int, optional
        Rounds, at least 2; 10, or 3 from 200 patients on, if absent.
    seed : int
        Seed of noise, folds, permutations and starting weights.

    Raises
    ------
    StudyError
        If a name is unknown, nothing is wanted, or there are too few rounds.
    """

    models: tuple[str, ...] = tuple(MODELS)
    ways: tuple[str, ...] = WAY_KEYS
    n_rounds: int | None = None
    seed: int = SEED

    def __post_init__(self) -> None:
        mistakes = []
        for where, given, known in (
            ("--model", self.models, tuple(MODELS)), ("--way", self.ways, WAY_KEYS),
        ):  # fmt: skip
            if not given or set(given) - set(known):
                mistakes.append(StudyMistake(
                    where, f"one or more of {', '.join(known)}", ", ".join(given) or "none",
                    "Correct the names.",
                ))  # fmt: skip
        if (self.n_rounds is not None and self.n_rounds < 2) or self.seed < 0:
            mistakes.append(StudyMistake(
                "--rounds", "at least 2 rounds and a seed of at least 0", "others",
                "A single round says nothing about what the next one does.",
            ))  # fmt: skip
        if mistakes:
            raise StudyError(mistakes)

    def rounds_for(self, n_patients: int) -> int:
        """Give the number of rounds for a cohort.

        Parameters
        ----------
        n_patients : int
            Patients with a label.

        Returns
        -------
        int
            At least 2.
        """
        if self.n_rounds is not None:
            return self.n_rounds
        return ROUNDS if n_patients < LARGE_N else ROUNDS_IN_LARGE_COHORTS
