import numpy as np
import pytest

from neuroveil.errors import LinkageError
from neuroveil.linkage.dice import ScoredPairs
from neuroveil.linkage.people import join_people
from neuroveil.linkage.resolve import keep_one, resolve_tables
from neuroveil.types.catalogue import column_from_name
from neuroveil.types.table import FeatureTable

COLUMNS = tuple(column_from_name(name) for name in ("Fz__rms", "Cz__rms"))


def table(values, n_windows, seconds, **attributes) -> FeatureTable:
    keys = tuple(f"p{row}" for row in range(len(values)))
    return FeatureTable(
        keys, COLUMNS, np.array(values, dtype=float), np.array(n_windows),
        np.array(seconds, dtype=float), {k: tuple(v) for k, v in attributes.items()},
    )  # fmt: skip


@pytest.fixture
def hospitals() -> list[FeatureTable]:
    return [
        table([[1.0, 2.0], [3.0, np.nan]], [10, 30], [10, 30], sex="fm", ward="ab"),
        table([[5.0, 6.0], [7.0, 8.0]], [10, 20], [20, 20], sex="mf"),
    ]


@pytest.fixture
def people():
    """The second patient of the first hospital is the first of the second."""
    return join_people([2, 2], {(0, 1): ScoredPairs(np.array([1]), np.array([0]), np.ones(1))})


def test_pooling_weighs_by_windows_and_a_missing_cell_has_none(hospitals, people):
    found = resolve_tables(hospitals, people, "pool")
    assert found.n_patients == 3
    assert np.allclose(found.values, [[1, 2], [(3 * 30 + 5 * 10) / 40, 6], [7, 8]])
    assert found.n_windows.tolist() == [10, 40, 20]
    assert found.seconds.tolist() == [10, 50, 20]
    assert found.patients == ("list-1:p0", "list-1:p1", "list-2:p1")
    assert found.attributes == {"sex": ("f", "m", "f")}


def test_a_cell_that_is_missing_everywhere_stays_missing(people):
    both = [
        table([[1, 1], [np.nan, 2]], [1, 1], [1, 1]),
        table([[np.nan, 4], [1, 1]], [1, 1], [1, 1]),
    ]
    assert np.isnan(resolve_tables(both, people, "pool").values[1, 0])


@pytest.mark.parametrize(
    ("policy", "dates", "kept"),
    [
        ("keep_longest", (), [3.0, np.nan]),
        ("hospital_order", (), [3.0, np.nan]),
        ("keep_newest", ("2020-01-01", "2020-01-01", "2021-05-05", "2020-01-01"), [5.0, 6.0]),
    ],
)
def test_one_row_is_kept_whole(hospitals, people, policy, dates, kept):
    found = resolve_tables(hospitals, people, policy, dates)
    assert found.n_patients == 3
    assert np.array_equal(found.values[1], kept, equal_nan=True)


def test_the_longer_recording_is_kept_wherever_it_is(hospitals, people):
    longer = [hospitals[0], table([[5, 6], [7, 8]], [10, 20], [31, 20], sex="mf")]
    assert resolve_tables(longer, people, "keep_longest").values[1].tolist() == [5.0, 6.0]


def test_no_other_persons_row_is_touched(hospitals, people):
    """Replacing one person's records changes one row at most, under every policy."""
    changed = [table([[1, 2], [900, 900]], [99, 999], [1, 999], sex="fm"), hospitals[1]]
    for policy in ("pool", "keep_longest", "hospital_order"):
        one, other = (resolve_tables(each, people, policy) for each in (hospitals, changed))
        differs = ~np.isclose(one.values, other.values, equal_nan=True).all(axis=1)
        assert differs.tolist() == [False, True, False]


def test_the_first_of_equals_is_kept():
    assert keep_one(np.array([0, 1, 0]), [5, 1, 5]).tolist() == [0, 1]


def test_what_does_not_fit_is_refused(hospitals, people):
    with pytest.raises(LinkageError, match="a row a record"):
        resolve_tables(hospitals[:1], people, "pool")
    day = "2020-01-01"
    for wrong in ("", "01.02.2020", "2020-1-1", "20200101", "2020-13-01", "2020-01-01 "):
        with pytest.raises(LinkageError, match="YYYY-MM-DD"):
            resolve_tables(hospitals, people, "keep_newest", [day, wrong, day, day])
    with pytest.raises(LinkageError, match="YYYY-MM-DD"):
        resolve_tables(hospitals, people, "keep_newest", [day])
    with pytest.raises(LinkageError, match="one of pool"):
        resolve_tables(hospitals, people, "keep_all")
    pair = {(0, 1): ScoredPairs(np.array([0]), np.array([0]), np.ones(1))}
    with pytest.raises(LinkageError, match="a decision for each pair"):
        resolve_tables(hospitals, join_people([2, 2], {}, pair), "pool")
