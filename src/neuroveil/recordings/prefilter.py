"""Filters that were applied before a file was written, as EDF headers word them."""

from __future__ import annotations

import math
import re

_NUMBER = r"(\d+(?:[.,]\d*)?|[.,]\d+)"
_HIGH = re.compile(rf"\bH(?:igh)?[\s_\-]?P(?:ass)?\s*[:=]?\s*{_NUMBER}\s*(k|m)?(hz|s\b)?", re.I)
_LOW = re.compile(rf"\bL(?:ow)?[\s_\-]?P(?:ass)?\s*[:=]?\s*{_NUMBER}\s*(k|m)?(hz)?", re.I)
_TIME_CONSTANT = re.compile(rf"\bTC\s*[:=]?\s*{_NUMBER}\s*(m)?s?", re.I)
_SCALE = {"k": 1e3, "m": 1e-3}


def parse_prefiltering(text: str) -> tuple[float | None, float | None]:
    """Read high-pass and low-pass frequencies from a prefiltering field.

    Follows section 2.2.4 of the EDF+ specification (``HP:0.1Hz LP:75Hz N:50Hz``) and the
    spellings in use, including ``HP: DC; LP: 410`` of BioSemi and time constants in seconds.

    Parameters
    ----------
    text : str
        The field.

    Returns
    -------
    highpass_hz, lowpass_hz : float or None
        In Hz; None where the field states none.
    """
    high, low, constant = _HIGH.search(text), _LOW.search(text), _TIME_CONSTANT.search(text)
    highpass = _scaled(high) if high else None
    if high and high.group(3) and high.group(3).lower() == "s":
        highpass = _corner(highpass)
    if highpass is None and constant:
        highpass = _corner(_scaled(constant))
    return highpass, (_scaled(low) if low else None)


def _scaled(match: re.Match[str]) -> float | None:
    """Value of a match in its base unit; None for zero, which stands for no filter."""
    value = float(match.group(1).replace(",", "."))
    value *= _SCALE.get((match.group(2) or "").lower(), 1.0)
    return value if value > 0 and math.isfinite(value) else None


def _corner(seconds: float | None) -> float | None:
    """Corner frequency in Hz of a first-order filter with a time constant in seconds."""
    return None if seconds is None else 1.0 / (2.0 * math.pi * seconds)
