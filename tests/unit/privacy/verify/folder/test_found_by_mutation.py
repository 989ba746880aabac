"""What the mutation tests of tests/contract found in folders, each once and without a sweep."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neuroveil.privacy.verify import verify

STEPS = [
    ("unclipping", {"factor": 1.5}), ("inverse_scaling", {"log10_columns": 0}),
]  # fmt: skip


@pytest.mark.parametrize("name", ["table.json", "table_estimated.json"])
@pytest.mark.parametrize("key", ["Centre", "Spread"])
def test_constants_in_either_dictionary_are_the_certified_ones(
    press: Any, name: str, key: str
) -> None:
    """Whoever inverts the scaling of the protected table reads them from its own dictionary."""
    folder, document, _ = press.release(steps=STEPS, n=4)
    assert verify(folder).exit_code == 0
    dictionary = json.loads((folder / name).read_text(encoding="utf-8"))
    dictionary["Columns"]["C000__alpha"][key] += 0.5
    press.rewrite(folder, document, name, json.dumps(dictionary))
    assert "release" in verify(folder).broken_links


@pytest.mark.parametrize("scale", [5e-324, 1e-300])
def test_noise_of_no_size(press: Any, draw_rows: Any, scale: float) -> None:
    """Squares of such a scale are no doubles; the mechanism is what is broken."""
    recipe = press.workshop.Recipe(n=4)
    document = press.workshop.certificate_of(recipe)
    rows = draw_rows(recipe, document["chain"]["mechanism"]["noise_scale"]["value"])
    document["chain"]["mechanism"]["noise_scale"]["value"] = scale
    assert "mechanism" in verify(press.write(document, recipe, rows)).broken_links


def test_more_columns_certified_than_there_are(press: Any, draw_rows: Any) -> None:
    recipe = press.workshop.Recipe(n=4)
    document = press.workshop.certificate_of(recipe)
    rows = draw_rows(recipe, document["chain"]["mechanism"]["noise_scale"]["value"])
    document["chain"]["domain"]["dimension"]["value"] += 1
    document["chain"]["bound"]["dimension"]["value"] += 1
    assert "release" in verify(press.write(document, recipe, rows)).broken_links


@pytest.mark.parametrize("name", ["table", "table_estimated"])
@pytest.mark.parametrize("change", ["value", "rows", "order", "name", "text", "compressed"])
def test_parquet_with_another_table_than_the_csv(press: Any, name: str, change: str) -> None:
    """People load the Parquet file: it may not hold what was never checked."""
    folder, document, _ = press.release(steps=STEPS, n=4, unprotected=["sex"])
    assert verify(folder).exit_code == 0
    path = folder / f"{name}.parquet"
    content, options = pq.read_table(path), {"compression": "none", "use_dictionary": False}
    first = content.column_names[0]
    if change == "value":
        values = content[first].to_pylist()
        values[2] = math.nextafter(values[2], math.inf)
        content = content.set_column(0, first, pa.array(values))
    elif change == "rows":
        content = content.slice(0, 3)
    elif change == "order":
        content = content.take([1, 0, 2, 3])
    elif change == "name":
        content = content.rename_columns(["other", *content.column_names[1:]])
    elif change == "text":
        content = content.set_column(0, first, content[first].cast(pa.string()))
    else:
        options = {"compression": "zstd"}
    sink = pa.BufferOutputStream()
    pq.write_table(content, sink, **options)
    press.rewrite(folder, document, path.name, bytes(sink.getvalue()))
    broken = [check.id for check in verify(folder).checks if check.outcome == "broken"]
    assert broken == ["release.parquet"]
