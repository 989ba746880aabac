"""Public constants for columns that a reference does not cover.

Three cases, none of which looks at private data:

1. *A channel outside, a feature inside.* The centre is the mean over the reference's
   channels. The spread is widened by what channels differ among themselves: the law of
   total variance, spread² = mean of spreads² + variance of centres.
2. *High gamma where only gamma is known*, as in public data that were filtered at 45 Hz.
   Gamma is extrapolated along a power-law spectrum, density proportional to 1 / f^beta.
   Its exponent is taken to be 1.5 on average and, at these frequencies, to lie between 0
   (muscle) and 3. Ranges are read as plus and minus two standard deviations.
3. *Any other feature outside.* Constants of a general model of scalp EEG: a root mean
   square of 10 µV between 0.5 and 70 Hz, for most people within a factor of two, and a
   power law with an exponent of 1.5, for most people between 0.75 and 2.25. Rates and
   lengths follow from the spectral moments (Rice 1944).

These are assumptions, not measurements: a column with a fallback is scaled roughly, and loses
more to clipping or to noise than others. They are public and fixed, so privacy is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from neuroveil.types.catalogue import SPECTRUM_RANGE_HZ, Column, feature_spec
from neuroveil.types.recording import FloatArray

EXPONENT = 1.5
"""Exponent of the power law: density proportional to 1 / frequency^exponent."""

BROAD_RANGE, GAMMA_RANGE = (0.75, 2.25), (0.0, 3.0)
"""Range of the exponent in most people, over the whole spectrum and from 30 Hz on."""

RMS_UV, RMS_FACTOR = 10.0, 2.0
"""Root mean square of scalp EEG in µV, and the factor within which most people lie."""

Constants = tuple[float, float]


class Covered(Protocol):
    """The part of a reference that fallbacks are made from."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Channels that are covered."""
        ...

    @property
    def features(self) -> tuple[str, ...]:
        """Features that are covered."""
        ...

    @property
    def centre(self) -> FloatArray:
        """Centres, shape (n_channels, n_features)."""
        ...

    @property
    def spread(self) -> FloatArray:
        """Spreads, shape (n_channels, n_features)."""
        ...


def column_constants(reference: Covered, column: Column) -> Constants:
    """Give centre and spread of one column, from the reference or from a fallback.

    Parameters
    ----------
    reference : Covered
        What is known.
    column : Column
        A feature of the catalogue on any channel.

    Returns
    -------
    centre, spread : float
        On the feature's public scale.
    """
    if column.feature in reference.features:
        return _of_channel(reference, column.channel, column.feature)
    if column.feature == "high_gamma_power" and "gamma_power" in reference.features:
        centre, spread = _of_channel(reference, column.channel, "gamma_power")
        shift, uncertainty = _along_the_power_law(_high_gamma_over_gamma, GAMMA_RANGE)
        return centre + shift, math.hypot(spread, uncertainty)
    return general_constants(column.feature)


def general_constants(feature: str) -> Constants:
    """Give the constants of the general model of scalp EEG.

    Parameters
    ----------
    feature : str
        A feature of the catalogue.

    Returns
    -------
    centre, spread : float
        On the feature's public scale.
    """
    centre, by_shape = _along_the_power_law(
        lambda exponent: _model_value(feature, exponent), BROAD_RANGE
    )
    by_size = _powers_of_amplitude(feature) * math.log10(RMS_FACTOR) / 2
    return centre, math.hypot(by_shape, by_size)


def _of_channel(reference: Covered, channel: str, feature: str) -> Constants:
    column = reference.features.index(feature)
    if channel in reference.channels:
        row = reference.channels.index(channel)
        return float(reference.centre[row, column]), float(reference.spread[row, column])
    centres, spreads = reference.centre[:, column], reference.spread[:, column]
    return float(centres.mean()), math.sqrt(float((spreads**2).mean() + centres.var()))


def _along_the_power_law(
    value: Callable[[float], float], exponents: tuple[float, float]
) -> Constants:
    """Value at the usual exponent, and a quarter of its range as a standard deviation."""
    low, high = (value(exponent) for exponent in exponents)
    return value(EXPONENT), abs(high - low) / 4


def _high_gamma_over_gamma(exponent: float) -> float:
    high, gamma = (feature_spec(name).band_hz for name in ("high_gamma_power", "gamma_power"))
    assert high is not None
    assert gamma is not None
    return math.log10(_moment(high, exponent, 0) / _moment(gamma, exponent, 0))


def _model_value(feature: str, exponent: float) -> float:
    """Value of a feature on its public scale for a power-law spectrum of the usual size."""
    total = _moment(SPECTRUM_RANGE_HZ, exponent, 0)
    band = feature_spec(feature).band_hz
    if band is not None:
        return math.log10(RMS_UV**2 * _moment(band, exponent, 0) / total)
    # Root mean square frequency: a Gaussian process crosses zero at twice this rate, and
    # its slope has a mean size of sqrt(2/pi)·2·pi·this·rms.
    mean_square_frequency = _moment(SPECTRUM_RANGE_HZ, exponent, 2) / total
    frequency = math.sqrt(mean_square_frequency)
    values: dict[str, float] = {
        "root_mean_square": math.log10(RMS_UV),
        "variance": math.log10(RMS_UV**2),
        "zero_crossing_rate": 2 * frequency,
        "line_length": math.log10(math.sqrt(8 * math.pi) * frequency * RMS_UV),
        "spectral_edge_frequency_95": _edge(exponent, 0.95),
    }
    return values[feature]


def _powers_of_amplitude(feature: str) -> float:
    """How often the logarithm of the amplitude counts in a feature's value."""
    if feature_spec(feature).scale == "linear":
        return 0.0
    return 1.0 if feature in ("root_mean_square", "line_length") else 2.0


def _moment(band: tuple[float, float], exponent: float, order: int) -> float:
    """Integral of f^order / f^exponent over a band."""
    low, high = band
    power = order - exponent + 1
    if power == 0:
        return math.log(high / low)
    return float((high**power - low**power) / power)


def _edge(exponent: float, share: float) -> float:
    """Frequency in Hz below which a share of the power lies."""
    low, high = SPECTRUM_RANGE_HZ
    power = 1 - exponent
    if power == 0:
        return float(low * (high / low) ** share)
    return float((low**power + share * (high**power - low**power)) ** (1 / power))
