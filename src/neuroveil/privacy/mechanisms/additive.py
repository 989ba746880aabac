"""What mechanisms that add independent noise to every entry of a row have in common.

Rows and noise are integers in units of a public power-of-two grid. They are added as
integers and divided by the grid at the very end, so that a released float tells nothing
beyond the integer that it stands for.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.accounting import Event, Family
from neuroveil.privacy.bounds import Clip, ClipL1, ClipL2, IntArray, Norm
from neuroveil.privacy.grid import quantise
from neuroveil.privacy.integer_noise import Slack
from neuroveil.privacy.mechanisms import links
from neuroveil.privacy.mechanisms.contract import Draws, MechanismSpec, RowGuarantee
from neuroveil.privacy.prediction import Utility, predict_additive
from neuroveil.privacy.randomness import RandomSource
from neuroveil.privacy.validate import check_dimension, check_epsilon
from neuroveil.types.certificate import Fact
from neuroveil.types.recording import FloatArray

_OUTPUT_LIMIT = 1 << 62
_NOISE_LIMIT = _OUTPUT_LIMIT + (1 << 61)


@dataclass(frozen=True)
class AdditiveMechanism(ABC):
    """Bounding, adding in integers and giving floats back, for any additive noise.

    Parameters
    ----------
    spec : MechanismSpec
        The public specification.

    Raises
    ------
    ChainError
        If the specification cannot be calibrated.
    """

    spec: MechanismSpec

    norms: ClassVar[tuple[Norm, ...]] = ("l2",)
    consumes_norm: ClassVar[Norm]
    distribution: ClassVar[str]

    def __post_init__(self) -> None:
        check_dimension(self.spec.dimension)
        check_epsilon(self.spec.epsilon)
        if self.spec.norm not in self.norms:
            raise ChainError(
                "privacy.norm", " or ".join(self.norms), f"{self.spec.norm!r}",
                f"Clip rows in a norm that {self.spec.name} can use.",
            )  # fmt: skip
        _ = self.noise_scale  # so that a specification without a calibration is refused here

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """Standard deviation or Laplace scale, on the scaled axis (no unit)."""

    @property
    @abstractmethod
    def noise_std(self) -> float:
        """Standard deviation of the noise in one cell, on the scaled axis (no unit)."""

    @property
    @abstractmethod
    def mean_absolute_noise(self) -> float:
        """Mean absolute value of the noise in one cell, on the scaled axis (no unit)."""

    @property
    @abstractmethod
    def grid_log2(self) -> int:
        """Binary logarithm of the grid's step."""

    @property
    def slack(self) -> Slack | None:
        """What integers cost; nothing where the proof is on integers."""
        return None

    @property
    @abstractmethod
    def guarantee(self) -> RowGuarantee:
        """What is promised for one row."""

    @property
    @abstractmethod
    def scale_fact(self) -> Fact:
        """The noise scale with its derivation."""

    @abstractmethod
    def draw(self, n_patients: int, source: RandomSource) -> Draws:
        """Draw the noise for a table, without looking at it.

        Parameters
        ----------
        n_patients : int
            Number of rows.
        source : RandomSource
            Where the randomness comes from.

        Returns
        -------
        Draws
            Integers of shape (n_patients, dimension), in units of the grid.
        """

    @property
    def clip(self) -> Clip:
        """The bound on rows."""
        norm = self.spec.clip_norm
        return ClipL1(norm) if self.spec.norm == "l1" else ClipL2(norm)

    @property
    def sensitivity(self) -> float:
        """Distance between neighbouring tables in the norm that the noise consumes.

        On the scaled axis (no unit), rounded up.
        """
        return self.clip.sensitivity("replace_one", self.consumes_norm, self.spec.dimension)

    @property
    def integer_scale(self) -> float:
        """Noise scale in units of the grid; dividing by a power of two is exact."""
        return math.ldexp(self.noise_scale, -self.grid_log2)

    @property
    def event(self) -> Event:
        """What an accountant sees: one use of this mechanism."""
        family: Family = "gaussian" if self.distribution == "discrete_gaussian" else "laplace"
        return Event(family, self.noise_std / self.sensitivity)

    def renewed(self, source: RandomSource) -> AdditiveMechanism:
        """Give the mechanism itself: it has no public randomness.

        Parameters
        ----------
        source : RandomSource
            Not used.

        Returns
        -------
        AdditiveMechanism
            The same object.
        """
        return self

    def facts(self) -> Mapping[str, Mapping[str, Fact]]:
        """Links ``bound``, ``sensitivity``, ``mechanism`` and this part of ``guarantee``.

        Returns
        -------
        mapping of str to mapping of str to Fact
            Facts by link and name.
        """
        return {
            "bound": links.bound_link(self.spec, self.grid_log2),
            "sensitivity": links.sensitivity_link(self),
            "mechanism": links.mechanism_link(self, self.scale_fact),
            "guarantee": links.guarantee_link(self.guarantee, self.slack),
        }

    def predict(self) -> Utility:
        """Predict what is left, from public numbers alone.

        Returns
        -------
        Utility
            For rows of exactly the clipping norm whose cells average to zero.
        """
        spec = self.spec
        return predict_additive(
            self.noise_std, self.mean_absolute_noise, spec.clip_norm, spec.dimension
        )

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

        Raises
        ------
        ChainError
            If the shape is wrong or a value is not finite.
        """
        return quantise(rows, self.clip, self.grid_log2, self.spec.dimension)

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
        scaled: FloatArray = np.ldexp(rows_int.astype(np.float64), self.grid_log2)
        return scaled

    def apply(self, rows_int: IntArray, draws: Draws) -> FloatArray:
        """Add noise to bounded rows.

        Parameters
        ----------
        rows_int : ndarray of int64, shape (n_patients, dimension)
            From :meth:`bound`.
        draws : Draws
            From :meth:`draw`, for as many patients.

        Returns
        -------
        ndarray of float64, shape (n_patients, dimension)
            Noisy values on the scaled axis (no unit), multiples of the grid.

        Raises
        ------
        ChainError
            If the shapes disagree.
        """
        shape = (rows_int.shape[0], self.spec.dimension)
        if rows_int.shape != shape or draws.integers.shape != shape:
            raise ChainError(
                "rows and draws", f"shape {shape} for both",
                f"{rows_int.shape} and {draws.integers.shape}",
                "Draw for as many patients as there are rows.",
            )  # fmt: skip
        # Where 64-bit noise has saturated, the sum is beyond the output limit for every
        # row alike, so clamping to that limit is post-processing of unlimited noise.
        noise = np.clip(draws.integers, -_NOISE_LIMIT, _NOISE_LIMIT)
        return self.to_scaled(np.clip(rows_int + noise, -_OUTPUT_LIMIT, _OUTPUT_LIMIT))
