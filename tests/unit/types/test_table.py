"""The private table refuses what would break the unit of the guarantee, and hides values."""

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.types.catalogue import columns_for
from neuroveil.types.table import FeatureTable


def make(patients=("a", "b"), shape=(2, 1), **changes) -> FeatureTable:
    fields = {
        "patients": patients, "columns": columns_for(("Cz",), ("variance",)),
        "values": np.full(shape, 123.456), "n_windows": np.ones(2, dtype=np.int64),
        "seconds": np.ones(2), **changes,
    }  # fmt: skip
    return FeatureTable(**fields)


def test_a_patient_with_two_rows_is_refused():
    with pytest.raises(RecordingError, match="twice the influence"):
        make(patients=("a", "a"))


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (2,)])
def test_a_wrong_shape_is_refused(shape):
    with pytest.raises(RecordingError, match="shape"):
        make(shape=shape)


def test_infinite_values_are_refused_and_missing_cells_are_not():
    with pytest.raises(RecordingError, match="infinite"):
        make(values=np.array([[np.inf], [1.0]]))
    assert make(values=np.array([[np.nan], [1.0]])).n_patients == 2


def test_attributes_have_one_value_a_patient():
    with pytest.raises(RecordingError, match="2 values"):
        make(attributes={"sex": ("F",)})


def test_neither_values_nor_keys_are_printed():
    text = repr(make(patients=("Canary", "b")))
    assert "Canary" not in text
    assert "123" not in text
    assert "private" in text
