"""Exact noise from the operating system. The only module that knows of OpenDP."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.randomness import SamplerFacts, Shape, check_scale

_BLOCK = 1 << 14
"""Samples a call; blocks keep memory flat and let threads share a large table."""


class SystemRandomness:
    """Exact draws from the operating system's cryptographic generator.

    The samplers are OpenDP's (Canonne, Kamath and Steinke 2020) on 64-bit integers. They
    release Python's global lock, so a large table is drawn by as many threads as there are
    processors.
    """

    @property
    def facts(self) -> SamplerFacts:
        """What a certificate says about noise from this source."""
        return SamplerFacts("opendp", version("opendp"), True, "operating_system", False)

    @property
    def uniform_facts(self) -> SamplerFacts:
        """What a certificate says about uniform choices: Python's ``secrets`` makes them."""
        return SamplerFacts("python", python_version(), True, "operating_system", False)

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
        return _draw(_gaussian_sampler(check_scale(scale)), shape)

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

        Raises
        ------
        ChainError
            If the scale is not positive, or above 2^57, where samples could saturate.
        """
        return _draw(_laplace_sampler(check_scale(scale)), shape)

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
