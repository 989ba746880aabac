"""Verdicts: by theory, by a band for one further draw, by a range."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.evaluate.intervals import estimate
from neuroveil.evaluate.reproduction import verdicts
from neuroveil.types.reproduction import VERDICT_WORDS, Printed
from neuroveil.types.utility import Estimate


def number(text: str) -> Printed:
    return Printed("Table 0", "row", "quantity", text)


@pytest.mark.parametrize(
    ("text", "theory", "verdict"),
    [
        ("7.9752", 7.97524978, "follows_from_theory"),
        ("7.9752", 7.9752501, "does_not_follow"),  # rounds to 7.9753
        ("4.0", 76.21, "does_not_follow"),
        ("363", 363.0, "follows_from_theory"),
    ],
)
def test_theory_has_to_round_to_the_printed_digits(text: str, theory: float, verdict: str) -> None:
    assert verdicts.by_theory(number(text), theory).verdict == verdict


def test_the_band_holds_999_of_1000_further_draws() -> None:
    """Fixed seed. 4,000 trials of 25 draws and one more; the share has a deviation of 0.0005."""
    generator = np.random.default_rng(4)
    outside, n_trials = 0, 4000
    for _ in range(n_trials):
        *ours, further = generator.normal(3.0, 0.5, 26)
        found = estimate(np.array(ours))
        assert found is not None
        comparison = verdicts.by_draws(number(f"{further:.6f}"), found, 25)
        outside += comparison.verdict == "outside_band"
    assert outside / n_trials == pytest.approx(0.001, abs=0.002)
    assert outside > 0


def test_a_number_of_another_setting_is_outside() -> None:
    ours = Estimate(14.9, 14.8, 15.0, 0.13)
    assert verdicts.by_draws(number("28.7048"), ours, 200).verdict == "outside_band"


def test_rounding_is_allowed_for() -> None:
    ours = Estimate(0.5, 0.4, 0.6, 0.1)
    assert verdicts.by_range(number("0.6"), ours, (0.3, 0.56), 40).verdict == "inside_band"
    assert verdicts.by_range(number("0.62"), ours, (0.3, 0.56), 40).verdict == "outside_band"


def test_few_draws_judge_no_classifier() -> None:
    ours = Estimate(0.5, 0.4, 0.6, 0.1)
    fewest = verdicts.FEWEST_FOR_A_RANGE
    assert verdicts.by_range(number("0.9"), ours, (0.3, 0.6), fewest - 1).verdict == "too_few_draws"
    assert verdicts.by_range(number("0.9"), ours, (0.3, 0.6), fewest).verdict == "outside_band"
    assert verdicts.by_range(number("0.9"), None, None, fewest).verdict == "too_few_draws"


def test_a_number_of_their_patients_is_not_judged() -> None:
    far = Estimate(0.1, 0.0, 0.2, 0.1)
    comparison = verdicts.needs_their_data(number("0.9"), far, 40)
    assert comparison.verdict == "needs_their_data"
    assert comparison.ours == 0.1


def test_every_verdict_has_words() -> None:
    assert len(set(VERDICT_WORDS.values())) == len(VERDICT_WORDS)
