"""What a source of randomness offers, and the one for evaluation.

:class:`SimulationRandomness` is fast, repeatable and protects nobody. Released noise comes
from :class:`~neuroveil.privacy.sampling.SystemRandomness` instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.metadata import version
from typing import Protocol

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.grid import LARGEST_SCALE_LOG2
from neuroveil.types.recording import FloatArray

Shape = tuple[int, int]


@dataclass(frozen=True)
class SamplerFacts:
    """What a certificate says about a source of randomness.

    Parameters
    ----------
    library, version : str
        Who drew.
    exact : bool
        Whether the integers follow the stated distribution exactly.
    source : {"operating_system", "seeded_generator"}
        Where the random bits come from.
    seeded : bool
        Whether the draw can be repeated; never in a release.
    """

    library: str
    version: str
    exact: bool
    source: str
    seeded: bool


class RandomSource(Protocol):
    """Integer noise and exact choices."""

    @property
    def facts(self) -> SamplerFacts:
        """What a certificate says about noise from this source."""
        ...

    @property
    def uniform_facts(self) -> SamplerFacts:
        """What a certificate says about uniform choices from this source."""
        ...

    def discrete_gaussian(self, scale: float, shape: Shape) -> IntArray:
        """Draw P(k) proportional to exp(-k^2 / (2 scale^2)) on the integers.

        Parameters
        ----------
        scale : float
            Standard deviation in units of the grid.
        shape : tuple of int
            Rows and columns.

        Returns
        -------
        ndarray of int64, shape ``shape``
            Independent samples.
        """
        ...

    def discrete_laplace(self, scale: float, shape: Shape) -> IntArray:
        """Draw P(k) proportional to ``exp(-|k| / scale)`` on the integers.

        Parameters
        ----------
        scale : float
            Scale in units of the grid.
        shape : tuple of int
            Rows and columns.

        Returns
        -------
        ndarray of int64, shape ``shape``
            Independent samples.
        """
        ...

    def below(self, limit: int) -> int:
        """Draw a uniform whole number.

        Parameters
        ----------
        limit : int
            Positive.

        Returns
        -------
        int
            From 0 up to but not including ``limit``.
        """
        ...


class SimulationRandomness:
    """Repeatable draws for evaluation. Protects nobody; ``protect`` never uses it.

    Parameters
    ----------
    seed : int
        Seed of a numpy generator.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    @property
    def facts(self) -> SamplerFacts:
        """What a certificate says about this source."""
        return SamplerFacts("numpy", version("numpy"), False, "seeded_generator", True)

    @property
    def uniform_facts(self) -> SamplerFacts:
        """The same: everything comes from one generator."""
        return self.facts

    def discrete_gaussian(self, scale: float, shape: Shape) -> IntArray:
        """Draw a rounded continuous Gaussian, close to the discrete one at large scales.

        Parameters
        ----------
        scale : float
            Standard deviation in units of the grid.
        shape : tuple of int
            Rows and columns.

        Returns
        -------
        ndarray of int64, shape ``shape``
            Independent samples.

        Raises
        ------
        ChainError
            If the scale is not positive, or above 2^57.
        """
        return _round(self._generator.normal(0.0, check_scale(scale), shape))

    def discrete_laplace(self, scale: float, shape: Shape) -> IntArray:
        """Draw a rounded continuous Laplace, close to the discrete one at large scales.

        Parameters
        ----------
        scale : float
            Scale in units of the grid.
        shape : tuple of int
            Rows and columns.

        Returns
        -------
        ndarray of int64, shape ``shape``
            Independent samples.

        Raises
        ------
        ChainError
            If the scale is not positive, or above 2^57.
        """
        return _round(self._generator.laplace(0.0, check_scale(scale), shape))

    def below(self, limit: int) -> int:
        """Draw a whole number, uniform to within 2^-64.

        Parameters
        ----------
        limit : int
            Positive.

        Returns
        -------
        int
            From 0 up to but not including ``limit``.
        """
        width = limit.bit_length() // 8 + 9
        return int.from_bytes(self._generator.bytes(width), "little") * limit >> (8 * width)


def permutation(n: int, source: RandomSource) -> IntArray:
    """Draw a uniformly random order by Fisher and Yates' shuffle.

    Parameters
    ----------
    n : int
        Number of rows.
    source : RandomSource
        Where the randomness comes from.

    Returns
    -------
    ndarray of int64, shape (n,)
        The numbers 0 to n - 1 in random order.
    """
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        other = source.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return np.array(order, dtype=np.int64)


def check_scale(scale: float) -> float:
    """Refuse a scale at which noise is absent or 64-bit samples could saturate.

    Parameters
    ----------
    scale : float
        Scale in units of the grid.

    Returns
    -------
    float
        The same number.

    Raises
    ------
    ChainError
        If it is not positive and finite, or above 2^57.
    """
    if not (math.isfinite(scale) and 0 < scale <= 2.0**LARGEST_SCALE_LOG2):
        raise ChainError(
            "mechanism.integer_scale", f"a positive scale of at most 2^{LARGEST_SCALE_LOG2}",
            f"{scale!r}", "Use a coarser grid: 64-bit samples would saturate silently.",
        )  # fmt: skip
    return scale


def _round(noise: FloatArray) -> IntArray:
    return np.rint(noise).astype(np.int64)
