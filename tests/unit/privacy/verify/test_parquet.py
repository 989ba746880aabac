"""Our reader of plain Parquet against pyarrow, and against files that are something else."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.privacy.verify.parquet import ParquetError, read_columns

PLAIN: dict[str, Any] = {"compression": "none", "use_dictionary": False}


def table(n: int = 50) -> pa.Table:
    generator = np.random.default_rng(5)
    return pa.table({
        "Fp1__variance": generator.normal(size=n) * 10.0 ** generator.integers(-300, 300, n),
        "µV²": generator.normal(size=n),
        "diagnosis": [("", "Ängste", "a,b\n\"c\"")[i % 3] for i in range(n)],
    })  # fmt: skip


def written(path: Path, content: pa.Table, **options: Any) -> Path:
    pq.write_table(content, path, **{**PLAIN, **options})
    return path


@pytest.mark.parametrize(
    "options",
    [
        {}, {"row_group_size": 7}, {"data_page_size": 64, "write_batch_size": 5},
        {"write_statistics": False}, {"write_page_index": True}, {"version": "1.0"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [1, 8, 9, 50, 1000])
def test_reads_what_pyarrow_writes(tmp_path: Path, n: int, options: dict[str, Any]) -> None:
    content = table(n)
    columns = read_columns(written(tmp_path / "t.parquet", content, **options))
    assert list(columns) == content.column_names
    for name in columns:
        assert list(columns[name]) == content[name].to_pylist()


def test_reads_columns_that_cannot_have_missing_values(tmp_path: Path) -> None:
    fields = [pa.field("a", pa.float64(), nullable=False), pa.field("b", pa.string(), False)]
    content = pa.table([[1.5, -0.0], ["x", ""]], schema=pa.schema(fields))
    columns = read_columns(written(tmp_path / "t.parquet", content))
    assert [list(column) for column in columns.values()] == [[1.5, 0.0], ["x", ""]]


@pytest.mark.parametrize(
    "options",
    [{"compression": "snappy"}, {"compression": "gzip"}, {"use_dictionary": True},
     {"data_page_version": "2.0"}, {"use_byte_stream_split": ["µV²"]}],
)  # fmt: skip
def test_other_forms_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ParquetError):
        read_columns(written(tmp_path / "t.parquet", table(), **options))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0, None]), pa.array(["a", None]), pa.array([1, 2]), pa.array([True, False]),
        pa.array([1.0, 2.0], pa.float32()), pa.array([b"a", b"b"]), pa.array([[1.0], [2.0]]),
        pa.array([{"a": 1.0}, {"a": 2.0}]), pa.array([1, 2], pa.timestamp("ms")),
    ],
)  # fmt: skip
def test_other_values_are_refused(tmp_path: Path, column: pa.Array) -> None:
    with pytest.raises(ParquetError):
        read_columns(written(tmp_path / "t.parquet", pa.table({"x": column})))


def test_missing_value_among_many_is_seen(tmp_path: Path) -> None:
    for place in (0, 7, 8, 99):
        values = [1.0] * 100
        content = pa.table({"x": pa.array([*values[:place], None, *values[place + 1 :]])})
        with pytest.raises(ParquetError, match="missing value"):
            read_columns(written(tmp_path / "t.parquet", content))


@pytest.mark.parametrize("cut", [0, 4, 11, 12, -1, -8])
def test_cut_files_are_refused(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "t.parquet", table())
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ParquetError):
        read_columns(path)


def test_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParquetError):
        read_columns(tmp_path / "t.parquet")


def test_changed_bytes_are_read_or_refused(tmp_path: Path) -> None:
    """Fixed seeds: up to three bytes anywhere, or in the footer, where the structure is."""
    path = written(tmp_path / "t.parquet", table(4), write_statistics=False)
    honest, generator = path.read_bytes(), random.Random(8)
    footer = len(honest) - 8 - int.from_bytes(honest[-8:-4], "little")
    for first in [0] * 1500 + [footer] * 1500:
        changed = bytearray(honest)
        for _ in range(generator.randint(1, 3)):
            changed[generator.randrange(first, len(changed))] = generator.randrange(256)
        path.unlink()
        path.write_bytes(changed)
        with suppress(ParquetError):
            read_columns(path)


@given(middle=st.binary(max_size=200))
def test_arbitrary_footers_are_refused(tmp_path_factory: Any, middle: bytes) -> None:
    path = tmp_path_factory.mktemp("parquet") / "t.parquet"
    size = len(middle).to_bytes(4, "little")
    path.write_bytes(b"PAR1" + middle + size + b"PAR1")
    with pytest.raises(ParquetError):
        read_columns(path)
