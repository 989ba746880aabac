from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neuroveil.errors import ChainError
from neuroveil.privacy.bounds import Clip, ClipL1, ClipL2, adjacency_factor
from neuroveil.types.recording import FloatArray

ROWS = arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    elements=st.floats(-1e300, 1e300, allow_nan=False),
)
CLIPS: list[Clip] = [ClipL2(2.0), ClipL1(0.3)]


def norm_of(rows: FloatArray, clip: Clip) -> FloatArray:
    largest = np.maximum(np.abs(rows).max(axis=1), 1e-300)
    unit = rows / largest[:, None]
    order = 2 if clip.norm == "l2" else 1
    return np.linalg.norm(unit, ord=order, axis=1) * largest


@pytest.mark.parametrize("clip", CLIPS, ids=repr)
@given(rows=ROWS)
def test_no_row_is_longer_than_the_norm(clip: Clip, rows: FloatArray) -> None:
    clipped = clip.apply(rows)
    assert clipped.shape == rows.shape
    assert (norm_of(clipped, clip) <= clip.clip_norm * (1 + 1e-14)).all()


@pytest.mark.parametrize("clip", CLIPS, ids=repr)
@given(rows=ROWS)
def test_short_rows_stay_and_long_rows_keep_their_direction(clip: Clip, rows: FloatArray) -> None:
    clipped = clip.apply(rows)
    with np.errstate(over="ignore"):
        short = norm_of(rows, clip) <= clip.clip_norm
    assert (clipped[short] == rows[short]).all()
    assert (np.sign(clipped) * np.sign(rows) >= 0).all()


def test_a_long_row_ends_on_the_sphere() -> None:
    assert ClipL2(2.0).apply(np.array([[3.0, 4.0]])) == pytest.approx(np.array([[1.2, 1.6]]))
    assert ClipL1(2.0).apply(np.array([[3.0, -1.0]])) == pytest.approx(np.array([[1.5, -0.5]]))


@pytest.mark.parametrize("clip", CLIPS, ids=repr)
@pytest.mark.parametrize(
    "rows",
    [
        np.zeros(3),
        np.zeros((0, 3)),
        np.zeros((2, 3), dtype=np.float32),
        np.array([[np.nan, 0.0]]),
        np.array([[np.inf, 0.0]]),
    ],
    ids=["one axis", "no row", "float32", "NaN", "infinite"],
)
def test_rows_that_would_be_misread_are_refused(clip: Clip, rows: FloatArray) -> None:
    with pytest.raises(ChainError, match="rows"):
        clip.apply(rows)


class TestSensitivity:
    @pytest.mark.parametrize(("relation", "factor"), [("replace_one", 2), ("add_or_remove_one", 1)])
    def test_factor_of_the_relation(self, relation, factor) -> None:
        assert adjacency_factor(relation) == factor
        assert ClipL2(2.0).sensitivity(relation, "l2", 363) == 2.0 * factor
        assert ClipL1(2.0).sensitivity(relation, "l1", 363) == 2.0 * factor
        assert ClipL1(2.0).sensitivity(relation, "l2", 363) == 2.0 * factor

    def test_an_unknown_relation_is_refused(self) -> None:
        with pytest.raises(ChainError, match=r"adjacency\.relation"):
            adjacency_factor("neighbour")  # type: ignore[arg-type]

    @pytest.mark.parametrize("dimension", [1, 2, 3, 363, 704])
    @pytest.mark.parametrize("clip_norm", [2.0, 0.1, 1 / 3])
    def test_l1_under_an_l2_bound_is_rounded_up(self, dimension: int, clip_norm: float) -> None:
        value = Fraction(ClipL2(clip_norm).sensitivity("replace_one", "l1", dimension))
        exact_square = 4 * dimension * Fraction(clip_norm) ** 2
        assert value**2 >= exact_square
        assert Fraction(np.nextafter(float(value), 0)) ** 2 < exact_square

    def test_a_square_dimension_is_exact(self) -> None:
        assert ClipL2(2.0).sensitivity("replace_one", "l1", 4) == 8.0

    def test_the_l1_bound_is_attained(self) -> None:
        row = ClipL2(2.0).apply(np.full((1, 363), 7.0))
        distance = np.abs(row - -row).sum()
        assert distance == pytest.approx(ClipL2(2.0).sensitivity("replace_one", "l1", 363))


class TestExactLength:
    def test_l2(self) -> None:
        clip = ClipL2(5.0)
        assert not clip.exceeds([3, -4], 0)
        assert clip.exceeds([3, -5], 0)
        assert clip.exceeds([30, -41], -3)
        assert not clip.exceeds([24, -32], -3)

    def test_l1(self) -> None:
        clip = ClipL1(5.0)
        assert not clip.exceeds([3, -2], 0)
        assert clip.exceeds([3, -3], 0)
        assert clip.exceeds([21, 20], -3)

    def test_integers_beyond_64_bits_do_not_overflow(self) -> None:
        assert ClipL2(1.0).exceeds([2**62, 2**62], -60)
        assert not ClipL2(1.0).exceeds([2**59, 2**59], -60)
