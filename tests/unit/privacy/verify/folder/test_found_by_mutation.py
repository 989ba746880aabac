"""What the mutation tests of tests/contract found in folders, each once and without a sweep."""

from __future__ import annotations

import json
from typing import Any

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
