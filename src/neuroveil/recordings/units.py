"""How a file spells its unit, and what that is in microvolts.

A wrong unit makes every value a thousand or a million times too large or too small, so a
spelling that is not known is refused rather than guessed.
"""

from __future__ import annotations

_TO_MICROVOLTS: dict[str, float] = {"n": 1e-3, "u": 1.0, "m": 1e3, "": 1e6}

_MICRO_TEXT = ("µ", "μ", "micro", "mikro")
"""Micro sign U+00B5, Greek mu U+03BC, and the word."""

_MICRO_BYTES: tuple[bytes, ...] = (
    b"\xc3\x82\xc2\xb5",  # micro sign, UTF-8 encoded twice
    b"\xc3\x8e\xc2\xbc",  # Greek mu, UTF-8 encoded twice
    b"\xc2\xb5",  # micro sign, UTF-8
    b"\xce\xbc",  # Greek mu, UTF-8
    b"\x83\xca",  # Greek mu, Shift-JIS
    b"\xa6\xcc",  # Greek mu, GBK and EUC-JP
    b"\xb5",  # micro sign, Latin-1 and Windows-1252
    b"\xe6",  # micro sign, code pages 437 and 850
    b"\xec",  # Greek mu, ISO 8859-7
)
"""Longest first: the Latin-1 byte also ends the UTF-8 pair."""

_MICRO_MOJIBAKE = ("Âµ", "Î¼", "ƒÊ", "¦Ì", "Âμ", "Îœ")
"""The same bytes after they were decoded as Latin-1 or Windows-1252."""

_VOLT_WORDS = ("volts", "volt", "v")
_PREFIX_WORDS = {"nano": "n", "milli": "m", "mc": "u"}


def unit_factor(unit: str | bytes) -> float | None:
    r"""Translate a unit as a file spells it into a factor.

    Parameters
    ----------
    unit : str or bytes
        For example ``b"\xc2\xb5V"``, ``"uVolt"`` or ``"mV"``; blanks and NUL bytes around it
        do not matter. ``"mV"`` and ``"MV"`` differ: megavolts are not accepted.

    Returns
    -------
    float or None
        Microvolts per unit: multiply values by it. None where the spelling is unknown or
        blank.
    """
    text = _decoded(unit).replace("\x00", " ").strip(" \t\r\n[]().")
    if text.startswith("M") and not text.lower().startswith(("micro", "mikro", "milli")):
        return None
    text = text.lower()
    for micro in _MICRO_TEXT:
        text = text.replace(micro, "u")
    for word, letter in _PREFIX_WORDS.items():
        if text.startswith(word):
            text = letter + text.removeprefix(word)
    for volt in _VOLT_WORDS:
        if text.endswith(volt):
            return _TO_MICROVOLTS.get(text.removesuffix(volt).strip(" -"))
    return None


def _decoded(unit: str | bytes) -> str:
    """Turn the unit into text whose micro sign is the letter ``u``, whatever the encoding."""
    if isinstance(unit, bytes):
        for micro in _MICRO_BYTES:
            unit = unit.replace(micro, b"u")
        return unit.decode("ascii", errors="replace")
    for micro_text in _MICRO_MOJIBAKE:
        unit = unit.replace(micro_text, "u")
    return unit
