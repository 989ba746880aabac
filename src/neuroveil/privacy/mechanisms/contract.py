"""What every row mechanism offers.

A mechanism is a frozen object of public settings. Drawing and applying are separate:
``draw`` needs the number of patients and a source of randomness but no data, ``apply`` is
deterministic. So noise cannot depend on data, and an audit can replay the same draws on a
neighbouring table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from neuroveil.privacy.accounting import Event
from neuroveil.privacy.bounds import IntArray, Norm
from neuroveil.privacy.codebook.design import DEFAULT_BUDGET
from neuroveil.privacy.prediction import Utility
from neuroveil.privacy.randomness import RandomSource, SamplerFacts
from neuroveil.types.certificate import Fact
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True)
class CodebookOptions:
    """Public wishes about codebooks.

    Parameters
    ----------
    largest : int
        Largest number of codewords; time grows with it.
    fresh_per_row : bool
        Whether every row has a codebook of its own, which removes the bias of a single one
        and takes longer.
    """

    largest: int = DEFAULT_BUDGET
    fresh_per_row: bool = False


@dataclass(frozen=True)
class MechanismSpec:
    """Public specification of a row mechanism.

    Parameters
    ----------
    name : str
        One of :data:`~neuroveil.privacy.mechanisms.registry.MECHANISM_NAMES`.
    epsilon : float
        Epsilon for one patient's row.
    delta : float
        Delta for one patient's row; 0 for mechanisms with a pure guarantee.
    clip_norm : float
        Largest norm of a scaled row (no unit).
    norm : {"l2", "l1"}
        Norm that is clipped.
    dimension : int
        Number of columns.
    codebook : CodebookOptions
        For mechanisms that have one.
    """

    name: str
    epsilon: float
    delta: float
    clip_norm: float
    norm: Norm
    dimension: int
    codebook: CodebookOptions = field(default=CodebookOptions())


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """Randomness for a whole table, drawn without looking at it.

    Parameters
    ----------
    integers : ndarray of int64, shape (n_patients, draws_per_row)
        What the mechanism asked its source for. Secret: whoever knows the draws of a
        release knows the rows.
    sampler : SamplerFacts
        Who drew.
    """

    integers: IntArray
    sampler: SamplerFacts


@dataclass(frozen=True)
class RowGuarantee:
    """What a mechanism promises for one patient's row under replace-one adjacency.

    Parameters
    ----------
    variant : {"approximate_dp", "pure_dp"}
        Kind of guarantee.
    epsilon, delta : float
        What was asked for.
    epsilon_supported : float
        The epsilon that the noise really supports at this delta.
    proof : str
        Theorem.
    """

    variant: Literal["approximate_dp", "pure_dp"]
    epsilon: float
    delta: float
    epsilon_supported: float
    proof: str

    @property
    def holds(self) -> bool:
        """Whether the noise supports what was asked for."""
        return self.epsilon_supported <= self.epsilon


class RowMechanism(Protocol):
    """A mechanism that randomises every patient's row on its own."""

    @property
    def spec(self) -> MechanismSpec:
        """The public specification."""
        ...

    @property
    def guarantee(self) -> RowGuarantee:
        """What is promised for one row."""
        ...

    @property
    def event(self) -> Event:
        """What an accountant sees."""
        ...

    def renewed(self, source: RandomSource) -> RowMechanism:
        """Give the same mechanism with public randomness drawn anew, for one release.

        Parameters
        ----------
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        RowMechanism
            The mechanism itself where it has no public randomness.
        """
        ...

    def facts(self) -> Mapping[str, Mapping[str, Fact]]:
        """Links ``bound``, ``sensitivity``, ``mechanism`` and this part of ``guarantee``.

        Returns
        -------
        mapping of str to mapping of str to Fact
            Facts by link and name.
        """
        ...

    def predict(self) -> Utility:
        """Predict what is left, from public numbers alone.

        Returns
        -------
        Utility
            For rows of exactly the clipping norm whose cells average to zero.
        """
        ...

    def bound(self, rows: FloatArray) -> IntArray:
        """Clip scaled rows and put them on the grid.

        Parameters
        ----------
        rows : ndarray of float64, shape (n_patients, dimension)
            Scaled rows (no unit), finite.

        Returns
        -------
        ndarray of int64, shape (n_patients, dimension)
            Rows in units of the grid, within the clipping norm exactly.
        """
        ...

    def to_scaled(self, rows_int: IntArray) -> FloatArray:
        """Give grid units back on the scaled axis, without noise.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            Rows in units of the grid.

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            The same rows on the scaled axis (no unit).
        """
        ...

    def draw(self, n_patients: int, source: RandomSource) -> Draws:
        """Draw the randomness for a table, without looking at it.

        Parameters
        ----------
        n_patients : int
            Number of rows.
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        Draws
            Integers, one row a patient.
        """
        ...

    def apply(self, rows_int: IntArray, draws: Draws) -> FloatArray:
        """Randomise bounded rows; deterministic once the draws are given.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            From :meth:`bound`.
        draws : Draws
            From :meth:`draw`, for as many patients.

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            Values that may be published, on the scaled axis (no unit).
        """
        ...
