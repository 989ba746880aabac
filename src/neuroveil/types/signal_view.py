"""A release as an EEG reader sees it: scalp maps, spectra, features, ranks. Internal."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from neuroveil.types.utility import Estimate


@dataclass(frozen=True)
class BandMap:
    """Power of one band over the scalp, averaged over patients.

    Parameters
    ----------
    feature, label : str
        Name of the band-power feature, and its name for a reader.
    before, after : tuple of float
        Mean of log10(power / µV²) over patients, one entry a channel: as recorded, and as one
        draw of what is shared says.
    error : tuple of float
        Root mean square error of log10(power) of a single patient, in decades, over all draws.
    """

    feature: str
    label: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    error: tuple[float, ...]


@dataclass(frozen=True)
class SpectrumBand:
    """One step of the mean spectrum, over all channels and patients.

    Parameters
    ----------
    low_hz, high_hz : float
        The band, in Hz.
    before_db, after_db : float
        Mean power density, in dB (µV²/Hz): as recorded, and in one draw of what is shared.
    before_spread_db, after_spread_db : float
        Standard deviation between patients, in dB, averaged over channels.
    """

    low_hz: float
    high_hz: float
    before_db: float
    after_db: float
    before_spread_db: float
    after_spread_db: float


@dataclass(frozen=True)
class FeatureChange:
    """How a feature is changed, over all of its channels.

    Parameters
    ----------
    feature, label : str
        Name, and name for a reader.
    unit : str
        Unit of bias and error: ``"decades"``, or that of the feature.
    bias, error : Estimate
        Mean change, and root mean square change, over cells.
    patient_spread : float
        Standard deviation between patients, in the same unit, averaged over channels: the
        yardstick.
    rank, rank_control : Estimate, optional
        Spearman correlation of the order of patients before and after, averaged over channels,
        and the same with patients exchanged; none where an order is not defined.
    """

    feature: str
    label: str
    unit: str
    bias: Estimate
    error: Estimate
    patient_spread: float
    rank: Estimate | None
    rank_control: Estimate | None


@dataclass(frozen=True)
class SignalView:
    """What sharing does to features as an EEG reader knows them. Internal.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    n_patients, n_draws : int
        Rows, and simulated draws. None of them is a released one.
    seed : int
        Seed of the simulated noise.
    channels : tuple of str
        Channels of the maps.
    maps : tuple of BandMap
        One entry a band.
    spectrum : tuple of SpectrumBand
        From low to high frequencies.
    features : tuple of FeatureChange
        In the order of the columns.
    """

    INTERNAL: ClassVar[bool] = True

    mechanism: str
    n_patients: int
    n_draws: int
    seed: int
    channels: tuple[str, ...]
    maps: tuple[BandMap, ...]
    spectrum: tuple[SpectrumBand, ...]
    features: tuple[FeatureChange, ...]

    def to_json(self) -> dict[str, Any]:
        """Give the view as plain data, marked internal.

        Returns
        -------
        dict
            The fields by name, and ``"internal": True``.
        """
        return {"internal": self.INTERNAL, **asdict(self)}
