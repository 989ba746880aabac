"""Bounds on what one patient can contribute: clipping and sensitivity.

A clip object holds public settings only and states its own sensitivity. It clips in
floating point, which may end a rounding error too long, and can tell exactly whether a row
of integers is too long; :mod:`~neuroveil.privacy.grid` makes one out of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from neuroveil.errors import ChainError
from neuroveil.privacy.exact import float_up, sqrt_up
from neuroveil.privacy.validate import check_clip_norm, check_dimension
from neuroveil.types.recording import FloatArray

IntArray = npt.NDArray[np.int64]
Norm = Literal["l2", "l1"]
Relation = Literal["replace_one", "add_or_remove_one"]

_FACTORS: dict[str, int] = {"replace_one": 2, "add_or_remove_one": 1}


def adjacency_factor(relation: Relation) -> int:
    """Give the number of clipping radii that lie between two neighbouring tables.

    Parameters
    ----------
    relation : {"replace_one", "add_or_remove_one"}
        What makes two tables neighbours.

    Returns
    -------
    int
        2 when one patient's row is exchanged for another, 1 when it is added or removed.

    Raises
    ------
    ChainError
        If the relation is another one.
    """
    if relation not in _FACTORS:
        raise ChainError(
            "adjacency.relation", "replace_one or add_or_remove_one", f"{relation!r}",
            "State which tables count as neighbours.",
        )  # fmt: skip
    return _FACTORS[relation]


@dataclass(frozen=True)
class ClipL2:
    """Bound on the Euclidean norm of a row.

    Parameters
    ----------
    clip_norm : float
        Largest norm C, on the scaled axis (no unit).

    Raises
    ------
    ChainError
        If the norm is not a positive finite number.
    """

    clip_norm: float

    def __post_init__(self) -> None:
        check_clip_norm(self.clip_norm)

    @property
    def norm(self) -> Norm:
        """Norm that is bounded: ``"l2"``."""
        return "l2"

    def apply(self, rows: FloatArray) -> FloatArray:
        """Scale rows that are too long to the clipping norm: x min(1, C / ||x||_2).

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, dimension)
            Scaled rows (no unit), finite.

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            Rows of norm at most C up to rounding, which
            :func:`~neuroveil.privacy.grid.quantise` removes.

        Raises
        ------
        ChainError
            If the shape is wrong or a value is not finite.
        """
        return _shorten(rows, lambda unit: np.sqrt(np.square(unit).sum(axis=1)), self.clip_norm)

    def sensitivity(self, relation: Relation, norm: Norm, dimension: int) -> float:
        """Give the largest distance between neighbouring tables.

        Parameters
        ----------
        relation : {"replace_one", "add_or_remove_one"}
            What makes two tables neighbours.
        norm : {"l2", "l1"}
            Norm in which the distance is wanted.
        dimension : int
            Number of columns d.

        Returns
        -------
        float
            ``factor * C`` in L2; ``factor * sqrt(d) * C`` in L1 (Cauchy-Schwarz, attained
            by rows with equal entries). Rounded up.
        """
        radius = adjacency_factor(relation) * Fraction(self.clip_norm)
        if norm == "l2":
            return float_up(radius)
        return float_up(sqrt_up(radius * radius * check_dimension(dimension)))

    def exceeds(self, row: list[int], grid_log2: int) -> bool:
        """Whether ``sum(m_j^2) > (C / 2^grid_log2)^2``, in integers.

        Parameters
        ----------
        row : list of int
            Row in units of the grid.
        grid_log2 : int
            Binary logarithm of the grid's step.

        Returns
        -------
        bool
            True if the row is too long.
        """
        limit = _in_units(self.clip_norm, grid_log2) ** 2
        return sum(value * value for value in row) > limit


@dataclass(frozen=True)
class ClipL1:
    """Bound on the sum of absolute values of a row.

    Parameters
    ----------
    clip_norm : float
        Largest norm C1, on the scaled axis (no unit).

    Raises
    ------
    ChainError
        If the norm is not a positive finite number.
    """

    clip_norm: float

    def __post_init__(self) -> None:
        check_clip_norm(self.clip_norm)

    @property
    def norm(self) -> Norm:
        """Norm that is bounded: ``"l1"``."""
        return "l1"

    def apply(self, rows: FloatArray) -> FloatArray:
        """Scale rows that are too long to the clipping norm: x min(1, C1 / ||x||_1).

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, dimension)
            Scaled rows (no unit), finite.

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            Rows of norm at most C1 up to rounding, which
            :func:`~neuroveil.privacy.grid.quantise` removes.

        Raises
        ------
        ChainError
            If the shape is wrong or a value is not finite.
        """
        return _shorten(rows, lambda unit: np.abs(unit).sum(axis=1), self.clip_norm)

    def sensitivity(self, relation: Relation, norm: Norm, dimension: int) -> float:
        """Give the largest distance between neighbouring tables.

        Parameters
        ----------
        relation : {"replace_one", "add_or_remove_one"}
            What makes two tables neighbours.
        norm : {"l2", "l1"}
            Norm in which the distance is wanted.
        dimension : int
            Number of columns d.

        Returns
        -------
        float
            ``factor * C1`` in either norm, since the L2 norm is at most the L1 norm and
            both are attained on one axis. Rounded up.
        """
        check_dimension(dimension)
        return float_up(adjacency_factor(relation) * Fraction(self.clip_norm))

    def exceeds(self, row: list[int], grid_log2: int) -> bool:
        """Whether ``sum(|m_j|) > C1 / 2^grid_log2``, in integers.

        Parameters
        ----------
        row : list of int
            Row in units of the grid.
        grid_log2 : int
            Binary logarithm of the grid's step.

        Returns
        -------
        bool
            True if the row is too long.
        """
        return sum(abs(value) for value in row) > _in_units(self.clip_norm, grid_log2)


Clip = ClipL2 | ClipL1


def check_rows(rows: FloatArray, dimension: int | None = None) -> None:
    """Refuse rows that a mechanism would silently misread.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_patients, dimension)
        Scaled rows (no unit).
    dimension : int, optional
        Number of columns that is expected.

    Raises
    ------
    ChainError
        If it is not a table of float64, has no row, has another number of columns, or
        holds a value that is not finite.
    """
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.dtype != np.float64:
        raise ChainError(
            "rows", "a table of float64 with at least one row",
            f"{rows.dtype} of shape {rows.shape}", "Give one scaled row a patient.",
        )  # fmt: skip
    if dimension is not None and rows.shape[1] != dimension:
        raise ChainError(
            "rows", f"{dimension} columns", f"{rows.shape[1]} columns",
            "Give exactly the columns that the mechanism was calibrated for.",
        )  # fmt: skip
    if not bool(np.isfinite(rows).all()):
        raise ChainError(
            "rows", "finite values", "values that are not finite",
            "Scale the table first: a missing cell must become the public centre on purpose.",
        )  # fmt: skip


def _in_units(clip_norm: float, grid_log2: int) -> Fraction:
    return Fraction(clip_norm) * Fraction(2) ** -grid_log2


def _shorten(
    rows: FloatArray, norm_of: Callable[[FloatArray], FloatArray], clip_norm: float
) -> FloatArray:
    check_rows(rows)
    # Dividing by the largest entry first keeps squares from overflowing.
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = rows / np.where(largest > 0, largest, 1.0)[:, None]
    unit_norm = norm_of(unit)
    with np.errstate(over="ignore"):
        too_long = unit_norm * largest > clip_norm
    scale = clip_norm / np.where(too_long, unit_norm, 1.0)
    return np.where(too_long[:, None], unit * scale[:, None], rows)
