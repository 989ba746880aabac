from dataclasses import replace

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy.scaling import LOG10_FLOOR, private_statistics_scaling, scale_rows
from neuroveil.types.catalogue import Column
from neuroveil.types.recording import FloatArray
from neuroveil.types.scaling import Scaling
from neuroveil.types.table import FeatureTable

VARIANCE, RATE = Column("Cz", "variance"), Column("Cz", "zero_crossing_rate")


def table_of(values: list[list[float]]) -> FeatureTable:
    """Two columns: a log10 one and a linear one."""
    n = len(values)
    return FeatureTable(
        tuple(f"patient {i}" for i in range(n)), (VARIANCE, RATE), np.array(values),
        np.ones(n, dtype=np.int64), np.ones(n),
    )  # fmt: skip


def constants(centre: list[float], spread: list[float]) -> Scaling:
    return Scaling(
        (VARIANCE, RATE), np.array(centre), np.array(spread), "public", "test", (False, False)
    )


PUBLIC = constants([2.0, 10.0], [0.5, 4.0])


def scaled(values: list[list[float]], scaling: Scaling = PUBLIC) -> FloatArray:
    return scale_rows(table_of(values), scaling)


def test_each_column_is_transformed_centred_and_divided() -> None:
    assert scaled([[1000.0, 16.0], [100.0, 10.0]]).tolist() == [[2.0, 1.5], [0.0, 0.0]]


def test_a_missing_cell_becomes_the_public_centre() -> None:
    assert scaled([[np.nan, 16.0], [1000.0, np.nan]]).tolist() == [[0.0, 1.5], [2.0, 0.0]]


def test_a_patient_without_a_recording_becomes_a_row_of_zeros() -> None:
    assert scaled([[np.nan, np.nan]]).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("value", [0.0, -0.0, -1.0, 1e-300, 5e-324])
def test_a_power_of_zero_or_less_takes_the_public_floor(value: float) -> None:
    assert scaled([[value, 10.0]]).tolist() == [[LOG10_FLOOR, 0.0]]


def test_the_floor_is_for_log10_columns_only_and_keeps_the_order() -> None:
    assert scaled([[1.0, -1000.0]])[0, 1] == -252.5
    column = scaled([[10.0**k, 0.0] for k in range(-5, 5)])[:, 0]
    assert (np.diff(column) >= 0).all()
    assert column[0] == LOG10_FLOOR


def test_other_columns_or_another_order_are_refused() -> None:
    swapped = Scaling((RATE, VARIANCE), np.zeros(2), np.ones(2), "public", "test", (False, False))
    with pytest.raises(ChainError, match="reference constants"):
        scaled([[1.0, 1.0]], swapped)


def test_a_value_that_overflows_is_refused_without_being_shown() -> None:
    with pytest.raises(ChainError, match="finite after scaling") as refusal:
        scaled([[1.0, 1e308]], constants([0.0, 0.0], [1.0, 1e-9]))
    assert "308" not in str(refusal.value)


def test_the_table_itself_is_left_alone() -> None:
    table = table_of([[np.nan, 1.0], [0.0, 2.0]])
    before = table.values.copy()
    scale_rows(table, PUBLIC)
    private_statistics_scaling(table)
    assert np.array_equal(table.values, before, equal_nan=True)


class TestPrivateStatistics:
    def test_median_and_interquartile_range_on_the_column_scale(self) -> None:
        values = [[10.0**k, float(k)] for k in range(5)]
        scaling = private_statistics_scaling(table_of(values))
        assert scaling.centre.tolist() == [2.0, 2.0]
        assert scaling.spread.tolist() == [2.0, 2.0]
        assert scaling.fitted_on == "private"

    def test_a_range_of_at_most_1e_minus_9_becomes_1(self) -> None:
        scaling = private_statistics_scaling(table_of([[10.0, 5.0], [10.0, 5.0 + 1e-9]]))
        assert scaling.spread.tolist() == [1.0, 1.0]

    def test_missing_cells_and_impossible_powers_are_left_out(self) -> None:
        values = [[10.0, 1.0], [1000.0, np.nan], [np.nan, 3.0], [0.0, 2.0]]
        scaling = private_statistics_scaling(table_of(values))
        assert scaling.centre.tolist() == [2.0, 2.0]

    def test_a_column_without_any_value_is_marked(self) -> None:
        scaling = private_statistics_scaling(table_of([[np.nan, 1.0], [np.nan, 2.0]]))
        assert (scaling.centre[0], scaling.spread[0]) == (0.0, 1.0)
        assert scaling.fallback == (True, False)

    def test_it_depends_on_the_cohort(self, table: FeatureTable) -> None:
        other = table.values.copy()
        other[0] *= 100
        changed = private_statistics_scaling(replace(table, values=other))
        assert (private_statistics_scaling(table).centre != changed.centre).any()
