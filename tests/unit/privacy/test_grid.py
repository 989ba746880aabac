import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import Clip, ClipL1, ClipL2
from neuroveil.privacy.grid import choose_grid_log2, quantise
from neuroveil.types.recording import FloatArray

CLIPS: list[Clip] = [ClipL2(2.0), ClipL2(0.1), ClipL1(2.0), ClipL1(1 / 3)]
ROWS = arrays(
    np.float64, st.tuples(st.integers(1, 3), st.just(5)), elements=st.floats(-1e3, 1e3, width=64)
)


class TestChoiceOfTheGrid:
    @pytest.mark.parametrize("scale", [0.1, 1.16, 28.1, 152.4, 131071.9])
    def test_ordinary_scales_have_2_to_the_minus_40(self, scale: float) -> None:
        assert choose_grid_log2(scale, 2.0) == -40

    @given(st.floats(1e-9, 1e12), st.floats(1e-9, 1e9))
    def test_nothing_overflows(self, scale: float, clip_norm: float) -> None:
        grid_log2 = choose_grid_log2(scale, clip_norm)
        assert math.ldexp(scale, -grid_log2) < 2.0**57
        assert math.ldexp(clip_norm, -grid_log2) < 2.0**60

    @given(st.floats(1e-9, 1e12))
    def test_the_scale_has_at_least_2_to_the_30_steps(self, scale: float) -> None:
        assert math.ldexp(scale, -choose_grid_log2(scale, scale)) >= 2.0**30

    def test_a_scale_just_below_the_limit_and_at_it(self) -> None:
        assert choose_grid_log2(math.nextafter(2.0**17, 0), 2.0) == -40
        assert choose_grid_log2(2.0**17, 2.0) == -39


class TestQuantise:
    @pytest.mark.parametrize("clip", CLIPS, ids=repr)
    @pytest.mark.parametrize("grid_log2", [-3, -40, -56])
    @given(rows=ROWS)
    def test_every_row_is_within_the_norm_exactly(
        self, clip: Clip, grid_log2: int, rows: FloatArray
    ) -> None:
        limit = Fraction(clip.clip_norm) / Fraction(2) ** grid_log2
        for row in quantise(rows, clip, grid_log2, 5).tolist():
            if clip.norm == "l2":
                assert sum(value**2 for value in row) <= limit**2
            else:
                assert sum(abs(value) for value in row) <= limit

    @given(rows=ROWS)
    def test_values_move_towards_zero_by_less_than_a_step(self, rows: FloatArray) -> None:
        clip = ClipL2(1e9)
        units = quantise(rows, clip, -10, 5)
        moved = rows * 1024 - units
        assert (np.abs(moved) < 1).all()
        assert (moved * np.sign(rows) >= 0).all()

    def test_rows_outside_by_a_rounding_error_are_brought_back(self) -> None:
        """On a fine grid, clipping in floats leaves many rows too long by a few units."""
        rows = np.random.default_rng(1).normal(size=(200, 5)) * 100
        clip = ClipL2(0.7)
        clipped = np.ldexp(clip.apply(rows), 60)
        too_long = [clip.exceeds([int(value) for value in row], -60) for row in clipped.tolist()]
        assert any(too_long)
        units = quantise(rows, clip, -60, 5)
        assert not any(clip.exceeds(row, -60) for row in units.tolist())
        assert np.ldexp(units.astype(float), -60) == pytest.approx(clip.apply(rows), rel=1e-14)

    def test_it_is_deterministic(self) -> None:
        rows = np.random.default_rng(2).normal(size=(50, 5))
        first = quantise(rows, ClipL2(0.7), -60, 5)
        assert (first == quantise(rows.copy(), ClipL2(0.7), -60, 5)).all()

    def test_another_number_of_columns_is_refused(self) -> None:
        with pytest.raises(ChainError, match="5 columns, found 4 columns"):
            quantise(np.zeros((1, 4)), ClipL2(2.0), -40, 5)
