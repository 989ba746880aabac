"""What a release of quantiles draws, and what it publishes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.errors import ChainError
from neuroveil.privacy.central.quantile_spec import MEDIAN, QUARTILES, QuantileSpec
from neuroveil.privacy.randomness import SamplerFacts
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class QuantileDraws:
    """Randomness for a release of quantiles, drawn without looking at the table.

    Parameters
    ----------
    uniforms : tuple of tuple of int
        A whole number below 2^384 for each column and quantile. Secret.
    sampler : SamplerFacts
        Who drew.
    """

    uniforms: tuple[tuple[int, ...], ...]
    sampler: SamplerFacts


@dataclass(frozen=True, eq=False)
class NoisyQuantiles:
    """What a release of quantiles publishes.

    Parameters
    ----------
    values : ndarray of float64, shape (dimension, n_probabilities)
        Quantiles of each column in increasing order, on the scaled axis (no unit).
    deviations : ndarray of float64, shape (dimension,), optional
        Median absolute deviation of each column from its released median (no unit).
    spec : QuantileSpec
        Public specification.
    """

    values: FloatArray
    deviations: FloatArray | None
    spec: QuantileSpec

    def centre_and_spread(self) -> tuple[FloatArray, FloatArray]:
        """Give a centre and a spread of every column, for scaling.

        Returns
        -------
        centre, spread : ndarray of float64, shape (dimension,)
            Median and interquartile range, on the scaled axis (no unit). The range is twice the
            absolute deviation where that was released, which is the same for symmetric columns;
            it is at least the distance of two candidates in the middle of the grid.

        Raises
        ------
        ChainError
            If the release holds neither absolute deviations nor the three quartiles.
        """
        wanted, spread = self.spec.probabilities, None
        if self.deviations is not None:
            spread = 2 * self.deviations
        elif wanted == QUARTILES:
            spread = self.values[:, 2] - self.values[:, 0]
        if spread is None:
            raise ChainError(
                "quantiles.probabilities", "absolute deviations, or the three quartiles",
                f"{wanted}", "Release the median with its absolute deviation.",
            )  # fmt: skip
        narrowest = 2 * float(self.spec.distances[0])
        return self.values[:, wanted.index(MEDIAN)].copy(), np.maximum(spread, narrowest)
