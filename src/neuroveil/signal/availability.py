"""Which features a recording cannot give because its band ends too early.

A feature that would be measured over a band which the sampling rate or a hardware filter has
cut is missing, not wrong:

* a band power is missing where its band reaches above 0.9 times the Nyquist frequency (the
  last tenth is where anti-alias filters work), above a low-pass filter, or below a high-pass
  filter that was applied before the file was written;
* the spectral edge frequency is missing where 70 Hz lies above 0.9 times the Nyquist
  frequency. It stays behind a hardware low-pass, because the power beyond it is small and
  the file still shows where the spectrum ends;
* line length, root mean square, variance and zero-crossing rate have no stated band and stay.

Corner frequencies count as cutting a band from 0.05 Hz inside it on, so that a time constant
of 0.3 s, written as 0.53 Hz, does not cost the delta band.
"""

from __future__ import annotations

from neuroveil.types.catalogue import SPECTRUM_RANGE_HZ, feature_spec
from neuroveil.types.recording import QualityFinding, Recording

CORNER_TOLERANCE_HZ = 0.05
USABLE_NYQUIST_FRACTION = 0.9


def usable_edge_hz(sfreq: float) -> float:
    """Give the highest frequency that a sampling rate carries unharmed.

    Parameters
    ----------
    sfreq : float
        Sampling rate in Hz.

    Returns
    -------
    float
        0.9 times the Nyquist frequency, in Hz.
    """
    return USABLE_NYQUIST_FRACTION * sfreq / 2.0


def why_missing(feature: str, recording: Recording) -> str | None:
    """Say why a recording cannot give a feature.

    Parameters
    ----------
    feature : str
        Name from the catalogue.
    recording : Recording
        Its rate and hardware filters are looked at, never its samples.

    Returns
    -------
    str or None
        What cuts the band, or None where the feature can be measured.
    """
    usable = usable_edge_hz(recording.sfreq)
    if feature == "spectral_edge_frequency_95":
        return "the sampling rate" if usable < SPECTRUM_RANGE_HZ[1] else None
    band = feature_spec(feature).band_hz
    if band is None:
        return None
    low, high = band
    if usable < high:
        return "the sampling rate"
    lowpass, highpass = recording.lowpass_hz, recording.highpass_hz
    if lowpass is not None and lowpass < high - CORNER_TOLERANCE_HZ:
        return "a hardware low-pass filter"
    if highpass is not None and highpass > low + CORNER_TOLERANCE_HZ:
        return "a hardware high-pass filter"
    return None


def missing_features(
    features: tuple[str, ...], recording: Recording
) -> tuple[tuple[bool, ...], list[QualityFinding]]:
    """Find the features that a recording cannot give.

    Parameters
    ----------
    features : tuple of str
        Names from the catalogue.
    recording : Recording
        The recording.

    Returns
    -------
    missing : tuple of bool
        True where the feature is missing.
    findings : list of QualityFinding
        One for each missing feature, code ``"missing_feature"``.
    """
    reasons = [why_missing(feature, recording) for feature in features]
    findings = [
        QualityFinding("missing_feature", f"{feature} is missing: {reason} cuts its band.")
        for feature, reason in zip(features, reasons, strict=True)
        if reason is not None
    ]
    return tuple(reason is not None for reason in reasons), findings
