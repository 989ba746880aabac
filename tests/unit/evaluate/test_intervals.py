"""Intervals over draws."""

from __future__ import annotations

import numpy as np
import pytest

from neuroveil.evaluate.intervals import estimate


def test_interval_is_mean_plus_minus_t_times_standard_error():
    result = estimate(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert result.mean == 3.0
    assert result.one_draw == pytest.approx(np.sqrt(2.5))
    # 2.7764451 is the 97.5 % point of Student's t with 4 degrees of freedom.
    assert result.high - result.mean == pytest.approx(2.7764451 * np.sqrt(2.5 / 5), rel=1e-7)
    assert result.mean - result.low == pytest.approx(result.high - result.mean)


def test_a_figure_undefined_in_one_draw_is_undefined():
    assert estimate(np.array([1.0, np.nan, 2.0])) is None


@pytest.mark.slow
def test_interval_covers_the_true_mean_in_95_percent_of_runs():
    """Fixed seed; 2000 runs, so that 0.95 lies 4 standard errors (0.0049) off each border."""
    generator = np.random.default_rng(20)
    covered = 0
    for _ in range(2000):
        result = estimate(generator.normal(1.0, 2.0, size=20))
        covered += result.low <= 1.0 <= result.high
    assert 0.93 < covered / 2000 < 0.97
