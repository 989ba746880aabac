"""The verdict over checks, as an object and as data."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import pytest

from neuroveil.privacy.verify.result import Check, Outcome, VerificationResult


def result(*outcomes: tuple[str, Outcome]) -> VerificationResult:
    checks = tuple(Check(f"{link}.x", link, outcome, "words") for link, outcome in outcomes)
    return VerificationResult("claim", "title", checks)


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([("unit", "holds")], 0),
        ([("unit", "holds"), ("bound", "unchecked")], 5),
        ([("unit", "unchecked"), ("bound", "broken")], 4),
        ([("bound", "broken"), ("bound", "holds")], 4),
        ([], 5),
    ],
)
def test_broken_beats_unchecked_beats_holds(outcomes: list[tuple[str, Outcome]], code: int) -> None:
    assert result(*outcomes).exit_code == code


def test_links_stand_in_the_order_of_the_derivation() -> None:
    found = result(("release", "broken"), ("sampler", "broken"), ("unit", "unchecked"))
    assert list(found.links) == ["unit", "sampler", "release"]
    assert found.broken_links == ("sampler", "release")
    assert found.unchecked_links == ("unit",)
    assert "sampler, release" in found.sentence


def test_as_dict_is_json() -> None:
    document = json.loads(json.dumps(result(("unit", "holds")).as_dict(), allow_nan=False))
    assert document["exit_code"] == 0
    assert document["links"] == {"unit": "holds"}
    assert set(document["checks"][0]) == {
        "id", "link", "outcome", "sentence", "stated", "recomputed", "source",
    }  # fmt: skip


def test_results_are_frozen() -> None:
    found = result(("unit", "holds"))
    with pytest.raises(FrozenInstanceError):
        found.title = "another"  # type: ignore[misc]
