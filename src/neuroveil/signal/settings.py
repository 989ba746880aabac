"""What a study chooses about signals, and the constants that it does not choose."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.types.catalogue import FEATURE_NAMES, SPECTRUM_RANGE_HZ

Preset = Literal["harmonised", "paper"]

HARMONISED_RATE_HZ = 256.0
"""Rate to which the harmonised preset resamples every recording, in Hz."""
HARMONISED_INPUT_RATES_HZ = (50.0, 50_000.0)
"""Rates that the harmonised preset accepts, in Hz; slower files lose the alpha band."""
PAPER_INPUT_RATES_HZ = (200.0, 512.0)
"""Rates that the paper preset accepts and keeps, in Hz."""
BANDPASS_HZ = SPECTRUM_RANGE_HZ
"""Pass band of the band-pass filter, in Hz."""
NOTCH_QUALITY = 30.0
"""Centre frequency over -3 dB width of the notch in one direction."""
SEGMENT_SAMPLES = 256
"""Length of a Welch segment and of its transform, in samples."""
SEGMENT_STEP = 128
"""Distance between the starts of Welch segments, in samples."""
EDGE_FRACTION = 0.95
"""Share of the power below the spectral edge frequency."""
OVERLAPS = (0.0, 0.5, 0.75)
"""Window overlaps for which a whole number of hops fills a window."""


@dataclass(frozen=True)
class RejectionSettings:
    """How windows and channels are left out because of artefacts.

    All limits are public settings, and every decision looks at one recording only.

    Parameters
    ----------
    enabled : bool
        False keeps everything except windows with samples that are no numbers.
    amplitude_uv : float
        A window is left out on a channel whose filtered peak-to-peak amplitude within it
        is larger, in microvolts.
    flat_uv : float
        A window is left out on a channel where one of its hops (half a window at 50 %
        overlap) has a smaller raw peak-to-peak amplitude (flat), or where the whole
        filtered window has (disconnected: mains or drift only), in microvolts.
    clipping_fraction : float
        A window is left out on a channel where in one of its hops at least this share of
        the samples, and their neighbours on both sides, sit at the channel's largest or
        smallest value of the recording.
    bad_channel_fraction : float
        A channel is bad, and enters neither features nor average reference, when more
        than this share of its windows is left out.
    bad_window_fraction : float
        A window is left out on all channels when it is left out on more than this share
        of the good channels.

    Raises
    ------
    StudyError
        If a limit is out of range; lists all of them.
    """

    enabled: bool = True
    amplitude_uv: float = 200.0
    flat_uv: float = 0.5
    clipping_fraction: float = 0.05
    bad_channel_fraction: float = 0.5
    bad_window_fraction: float = 0.5

    def __post_init__(self) -> None:
        mistakes: list[StudyMistake] = []
        _require_bool(mistakes, "signal.rejection.enabled", self.enabled)
        for name in ("amplitude_uv", "flat_uv"):
            _require_number(mistakes, f"signal.rejection.{name}", getattr(self, name), math.inf)
        for name in ("clipping_fraction", "bad_channel_fraction", "bad_window_fraction"):
            _require_number(mistakes, f"signal.rejection.{name}", getattr(self, name), 1.0)
        if not mistakes and self.flat_uv >= self.amplitude_uv:
            mistake = StudyMistake(
                "signal.rejection.flat_uv", "less than amplitude_uv",
                f"{self.flat_uv} against {self.amplitude_uv}",
                "With these limits no window could be kept; lower the flatness limit.",
            )  # fmt: skip
            mistakes.append(mistake)
        if mistakes:
            raise StudyError(mistakes)


@dataclass(frozen=True)
class SignalSettings:
    """How a recording becomes window features.

    Parameters
    ----------
    preset : {"harmonised", "paper"}
        ``"harmonised"`` resamples to 256 Hz first, so that hospitals with different
        sampling rates give comparable numbers; ``"paper"`` keeps the native rate.
    line_frequency_hz : float
        Mains frequency, 50 or 60 Hz.
    window_seconds : float
        Length of a feature window, in seconds.
    overlap : float
        Share of a window that the next one repeats: 0, 0.5 or 0.75.
    features : tuple of str
        Names from :data:`neuroveil.types.catalogue.FEATURE_NAMES`, in output order.
    average_reference : bool
        Whether referential recordings are re-referenced to the mean of the good channels.
    rejection : RejectionSettings
        Artefact rejection.
    eog_regression : bool
        Whether eye channels, where a recording has some, are regressed out.

    Raises
    ------
    StudyError
        If a setting is out of range; lists all mistakes.
    """

    preset: Preset = "harmonised"
    line_frequency_hz: float = 50.0
    window_seconds: float = 2.0
    overlap: float = 0.5
    features: tuple[str, ...] = FEATURE_NAMES
    average_reference: bool = True
    rejection: RejectionSettings = field(default_factory=RejectionSettings)
    eog_regression: bool = True

    def __post_init__(self) -> None:
        mistakes: list[StudyMistake] = []
        _require_choice(mistakes, "signal.preset", self.preset, ("harmonised", "paper"))
        _require_choice(mistakes, "signal.line_frequency_hz", self.line_frequency_hz, (50, 60))
        _require_choice(mistakes, "signal.overlap", self.overlap, OVERLAPS)
        _require_bool(mistakes, "signal.average_reference", self.average_reference)
        _require_bool(mistakes, "signal.eog_regression", self.eog_regression)
        _require_number(mistakes, "signal.window_seconds", self.window_seconds, 60.0)
        if not mistakes:
            _require_room_for_a_segment(mistakes, self.preset, self.window_seconds)
        _require_features(mistakes, self.features)
        if mistakes:
            raise StudyError(mistakes)

    @property
    def hops_per_window(self) -> int:
        """Number of hops that fill a window: 1, 2 or 4."""
        return round(1.0 / (1.0 - self.overlap))

    def public_params(self) -> dict[str, object]:
        """Give everything that defines the features, as plain data for a certificate.

        Returns
        -------
        dict
            JSON-able, the same for equal settings; frequencies in Hz, times in seconds,
            amplitudes in microvolts.
        """
        rejection = self.rejection
        return {
            "preset": self.preset,
            "sampling_rate_hz": HARMONISED_RATE_HZ if self.preset == "harmonised" else "native",
            "bandpass_hz": [float(edge) for edge in BANDPASS_HZ],
            "line_frequency_hz": float(self.line_frequency_hz),
            "notch_quality": NOTCH_QUALITY,
            "average_reference": self.average_reference,
            "eog_regression": self.eog_regression,
            "window_seconds": float(self.window_seconds),
            "overlap": float(self.overlap),
            "welch": {"window": "hann", "segment": SEGMENT_SAMPLES, "step": SEGMENT_STEP},
            "spectral_edge_fraction": EDGE_FRACTION,
            "features": list(self.features),
            "rejection": {
                "enabled": rejection.enabled,
                "amplitude_uv": float(rejection.amplitude_uv),
                "flat_uv": float(rejection.flat_uv),
                "clipping_fraction": float(rejection.clipping_fraction),
                "bad_channel_fraction": float(rejection.bad_channel_fraction),
                "bad_window_fraction": float(rejection.bad_window_fraction),
            },
        }


def _require_choice(
    mistakes: list[StudyMistake], where: str, value: object, choices: tuple[object, ...]
) -> None:
    if isinstance(value, bool) or value not in choices:
        allowed = " or ".join(str(choice) for choice in choices)
        mistakes.append(StudyMistake(where, allowed, repr(value), "Choose one of these."))


def _require_bool(mistakes: list[StudyMistake], where: str, value: object) -> None:
    if not isinstance(value, bool):
        mistakes.append(StudyMistake(where, "true or false", repr(value), "Write true or false."))


def _require_number(
    mistakes: list[StudyMistake], where: str, value: object, largest: float
) -> None:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and 0.0 < number <= largest):
        expected = "a number above 0" + (f", at most {largest:g}" if largest < math.inf else "")
        mistakes.append(StudyMistake(where, expected, repr(value), "Give a number in this range."))


def _require_room_for_a_segment(
    mistakes: list[StudyMistake], preset: Preset, window_seconds: float
) -> None:
    slowest = HARMONISED_RATE_HZ if preset == "harmonised" else PAPER_INPUT_RATES_HZ[0]
    if window_seconds * slowest < SEGMENT_SAMPLES:
        mistake = StudyMistake(
            "signal.window_seconds", f"at least {SEGMENT_SAMPLES / slowest:g} s",
            f"{window_seconds:g} s",
            f"A window must hold one spectral segment of {SEGMENT_SAMPLES} samples.",
        )  # fmt: skip
        mistakes.append(mistake)


def _require_features(mistakes: list[StudyMistake], features: tuple[str, ...]) -> None:
    unknown = [name for name in features if name not in FEATURE_NAMES]
    if unknown or not features or len(set(features)) != len(features):
        found = f"unknown names {unknown}" if unknown else f"{len(features)} names"
        mistake = StudyMistake(
            "signal.features", "names from the catalogue, each once, at least one",
            found, f"Choose from {', '.join(FEATURE_NAMES)}.",
        )  # fmt: skip
        mistakes.append(mistake)
