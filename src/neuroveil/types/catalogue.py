"""The feature catalogue: eleven features a channel, their units and public scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scale = Literal["log10", "linear"]

STANDARD_CHANNELS: tuple[str, ...] = (
    "Fp1", "Fp2", "F3", "F4", "F7", "F8", "T7", "T8", "C3", "C4",
    "P7", "P8", "P3", "P4", "O1", "O2", "Fz", "Cz", "Pz",
)  # fmt: skip
"""The 19 scalp channels of the international 10-20 system, by their current names."""

SPECTRUM_RANGE_HZ: tuple[float, float] = (0.5, 70.0)
"""Range over which the spectral edge frequency is taken, and the band-pass, in Hz."""


@dataclass(frozen=True)
class FeatureSpec:
    """One feature of the catalogue.

    Parameters
    ----------
    name : str
        Name as it stands in column names.
    label : str
        Name for a reader.
    unit : str
        Physical unit.
    scale : {"log10", "linear"}
        Public transform before centring; part of the catalogue, never fitted.
    band_hz : tuple of float, optional
        Half-open frequency band [low, high) in Hz, for band powers.
    """

    name: str
    label: str
    unit: str
    scale: Scale
    band_hz: tuple[float, float] | None = None


FEATURES: tuple[FeatureSpec, ...] = (
    FeatureSpec("line_length", "line length", "µV/s", "log10"),
    FeatureSpec("root_mean_square", "root mean square", "µV", "log10"),
    FeatureSpec("variance", "variance", "µV²", "log10"),
    FeatureSpec("zero_crossing_rate", "zero-crossing rate", "Hz", "linear"),
    FeatureSpec("delta_power", "delta power (0.5-4 Hz)", "µV²", "log10", (0.5, 4.0)),
    FeatureSpec("theta_power", "theta power (4-8 Hz)", "µV²", "log10", (4.0, 8.0)),
    FeatureSpec("alpha_power", "alpha power (8-13 Hz)", "µV²", "log10", (8.0, 13.0)),
    FeatureSpec("beta_power", "beta power (13-30 Hz)", "µV²", "log10", (13.0, 30.0)),
    FeatureSpec("gamma_power", "gamma power (30-45 Hz)", "µV²", "log10", (30.0, 45.0)),
    FeatureSpec("high_gamma_power", "high-gamma power (45-70 Hz)", "µV²", "log10", (45.0, 70.0)),
    FeatureSpec("spectral_edge_frequency_95", "spectral edge frequency, 95 %", "Hz", "linear"),
)
"""All features in the order in which they stand within a channel."""

FEATURE_NAMES: tuple[str, ...] = tuple(spec.name for spec in FEATURES)

_BY_NAME = {spec.name: spec for spec in FEATURES}


def feature_spec(name: str) -> FeatureSpec:
    """Look a feature up by its name.

    Parameters
    ----------
    name : str
        One of :data:`FEATURE_NAMES`.

    Returns
    -------
    FeatureSpec
        The catalogue's entry.

    Raises
    ------
    KeyError
        If the catalogue has no such feature.
    """
    return _BY_NAME[name]


@dataclass(frozen=True)
class Column:
    """One column of a feature table: a feature on a channel.

    Parameters
    ----------
    channel : str
        Canonical channel name, for example ``"Fp1"`` or ``"F7-T7"``.
    feature : str
        One of :data:`FEATURE_NAMES`.
    """

    channel: str
    feature: str

    @property
    def name(self) -> str:
        """Column name, ``CHANNEL__feature``."""
        return f"{self.channel}__{self.feature}"

    @property
    def unit(self) -> str:
        """Physical unit of the unscaled value."""
        return feature_spec(self.feature).unit

    @property
    def scale(self) -> Scale:
        """Public transform before centring."""
        return feature_spec(self.feature).scale


def columns_for(channels: tuple[str, ...], features: tuple[str, ...]) -> tuple[Column, ...]:
    """List the columns of a study, channel by channel.

    Parameters
    ----------
    channels : tuple of str
        Canonical channel names in the study's order.
    features : tuple of str
        Feature names in the study's order.

    Returns
    -------
    tuple of Column
        ``len(channels) * len(features)`` columns; the feature index runs fastest.
    """
    return tuple(Column(channel, feature) for channel in channels for feature in features)


def column_from_name(name: str) -> Column | None:
    """Read a column name back.

    Parameters
    ----------
    name : str
        For example ``"Fp1__alpha_power"``.

    Returns
    -------
    Column or None
        None where the name is not of this form.
    """
    channel, separator, feature = name.rpartition("__")
    return Column(channel, feature) if separator and channel and feature in _BY_NAME else None
