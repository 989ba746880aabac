"""Moments of caps and of the largest of N uniform points."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from neuroveil.privacy.codebook.caps import (
    best_cap,
    cap_integrals,
    cap_margin,
    row_mse,
    sphere_mse,
    top_moments,
)


def cap_by_mpmath(height: float, sphere_dimension: int, power: int) -> float:
    """E[T^power; T > height] by 30-digit quadrature of the density of T."""
    with mpmath.workdps(30):
        half = mpmath.mpf(sphere_dimension - 1) / 2
        density = 1 / mpmath.beta(half, mpmath.mpf(1) / 2)
        return float(
            mpmath.quad(
                lambda t: density * t**power * (1 - t * t) ** (half - 1),
                mpmath.linspace(height, 1, 9),
            )
        )


@pytest.mark.parametrize("sphere_dimension", [3, 10, 364])
@pytest.mark.parametrize("height", [-0.3, 0.0, 0.05, 0.2])
def test_integrals_over_a_cap_match_quadrature(sphere_dimension: int, height: float) -> None:
    first, second = cap_integrals(np.array((1 - height) / 2), sphere_dimension)
    assert float(first) == pytest.approx(cap_by_mpmath(height, sphere_dimension, 1), rel=1e-9)
    assert float(second) == pytest.approx(cap_by_mpmath(height, sphere_dimension, 2), rel=1e-9)


def test_margin_and_share_belong_together() -> None:
    share = np.array([1e-9, 0.01, 0.5])
    margin = cap_margin(share, 364)
    expected = [cap_by_mpmath(1 - 2 * float(each), 364, 0) for each in margin]
    np.testing.assert_allclose(share, expected, rtol=1e-8)


@pytest.mark.parametrize(("size", "top"), [(2, 1), (8, 1), (64, 5), (64, 32)])
def test_order_statistics_match_simulation(size: int, top: int) -> None:
    """400,000 simulated cells; the band is 5 standard errors (fixed seed)."""
    sphere_dimension, repeats = 6, 400_000 // size
    points = np.random.default_rng(5).standard_normal((repeats, size, sphere_dimension))
    inner = points[..., 0] / np.linalg.norm(points, axis=-1)
    largest = np.sort(inner, axis=1)[:, size - top :]
    for moment, power in zip(top_moments(size, top, sphere_dimension), (1, 2), strict=True):
        means = (largest**power).mean(axis=1)
        error = means.std() / np.sqrt(repeats)
        assert abs(moment - means.mean()) < 5 * error


def test_one_of_two_points_is_exact() -> None:
    """E[max of two] in R^3, where T is uniform on [-1, 1]: 1 / 3; E of its square: 1 / 3."""
    assert top_moments(2, 1, 3) == pytest.approx((1 / 3, 1 / 3), rel=1e-12)


def test_largest_of_many_in_three_dimensions_is_exact() -> None:
    """T is uniform on [-1, 1]: the K largest of N have mean 1 - (K + 1) / (N + 1)."""
    for size, top in ((10, 3), (4096, 1), (1 << 24, 1), (1 << 24, 1 << 22)):
        expected = 1 - (top + 1) / (size + 1)
        assert top_moments(size, top, 3)[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 20.0])
def test_no_other_cap_is_better(epsilon: float) -> None:
    share, alignment, _ = best_cap(epsilon, 364)
    assert 0 < share < 0.5
    for factor in (0.5, 0.9, 1.1, 1.9):
        other = min(factor * share, 0.5)
        first = float(cap_integrals(cap_margin(np.array(other), 364), 364)[0])
        chance = 1 / (1 + np.exp(-epsilon) * (1 - other) / other)
        assert first * (chance / other - (1 - chance) / (1 - other)) < alignment


def test_alignment_grows_with_epsilon_and_shrinks_with_dimension() -> None:
    alignments = [best_cap(epsilon, 364)[1] for epsilon in (1e-6, 1.0, 10.0, 100.0, 1000.0)]
    assert alignments == sorted(alignments)
    assert alignments[0] > 0
    assert alignments[-1] < 1
    assert best_cap(1.0, 10)[1] > best_cap(1.0, 100)[1]
    assert sphere_mse(1.0, 10) < sphere_mse(1.0, 100)


def test_row_error_counts_released_columns_only() -> None:
    """A codeword with alignment m in R^(d + 1): the lifted column's share is left out."""
    d, m, second = 4, 0.5, 0.4
    whole = 1 / m**2 - 1
    lifted = (1 - second) / d / m**2
    assert row_mse(m, second, d) == pytest.approx(whole - lifted)
