"""What a release of moments draws, and what it publishes."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.privacy.bounds import IntArray
from neuroveil.privacy.central.calibration import MomentCalibration
from neuroveil.privacy.randomness import SamplerFacts
from neuroveil.types.recording import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class MomentDraws:
    """Randomness for a release of moments, drawn without looking at the table.

    Parameters
    ----------
    total : ndarray of int64, shape (dimension,)
        Noise of the sum of rows, in units of the grid. Secret.
    products : ndarray of int64, shape (dimension, dimension)
        Noise of the sum of products, symmetric, in units of the squared grid. Secret.
    sampler : SamplerFacts
        Who drew.
    """

    total: IntArray
    products: IntArray
    sampler: SamplerFacts


@dataclass(frozen=True, eq=False)
class NoisySums:
    """What a release of moments publishes, in whole numbers.

    Parameters
    ----------
    total : ndarray of int64, shape (dimension,), optional
        Sum of rows with noise, in units of the grid; nothing where it was left out.
    products : ndarray of int64, shape (dimension, dimension)
        Sum of x x^T with noise, symmetric, in units of the squared grid.
    """

    total: IntArray | None
    products: IntArray


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Noisy means made of a release of sums; anything made of them is post-processing.

    Parameters
    ----------
    mean : ndarray of float64, shape (dimension,), optional
        Mean row with noise, on the scaled axis (no unit); nothing where it was left out.
    second_moment : ndarray of float64, shape (dimension, dimension)
        Mean of x x^T with noise, symmetric (no unit).
    calibration : MomentCalibration
        Public noise scales.
    """

    mean: FloatArray | None
    second_moment: FloatArray
    calibration: MomentCalibration
