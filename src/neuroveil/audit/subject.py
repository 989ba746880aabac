"""What can be audited: a claim, what the release is said to be made of, and a way to run it.

A subject takes a table of rows and gives releases of it. Whether it is a mechanism of this
package, a callable, a command or another library is its own affair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import Norm
from neuroveil.privacy.validate import check_clip_norm, check_dimension, check_epsilon
from neuroveil.types.recording import FloatArray

LawFamily = Literal["gaussian", "laplace", "codewords"]


@runtime_checkable
class ReleaseLaw(Protocol):
    """The probability law that a chain promises for a release, given the bounded rows."""

    @property
    def family(self) -> LawFamily:
        """Which law."""
        ...

    def log_ratio(self, values: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Give the log-likelihood ratio of releases between two tables.

        Parameters
        ----------
        values : ndarray of float64, shape (n_trials, n_values)
            Releases, flattened (no unit).
        first, second : ndarray of float64, shape (n_rows, dimension)
            The two tables, bounded (no unit).

        Returns
        -------
        ndarray of float64, shape (n_trials,)
            log P(values | first) - log P(values | second), up to a constant (nat).
        """
        ...


@dataclass(frozen=True)
class SubjectFacts:
    """Public facts of a subject: what is claimed, and what it takes.

    Parameters
    ----------
    name : str
        Name for a reader.
    epsilon, delta : float
        What is claimed for one patient under replace-one; delta is 0 for a pure claim.
    dimension : int
        Number d of columns of a row.
    clip_norm : float
        Largest norm of a row on the scaled axis (no unit).
    norm : {"l2", "l1"}
        Norm that is clipped.
    law : ReleaseLaw, optional
        What the chain promises; none where it is not stated.
    repeatable : bool
        Whether a seed makes a run repeatable; only simulations are.

    Raises
    ------
    ChainError
        If a number is out of range.
    """

    name: str
    epsilon: float
    delta: float
    dimension: int
    clip_norm: float
    norm: Norm = "l2"
    law: ReleaseLaw | None = None
    repeatable: bool = False

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon, "claim.epsilon")
        check_dimension(self.dimension)
        check_clip_norm(self.clip_norm)
        if not 0 <= self.delta < 1:
            raise ChainError(
                "claim.delta",
                "a probability below 1",
                f"{self.delta!r}",
                "State the claim's delta.",
            )


class Subject(Protocol):
    """Something that claims differential privacy and can be run."""

    @property
    def facts(self) -> SubjectFacts:
        """What is claimed."""
        ...

    def run(self, rows: FloatArray, n_trials: int, seed: int | None) -> FloatArray:
        """Release one table several times, with independent noise.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, dimension)
            One table (no unit); one row for a mechanism that treats every row on its own.
        n_trials : int
            How many releases. The caller keeps it small enough for memory.
        seed : int, optional
            Seed of a repeatable subject, which gives the same releases for the same seed and
            independent ones for another; none, for the subject's own randomness.

        Returns
        -------
        ndarray of float64, shape (n_trials, n_values)
            One flattened release a trial. A release of rows has n_rows x dimension values,
            row after row.
        """
        ...


def check_releases(values: FloatArray, n_trials: int) -> FloatArray:
    """Refuse what a subject must not give.

    Parameters
    ----------
    values : ndarray of float64, shape (n_trials, n_values)
        What :meth:`Subject.run` gave.
    n_trials : int
        How many releases were asked for.

    Returns
    -------
    ndarray of float64, shape (n_trials, n_values)
        The same array.

    Raises
    ------
    ChainError
        If the shape is another one, or a value is not finite.
    """
    if values.ndim != 2 or values.shape[0] != n_trials or values.shape[1] == 0:
        raise ChainError(
            "subject", f"{n_trials} flattened releases", f"shape {values.shape}",
            "Give one flattened release a trial.",
        )  # fmt: skip
    if not bool(np.isfinite(values).all()):
        raise ChainError(
            "subject", "finite values", "NaN or infinite values",
            "A release with NaN or infinite values is refused before it is audited.",
        )  # fmt: skip
    return values
