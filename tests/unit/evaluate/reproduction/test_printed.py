"""The printed numbers agree with each other: a slip of ours in copying would not."""

from __future__ import annotations

import math

import pytest

from neuroveil.evaluate.reproduction import printed


def test_every_confusion_matrix_has_the_papers_classes() -> None:
    for matrix in printed.CONFUSION.values():
        assert (matrix.n_negative, matrix.n_positive) == (12, 5)


def test_the_dimension_is_channels_times_features() -> None:
    assert printed.N_CHANNELS * printed.N_CHANNEL_FEATURES == printed.DIMENSION


@pytest.mark.parametrize("place", range(6))
def test_rmse_and_snr_of_table_4_say_that_every_row_was_clipped(place: int) -> None:
    """SNR = 20 log10(size of a cell / RMSE), and a clipped row's cells are of size C / √d."""
    columns = printed.trend("gaussian")
    rmse, snr = columns["rmse"][place], columns["snr_db"][place]
    size = rmse.value * 10 ** (snr.value / 20)
    assert size == pytest.approx(printed.CLIP_NORM / math.sqrt(printed.DIMENSION), rel=2e-4)


@pytest.mark.parametrize("place", range(6))
def test_mae_of_table_4_is_that_of_normal_noise(place: int) -> None:
    """Over 6,171 cells the ratio to the RMSE is √(2/π) to about half a percent."""
    columns = printed.trend("gaussian")
    ratio = columns["mae"][place].value / columns["rmse"][place].value
    assert ratio == pytest.approx(math.sqrt(2 / math.pi), rel=0.02)


def test_rows_are_in_the_order_of_epsilon() -> None:
    for numbers in (printed.table_3(), *printed.trend("paper_laplace").values()):
        found = [float(number.row.removeprefix("ε = ")) for number in numbers]
        assert found == list(printed.EPSILONS)


def test_rounding_is_half_a_step_of_the_last_digit() -> None:
    assert printed.table_3()[0].rounding == pytest.approx(0.00005)
    assert printed.counts("original")[0].rounding == 0.5
