"""Pairs of tables that a mechanism must not tell apart, chosen to make that hard.

Two rows at the clipping norm that point in opposite directions are as far apart as two rows can
be. Which direction hurts most depends on the noise: Laplace noise is weakest against rows whose
norm is spread over all columns, noise of a wrong shape against rows that fill one column. A row
of zeros finds what happens to rows that are not clipped at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.audit.subject import SubjectFacts
from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import Clip, ClipL1, ClipL2
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False)
class CanaryPair:
    """Two neighbouring tables that an attack tells apart.

    Parameters
    ----------
    name : str
        Name for a reader.
    first, second : ndarray of float64, shape (n_rows, dimension)
        Tables that differ in one patient's row (no unit).
    displacement : ndarray of float64, shape (n_values,), optional
        How far a release of the first table lies from one of the second, before noise and
        flattened. Known from a replay with the same draws; none where it is not known.

    Raises
    ------
    ChainError
        If the tables are no neighbours.
    """

    name: str
    first: FloatArray
    second: FloatArray
    displacement: FloatArray | None = None

    def __post_init__(self) -> None:
        same_shape = self.first.ndim == 2 and self.first.shape == self.second.shape
        if not same_shape or int((self.first != self.second).any(axis=1).sum()) != 1:
            raise ChainError(
                f"canary pair {self.name}", "two tables of one shape that differ in one row",
                f"shapes {self.first.shape} and {self.second.shape}, or more than one row",
                "Exchange exactly one patient's row.",
            )  # fmt: skip


def canary_pairs(facts: SubjectFacts) -> tuple[CanaryPair, ...]:
    """Give the pairs of single rows that are hardest to hide under a norm.

    Parameters
    ----------
    facts : SubjectFacts
        Dimension and clipping norm.

    Returns
    -------
    tuple of CanaryPair
        Antipodal rows spread over all columns, antipodal rows in one column, a row at the
        clipping norm against zeros. Without repetitions where there is one column only.
    """
    dense, sparse = dense_row(facts), sparse_row(facts)
    pairs = [CanaryPair("opposite rows spread over all columns", dense, -dense)]
    if facts.dimension > 1:
        pairs.append(CanaryPair("opposite rows in one column", sparse, -sparse))
    return (*pairs, CanaryPair("a row against zeros", dense, np.zeros_like(dense)))


def dense_row(facts: SubjectFacts) -> FloatArray:
    """Give a row at the clipping norm whose columns are all equal.

    Parameters
    ----------
    facts : SubjectFacts
        Dimension and clipping norm.

    Returns
    -------
    ndarray of float64, shape (1, dimension)
        Of the largest L1 norm that the clip allows (no unit).
    """
    return row_clip(facts).apply(np.full((1, facts.dimension), facts.clip_norm))


def sparse_row(facts: SubjectFacts) -> FloatArray:
    """Give a row at the clipping norm that fills one column.

    Parameters
    ----------
    facts : SubjectFacts
        Dimension and clipping norm.

    Returns
    -------
    ndarray of float64, shape (1, dimension)
        One value at the clipping norm, zeros elsewhere (no unit).
    """
    row = np.zeros((1, facts.dimension))
    row[0, 0] = facts.clip_norm
    return row


def row_clip(facts: SubjectFacts) -> Clip:
    """Give the clip that a subject states.

    Parameters
    ----------
    facts : SubjectFacts
        Clipping norm and its kind.

    Returns
    -------
    Clip
        With its sensitivities.
    """
    return ClipL1(facts.clip_norm) if facts.norm == "l1" else ClipL2(facts.clip_norm)
