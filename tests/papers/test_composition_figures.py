"""Composition of many equal Gaussian releases (section 5 of the mathematics).

3,000 releases at epsilon = 1 in total and delta = 1/n^2: how much noise basic composition needs
compared with privacy loss distributions, and how much Rényi accounting over-reports.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from neuroveil.privacy.accounting import Event, epsilon_by_pld, epsilon_by_rdp
from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.privacy.composition import composed_epsilon
from neuroveil.types.budget import AccountingEvent

N_RELEASES = 3000


def best_noise(n: int) -> float:
    """Noise multiplier of one of the releases, such that all together have epsilon = 1."""
    return math.sqrt(N_RELEASES) * gaussian_sigma(1.0, 1.0, 1 / n**2)


def basic_noise(n: int) -> float:
    """Noise multiplier where each release gets a 3000th of epsilon and of delta."""
    return gaussian_sigma(1.0, 1.0 / N_RELEASES, 1 / n**2 / N_RELEASES)


@pytest.mark.parametrize("n", [50, 200, 2000, 10_000])
def test_basic_composition_needs_52_to_54_times_the_noise(n: int) -> None:
    assert 52.0 < basic_noise(n) / best_noise(n) < 54.0


def test_at_n_17_it_is_51_times() -> None:
    """Just below the stated range, which holds from n = 50 on."""
    assert round(basic_noise(17) / best_noise(17), 1) == 51.1


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 2000, 10_000])
def test_privacy_loss_distributions_confirm_it_release_by_release(n: int) -> None:
    epsilon = epsilon_by_pld([Event("gaussian", best_noise(n), N_RELEASES)], 1 / n**2)
    assert epsilon == pytest.approx(1.0, rel=1e-6)
    assert epsilon >= 1.0 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("n", "per_cent"), [(50, 13), (200, 10), (2000, 7), (100_000, 5)])
def test_renyi_accounting_reports_4_to_13_per_cent_too_much(n: int, per_cent: int) -> None:
    events = [Event("gaussian", best_noise(n), N_RELEASES)]
    excess = epsilon_by_rdp(events, 1 / n**2) - 1.0
    assert round(100 * excess) == per_cent
    assert 0.04 <= excess <= 0.135


def test_the_ledgers_rule_keeps_nearly_all_of_the_gain() -> None:
    """It reads epsilon at delta / 2, so that it holds for adaptively chosen releases."""
    n, delta = 200, Fraction(1, 200**2)
    noise = math.sqrt(N_RELEASES) * gaussian_sigma(1.0, 1.0, float(delta) / 2)
    assert 50.0 < basic_noise(n) / noise < 51.0
    each = AccountingEvent(
        "gaussian", Fraction(1, N_RELEASES), delta / N_RELEASES,
        noise_multiplier=noise, integer_scale=2.0**45, dimension=1,
    )  # fmt: skip
    epsilon = composed_epsilon([each] * N_RELEASES, delta)
    assert epsilon == pytest.approx(Fraction(1), rel=1e-6)
