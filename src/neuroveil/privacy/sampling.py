"""Where randomness comes from. The only module that knows of OpenDP.

Released noise is drawn by :class:`SystemRandomness`: exact discrete distributions on
integers, fed by the operating system's generator, without a seed. Evaluation draws by
:class:`SimulationRandomness`, which is fast, repeatable and protects nobody.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import LARGEST_SCALE_LOG2, IntArray
from neuroveil.types.recording import FloatArray

_BLOCK = 1 << 14
"""Samples a call; blocks keep memory flat and let threads share a large table."""

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
        """What a certificate says about this source."""
        ...

    def discrete_gaussian(self, scale: float, shape: Shape) -> IntArray:
        """Draw P(k) proportional to exp(-k^2 / (2 scale^2)); scale in grid units."""
        ...

    def discrete_laplace(self, scale: float, shape: Shape) -> IntArray:
        """Draw P(k) proportional to exp(-|k| / scale); scale in grid units."""
        ...

    def below(self, limit: int) -> int:
        """Draw a uniform whole number from 0 up to but not including ``limit``."""
        ...


class SystemRandomness:
    """Exact draws from the operating system's cryptographic generator.

    The samplers are OpenDP's (Canonne, Kamath and Steinke 2020) on 64-bit integers. They
    release Python's global lock, so a large table is drawn by as many threads as there are
    processors.
    """

    @property
    def facts(self) -> SamplerFacts:
        """What a certificate says about this source."""
        return SamplerFacts("opendp", version("opendp"), True, "operating_system", False)

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

        Raises
        ------
        ChainError
            If the scale is not positive, or above 2^57, where samples could saturate.
        """
        return _draw(_gaussian_sampler(_check_scale(scale)), shape)

    def discrete_laplace(self, scale: float, shape: Shape) -> IntArray:
        """Draw P(k) proportional to exp(-|k| / scale) on the integers.

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
            If the scale is not positive, or above 2^57, where samples could saturate.
        """
        return _draw(_laplace_sampler(_check_scale(scale)), shape)

    def below(self, limit: int) -> int:
        """Draw a uniform whole number, by rejection, so that it is exactly uniform.

        Parameters
        ----------
        limit : int
            Positive.

        Returns
        -------
        int
            From 0 up to but not including ``limit``.
        """
        return secrets.randbelow(limit)


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
        return _round(self._generator.normal(0.0, _check_scale(scale), shape))

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
        return _round(self._generator.laplace(0.0, _check_scale(scale), shape))

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


def _check_scale(scale: float) -> float:
    if not (math.isfinite(scale) and 0 < scale <= 2.0**LARGEST_SCALE_LOG2):
        raise ChainError(
            "mechanism.integer_scale", f"a positive scale of at most 2^{LARGEST_SCALE_LOG2}",
            f"{scale!r}", "Use a coarser grid: 64-bit samples would saturate silently.",
        )  # fmt: skip
    return scale


def _round(noise: FloatArray) -> IntArray:
    return np.rint(noise).astype(np.int64)


Sampler = Callable[[int], IntArray]


@lru_cache(maxsize=32)
def _gaussian_sampler(scale: float) -> Sampler:
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    domain = opendp.vector_domain(opendp.atom_domain(T="i64"))
    return _on_zeros(opendp.m.make_gaussian(domain, opendp.l2_distance(T="f64"), scale=scale))


@lru_cache(maxsize=32)
def _laplace_sampler(scale: float) -> Sampler:
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    domain = opendp.vector_domain(opendp.atom_domain(T="i64"))
    return _on_zeros(opendp.m.make_laplace(domain, opendp.l1_distance(T="i64"), scale=scale))


def _on_zeros(measurement: Any) -> Sampler:
    """Make a sampler of a measurement: what it gives for zeros is its noise."""

    def sample(count: int) -> IntArray:
        noise = np.asarray(measurement(np.zeros(count, dtype=np.int64)))
        if noise.dtype != np.int64 or noise.shape != (count,):
            raise ChainError(
                "sampler", f"{count} samples of int64", f"{noise.dtype} of shape {noise.shape}",
                "Install a version of OpenDP that neuroveil is tested with.",
            )  # fmt: skip
        return noise

    return sample


def _draw(sampler: Sampler, shape: Shape) -> IntArray:
    total = shape[0] * shape[1]
    counts = [min(_BLOCK, total - start) for start in range(0, total, _BLOCK)]
    if len(counts) <= 1:
        blocks = [sampler(count) for count in counts]
    else:
        with ThreadPoolExecutor(min(len(counts), os.cpu_count() or 1)) as pool:
            blocks = list(pool.map(sampler, counts))
    return np.concatenate([np.empty(0, dtype=np.int64), *blocks]).reshape(shape)
