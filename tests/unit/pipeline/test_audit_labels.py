"""Labels for an audit: where they come from, and what is refused without naming a value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neuroveil.errors import RecordingError
from neuroveil.pipeline.audit_labels import read_attribute
from neuroveil.types.catalogue import columns_for
from neuroveil.types.table import FeatureTable


@pytest.fixture
def table() -> FeatureTable:
    columns = columns_for(("Fp1",), ("variance",))
    return FeatureTable(
        ("007", "1e5", "c"), columns, np.ones((3, 1)), np.ones(3, dtype=np.int64), np.ones(3),
        {"sex": ("f", "", "m")},
    )  # fmt: skip


def test_from_the_feature_table_itself(table: FeatureTable) -> None:
    assert read_attribute("sex", table).values == ("f", "", "m")
    with pytest.raises(RecordingError, match="--labels"):
        read_attribute("age", table)


@pytest.mark.parametrize(("name", "separator", "key"), [
    ("labels.csv", ",", "patient"), ("participants.tsv", "\t", "participant_id"),
])  # fmt: skip
def test_from_a_file_in_another_order(
    table: FeatureTable, tmp_path: Path, name: str, separator: str, key: str
) -> None:
    """Keys and values stay text; a patient of whom nothing is said is unknown."""
    lines = [(key, "Diagnosis [ICD]"), ("c", "01"), ("else", "02"), ("007", "NA")]
    file = tmp_path / name
    file.write_text("\n".join(separator.join(line) for line in lines))
    found = read_attribute("Diagnosis [ICD]", table, file)
    assert found.values == ("NA", "", "01")


@pytest.mark.parametrize(("text", "message"), [
    ("patient,sex\nx,f\ny,m\n", "patients of the table"),
    ("patient,sex\nc,f\nc,m\n", "one row a patient"),
    ("patient,age\nc,31\n", "and the attribute"),
    ("name,sex\nc,f\n", "a column patient"),
    ("", "a header"),
])  # fmt: skip
def test_refusals(table: FeatureTable, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(text)
    with pytest.raises(RecordingError, match=message) as refused:
        read_attribute("sex", table, file)
    assert "labels.csv" not in str(refused.value)
    with pytest.raises(RecordingError, match="with a header"):
        read_attribute("sex", table, tmp_path / "none.csv")
