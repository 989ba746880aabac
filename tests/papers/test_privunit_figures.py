"""The figures of the mathematics for PrivUnit (d = 363, C = 2): sphere and codebooks."""

from __future__ import annotations

import pytest

from neuroveil.privacy.calibration import gaussian_sigma
from neuroveil.privacy.codebook.caps import best_cap, sphere_mse
from neuroveil.privacy.codebook.design import best_top, choose_codebook

D, C, DELTA = 363, 2.0, 1e-5
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


def gaussian_mse(epsilon: float) -> float:
    """Squared error of the paper's Gaussian a row, over C^2: sigma^2 d / C^2."""
    return gaussian_sigma(2 * C, epsilon, DELTA) ** 2 * D / C**2


def column(*figures: float) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("epsilon", "figure"), list(zip(EPSILONS, figures, strict=True)))


class TestSphere:
    """The optimal mechanism on the whole sphere (Asi, Feldman and Talwar 2022)."""

    @column(0.0105, 0.0208, 0.0412, 0.0968, 0.1697, 0.2722)
    def test_alignment_in_dimension_364(self, epsilon: float, figure: float) -> None:
        assert round(best_cap(epsilon, D + 1)[1], 4) == figure

    @column(9127, 2294, 585.6, 105.3, 33.6, 12.5)
    def test_squared_error(self, epsilon: float, figure: float) -> None:
        digits = 0 if figure > 1000 else 1
        assert round(sphere_mse(epsilon, D), digits) == figure

    @column(7.9, 8.8, 9.9, 11.0, 10.8, 9.8)
    def test_times_below_the_gaussian(self, epsilon: float, figure: float) -> None:
        assert round(gaussian_mse(epsilon) / sphere_mse(epsilon, D), 1) == figure

    @column(462, 460, 450, 400, 314, 211)
    def test_times_below_formal_laplace(self, epsilon: float, figure: float) -> None:
        scale = 2 * D**0.5 * C / epsilon
        ratio = 2 * scale**2 * D / C**2 / sphere_mse(epsilon, D)
        assert abs(ratio - figure) < 1


class TestCodebooks:
    """Exact order statistics of N independent codewords."""

    @pytest.mark.parametrize(
        ("size", "epsilon", "percent"),
        [(4096, 8, 0.85), (4096, 10, 3.3), (4096, 20, 117), (16384, 10, 0.87), (1 << 24, 20, 2.9)],
    )
    def test_cost_against_the_sphere(self, size: int, epsilon: float, percent: float) -> None:
        error = best_top(float(epsilon), D, size).mse_over_clip_norm_squared
        cost = 100 * (error / sphere_mse(float(epsilon), D) - 1)
        assert cost == pytest.approx(percent, rel=0.02)

    def test_4096_codewords_at_epsilon_20_are_only_4_5_times_below_the_gaussian(self) -> None:
        error = best_top(20.0, D, 4096).mse_over_clip_norm_squared
        assert round(gaussian_mse(20.0) / error, 1) == 4.5

    @pytest.mark.parametrize(("size", "times"), [(360_000, 7.5), (1 << 19, 7.77)])
    def test_large_codebooks_at_epsilon_20(self, size: int, times: float) -> None:
        """With the lifted column counted, as the published figures do: 1 / m^2 - 1."""
        whole = 1 / best_top(20.0, D, size).alignment ** 2 - 1
        assert gaussian_mse(20.0) / whole == pytest.approx(times, abs=0.02)

    @column(2.4, 0.71, 0.32, 0.56, 10.2, 27)
    def test_bias_of_one_codebook_of_4096(self, epsilon: float, figure: float) -> None:
        assert best_top(epsilon, D, 4096).bias_over_clip_norm_squared == pytest.approx(
            figure, rel=0.025
        )

    def test_bias_is_30_percent_of_the_error_at_epsilon_10(self) -> None:
        design = best_top(10.0, D, 4096)
        share = design.bias_over_clip_norm_squared / design.mse_over_clip_norm_squared
        assert round(share, 1) == 0.3

    @pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 5.0, 10.0, 20.0])
    def test_chosen_codebooks_are_7_5_times_below_the_gaussian(self, epsilon: float) -> None:
        error = choose_codebook(epsilon, D).mse_over_clip_norm_squared
        assert gaussian_mse(epsilon) / error >= 7.5
