"""Spellings of units: known ones become a factor, all others are refused."""

from __future__ import annotations

import pytest

from neuroveil.recordings.units import unit_factor

MICRO = [
    "uV", "uv", "UV", "µV", "μV", "uVolt", "uVolts", "microvolt", "MicroVolts", "microV",
    "ÂµV", "Î¼V", "ƒÊV", b"uV      ", b"\xb5V      ", b"\xc2\xb5V", b"\xce\xbcV", b"\x83\xcaV",
    b"\xa6\xccV", b"\xe6V", b"\xec" b"V", b"\xc3\x82\xc2\xb5V", b"uV\x00\x00", "[uV]", "(µV)",
    " u V".replace(" V", "V"), "µVolt", "mcV",
]  # fmt: skip


@pytest.mark.parametrize("spelling", MICRO)
def test_microvolts_in_every_encoding(spelling):
    assert unit_factor(spelling) == 1.0


@pytest.mark.parametrize(
    ("spelling", "factor"),
    [("nV", 1e-3), ("mV", 1e3), ("mVolt", 1e3), ("Millivolts", 1e3), (b"mV", 1e3), ("V", 1e6),
     ("v", 1e6), ("Volt", 1e6), ("volts", 1e6), ("nanovolt", 1e-3)],
)  # fmt: skip
def test_other_known_units(spelling, factor):
    assert unit_factor(spelling) == factor


@pytest.mark.parametrize(
    "spelling",
    ["", "   ", b"\x00\x00", "?V", b"?V", "�V", "MV", "MVolt", "kV", "pV", "uA", "degC", "%",
     "mmHg", "uV/Hz", "V2", "raw", "bits", "ohm", "mm", "dV", "1", "Boolean"],
)  # fmt: skip
def test_unknown_or_blank_units_are_not_guessed(spelling):
    assert unit_factor(spelling) is None
