"""The prefiltering field as recorders word it (EDF+ specification, 2.2.4)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.recordings.prefilter import parse_prefiltering


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("HP:0.1Hz LP:75Hz N:50Hz", (0.1, 75.0)),
        ("HP:0.500000Hz LP:45.000000Hz RF:50Hz", (0.5, 45.0)),
        ("HP: DC; LP: 410 Hz", (None, 410.0)),
        ("HP:0,3Hz LP:70Hz", (0.3, 70.0)),
        ("HP 0.5 Hz  LP 0.1 kHz", (0.5, 100.0)),
        ("HP:0Hz LP:0Hz", (None, None)),
        ("HighPass 1.6 LowPass 70", (1.6, 70.0)),
        ("TC:0.3s LP:70Hz", (1 / (2 * math.pi * 0.3), 70.0)),
        ("HP:0.3s LP:70Hz", (1 / (2 * math.pi * 0.3), 70.0)),
        ("", (None, None)),
        ("None", (None, None)),
        ("BP: 1-30Hz", (None, None)),
    ],
)
def test_known_wordings(field, expected):
    assert parse_prefiltering(field) == pytest.approx(expected)


@given(st.text(max_size=80))
def test_any_text_gives_positive_numbers_or_none(text):
    for value in parse_prefiltering(text):
        assert value is None or (value > 0 and math.isfinite(value))
