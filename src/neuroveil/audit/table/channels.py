"""From a row to a released row: fresh draws, and how likely a released row is.

A channel is the public mechanism as an attacker sees it. Everything here follows from the
certificate; the rows that released rows are compared with are handed in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.randomness import RandomSource
from neuroveil.types.codewords import Messages
from neuroveil.types.recording import FloatArray

_BLOCK_CELLS = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedRows:
    """Released rows as they are published, or drawn anew in the same form.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, m), optional
        Randomised values on the scaled axis (no unit); none where codewords are released.
    messages : Messages, optional
        Released codewords.
    """

    values: FloatArray | None = None
    messages: Messages | None = None

    @property
    def n_rows(self) -> int:
        """Number of released rows."""
        if self.values is not None:
            return int(self.values.shape[0])
        return 0 if self.messages is None else int(self.messages.numbers.size)


class Candidates(Protocol):
    """Rows of known people, made ready for comparison with released rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def rows(self) -> FloatArray:
        """The rows on the scaled axis (no unit), as the mechanism bounds them."""
        ...

    def draw(self, which: IntArray, source: RandomSource) -> ReleasedRows:
        """Release chosen rows anew, with fresh randomness.

        Parameters
        ----------
        which : ndarray of int64, shape (n_draws,)
            Numbers of rows, repeats allowed.
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        ReleasedRows
            One released row a number.
        """
        ...

    def each(self, released: ReleasedRows, which: IntArray) -> FloatArray:
        """Give the log-likelihood of every released row under one candidate.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.
        which : ndarray of int64, shape (n_released,)
            The candidate of each.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            log P(released row | candidate), up to what :meth:`Channel.unknown` shares (nat).
        """
        ...

    def all(self, released: ReleasedRows) -> FloatArray:
        """Give scores that rank all candidates behind every released row.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, n_rows)
            Log-likelihood (nat). Where a mechanism makes candidates equally likely, closeness
            may part them by less than any difference of likelihoods.
        """
        ...


class Channel(Protocol):
    """A public mechanism, as an attacker sees it."""

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        ...

    @property
    def dimension(self) -> int:
        """Number m of coordinates of a released row."""
        ...

    @property
    def cells_a_row(self) -> int:
        """What scoring one released row costs, in cells that are looked at."""
        ...

    @property
    def noise_variance(self) -> float:
        """Mean square of released minus bounded value in one coordinate (no unit)."""
        ...

    def against(self, rows: FloatArray) -> Candidates:
        """Make rows of known people ready for comparison.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_rows, n_features)
            Scaled rows (no unit), before projection and clipping.

        Returns
        -------
        Candidates
            Bounded as the mechanism bounds them.
        """
        ...

    def unknown(self, released: ReleasedRows) -> FloatArray:
        """Give the log-likelihood of released rows when nothing is known about the person.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released,)
            In the same units as :meth:`Candidates.each` (nat).
        """
        ...

    def values(self, released: ReleasedRows) -> FloatArray:
        """Give released rows as numbers.

        Parameters
        ----------
        released : ReleasedRows
            Released rows.

        Returns
        -------
        ndarray of float64, shape (n_released, m)
            On the scaled axis (no unit).
        """
        ...


def block_size(cells_a_row: int) -> int:
    """Give how many rows to treat at a time, so that memory stays flat.

    Parameters
    ----------
    cells_a_row : int
        Cells that one row takes.

    Returns
    -------
    int
        At least 1.
    """
    return max(1, math.floor(_BLOCK_CELLS / max(1, cells_a_row)))
