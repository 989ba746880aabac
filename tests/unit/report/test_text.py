"""Numbers as words."""

from __future__ import annotations

import math

import pytest

from neuroveil.report.text import factor, listing, number, one_in, percent, posterior


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (14.92252654, 6, "14.9225"), (1e-5, 6, "0.00001"), (2.5e-5, 6, "0.000025"),
        (2.1e-25, 6, "2.1 × 10^-25"), (20208.1, 4, "20,210"), (100.0, 2, "100"),
        (1e18, 6, "1 × 10^18"), (363, 6, "363"), (16407437246464, 6, "16,407,437,246,464"),
        (-43.06, 3, "-43.1"), (None, 6, "not stated"), (True, 6, "True"), ("x", 6, "x"),
        (1.0, 6, "1"),
    ],
)  # fmt: skip
def test_number(value, digits, words):
    assert number(value, digits) == words


@pytest.mark.parametrize(
    ("exponent", "words"),
    [(0.5, "1.65"), (1.0, "2.72"), (5.0, "148"), (10.0, "22,026"), (20.0, "485 million"),
     (25.0, "72 thousand million"), (30.0, "10.7 million million"),
     (1000.0, "10 to the power of 434")],
)  # fmt: skip
def test_factor(exponent, words):
    assert factor(exponent) == words


def test_posterior_multiplies_odds():
    for prior in (0.01, 0.5, 0.9):
        after = posterior(prior, 1.3)
        assert after / (1 - after) == pytest.approx(math.exp(1.3) * prior / (1 - prior))
    assert posterior(0.5, 2000.0) == 1.0


def test_percent_never_rounds_to_certainty():
    assert percent(posterior(0.5, 20.0)) == "more than 99.9 %"
    assert percent(0.993) == "99.3 %"
    assert percent(0.731) == "73 %"
    assert percent(0.027) == "2.7 %"
    assert percent(1.0) == "100 %"


@pytest.mark.parametrize(
    ("chance", "words"),
    [(1e-5, "1 in 100,000"), (0.003, "1 in 333"), (1.0, "1 in 1"),
     (1e-17, "1 in 10 to the power of 17")],
)  # fmt: skip
def test_one_in_never_understates(chance, words):
    assert one_in(chance) == words


def test_listing():
    assert [listing(words) for words in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a", "a and b", "a, b and c",
    ]  # fmt: skip
