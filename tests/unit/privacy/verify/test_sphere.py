"""Moments of close codewords, against scipy, against 30-digit arithmetic, and by counting."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

from neuroveil.privacy.verify.sphere import ACCURACY, close_moments


def by_scipy(size: int, top: int, sphere: int) -> tuple[float, float]:
    """Integrals over the angle of the first codeword that is not close, with scipy's functions."""
    law, half = stats.beta(top, size - top), (sphere - 1) / 2
    norm = special.beta(half, 0.5)

    def within(angle: float) -> float:
        part = special.betainc(half, 0.5, np.sin(angle) ** 2) / 2
        return float(part if angle <= np.pi / 2 else 1 - part)

    def integral(power: int) -> float:
        def term(angle: float) -> float:
            rim = np.sin(angle) ** (sphere - 1) / norm
            worth = rim / (sphere - 1)
            if power == 2:
                worth = within(angle) / sphere + rim * np.cos(angle) / sphere
            return float(
                law.pdf(within(angle)) * np.sin(angle) ** (sphere - 2) / norm * worth
            )  # fmt: skip

        middle = float(np.arcsin(np.sqrt(special.betaincinv(half, 0.5, min(2 * top / size, 1)))))
        points = [0, *(middle * f for f in (0.9, 0.97, 1, 1.03, 1.1)), np.pi]
        parts = [
            integrate.quad(term, a, b, epsabs=1e-14, epsrel=1e-11, limit=200)[0]
            for a, b in pairwise(points)
        ]
        return size / top * sum(parts)

    return integral(1), integral(2)


@pytest.mark.parametrize(
    ("size", "top", "sphere"), [(4096, 41, 364), (4096, 2048, 364), (100, 7, 12), (4096, 3, 3)]
)
def test_moments_agree_with_scipy(size: int, top: int, sphere: int) -> None:
    found = close_moments(size, top, sphere)
    first, second = by_scipy(size, top, sphere)
    assert found.first == pytest.approx(first, rel=1e-8)
    assert found.second == pytest.approx(second, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "top"), [(2**30, 1), (2**24, 4)])
def test_a_codebook_of_a_billion_words(size: int, top: int) -> None:
    """Against mpmath with 30 digits; in doubles 1 - U would lose seven of them."""
    mpmath.mp.dps, d = 30, 364
    norm = mpmath.beta(mpmath.mpf(d - 1) / 2, mpmath.mpf(1) / 2)

    def within(t: mpmath.mpf) -> mpmath.mpf:
        z = mpmath.sin(t) ** 2
        return mpmath.betainc(mpmath.mpf(d - 1) / 2, 0.5, 0, z, regularized=True) / 2

    def weight(t: mpmath.mpf) -> mpmath.mpf:
        u = within(t)
        return (u * size) ** (top - 1) * (1 - u) ** (size - top - 1) * mpmath.sin(t) ** (d - 2)

    points = mpmath.linspace(0.8, 1.4, 40)
    mass = mpmath.quad(weight, points)
    rim = mpmath.quad(lambda t: weight(t) * mpmath.sin(t) ** (d - 1) / ((d - 1) * norm), points)
    exact = mpmath.mpf(size) / top * rim / mass
    assert abs(close_moments(size, top, d).first / exact - 1) < ACCURACY


def test_moments_by_counting() -> None:
    """Uniform points are drawn and sorted; the means lie within five standard errors."""
    rng, size, top, sphere, draws = np.random.default_rng(3), 60, 6, 9, 20_000
    points = rng.normal(size=(draws, size, sphere))
    t = points[..., 0] / np.linalg.norm(points, axis=2)
    close = np.sort(t, axis=1)[:, -top:]
    found = close_moments(size, top, sphere)
    for power, right in ((1, found.first), (2, found.second)):
        means = (close**power).mean(axis=1)
        assert abs(means.mean() - right) < 5 * means.std() / np.sqrt(draws)


def test_all_codewords_together_average_to_zero() -> None:
    """Half of two codewords is close: the other one is as far below."""
    half = close_moments(2, 1, 5)
    assert half.second == pytest.approx(1 / 5, rel=ACCURACY)
