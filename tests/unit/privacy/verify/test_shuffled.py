"""Forged amplification: every fact alone, and central promises that shuffling cannot keep."""

from __future__ import annotations

from typing import Any

import pytest

from neuroveil.privacy.verify import shuffling

BLANKET = {
    "mechanism": "privunit", "trust": "shuffled", "epsilon_local": 1.31, "size": 16384,
    "top": 2500,
}  # fmt: skip
CLONES = {
    "mechanism": "laplace", "trust": "shuffled", "amplification": "clones_2021",
    "epsilon_rows": 0.5, "epsilon_local": 0.6, "n": 12,
}  # fmt: skip


def sentence(result: Any, name: str) -> str:
    return " ".join(check.sentence for check in result.checks if check.id == name)


ALONE: list[tuple[str, Any, str]] = [
    ("amplification.bound", "clones_2023", "amplification"),
    ("amplification.epsilon_local", 1.2, "amplification"),
    ("amplification.epsilon_local", 1.4, "amplification"),
    ("amplification.epsilon_local", 0.9, "amplification"),
    ("amplification.batch", 18, "amplification"),
    ("amplification.share", 0.0101, "amplification"),
    ("amplification.delta_bound", 0.0, "amplification"),
    ("amplification.delta_bound", 1e-7, "amplification"),
    ("amplification.delta_bound", 1.0, "amplification"),
    ("mechanism.epsilon", 1.0, "mechanism"),
    ("guarantee.epsilon_rows", 0.5, "amplification"),
    ("guarantee.delta", 0.0, "guarantee"),
    ("guarantee.delta", 1e-20, "amplification"),
    ("guarantee.variant", "pure_dp", "guarantee"),
    ("postprocessing.row_order", "as_given", "postprocessing"),
    ("model.trust", "local", "amplification"),
    ("domain.n", 18, "domain"),
    ("adjacency.n_roster", 18, "domain"),
    ("accountant.events", [{"mechanism": "privunit", "epsilon": 1.31, "releases": 1}],
     "accountant"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "link"), ALONE)
def test_one_field_alone(workshop: Any, name: str, value: Any, link: str) -> None:
    document = workshop.certificate(**BLANKET)
    workshop.put(document, name, value)
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert link in result.broken_links


@pytest.mark.parametrize("recipe", [BLANKET, CLONES], ids=["blanket", "clones"])
@pytest.mark.parametrize("key", ["batch", "epsilon_central", "delta_central"])
def test_event_names_the_central_guarantee(workshop: Any, recipe: Any, key: str) -> None:
    document = workshop.certificate(**recipe)
    document["chain"]["accountant"]["events"]["value"][0][key] *= 2
    assert "accountant" in workshop.verify(document).broken_links


@pytest.mark.parametrize(("field", "value"), [("labels", None), ("unprotected", ["sex"])])
def test_labels_beside_shuffled_rows(workshop: Any, field: str, value: Any) -> None:
    label = {"name": "d", "policy": "randomised_response", "n_categories": 2, "epsilon": 0.5}
    document = workshop.certificate(**BLANKET, **{field: value or [label]})
    result = workshop.verify(document)
    assert "amplification" in result.broken_links
    assert "split the batch" in sentence(result, "amplification.labels")


def test_central_epsilon_forged_with_everything_that_follows(workshop: Any) -> None:
    """Half of epsilon, and events, budget and verdict to match: the bound does not."""
    document = workshop.certificate(**BLANKET)
    other = workshop.certificate(**(BLANKET | {"epsilon_rows": 0.5}))
    stated = document["chain"]["amplification"]["delta_bound"]["value"]
    other["chain"]["amplification"]["delta_bound"]["value"] = stated
    result = workshop.verify(other)
    assert set(result.broken_links) == {"amplification", "verdict"}
    assert "more than the stated" in sentence(result, "amplification.delta_bound")


def test_bound_that_is_honest_and_too_large(workshop: Any) -> None:
    document = workshop.certificate(**(BLANKET | {"epsilon_rows": 0.5}))
    assert document["chain"]["amplification"]["delta_bound"]["value"] > 1e-5
    assert "amplification" in workshop.verify(document).broken_links


@pytest.mark.parametrize("mechanism", ["gaussian", "paper_laplace"])
def test_bound_for_rows_that_are_not_pure(workshop: Any, mechanism: str) -> None:
    document = workshop.certificate(**(CLONES | {"mechanism": mechanism}))
    result = workshop.verify(document)
    assert "amplification" in result.broken_links
    assert "does not hold for the mechanism" in sentence(result, "amplification.bound")


def test_blanket_of_codewords_for_other_noise(workshop: Any) -> None:
    document = workshop.certificate(**(CLONES | {"amplification": "privacy_blanket"}))
    assert "amplification" in workshop.verify(document).broken_links


def test_epsilon_above_the_local_one_needs_no_delta(workshop: Any) -> None:
    """Then shuffling adds nothing, and the bound is 0; the local epsilon has to be as large."""
    document = workshop.certificate(**(BLANKET | {"epsilon_local": 1.0}))
    assert document["chain"]["amplification"]["delta_bound"]["value"] == 0
    assert workshop.verify(document).exit_code == 0


@pytest.mark.parametrize("words", ["", ", given a trusted friend"])
def test_verdict_names_the_shuffler(workshop: Any, words: str) -> None:
    document = workshop.certificate(**BLANKET)
    assert ", given a trusted shuffler" in document["verdict"]
    document["verdict"] = document["verdict"].replace(", given a trusted shuffler", words)
    assert workshop.verify(document).broken_links == ("verdict",)


def test_shuffler_in_the_verdict_of_a_local_release(workshop: Any) -> None:
    document = workshop.certificate()
    document["verdict"] = document["verdict"].replace(
        "patient:", "patient, given a trusted shuffler:"
    )
    assert workshop.verify(document).broken_links == ("verdict",)


def test_batch_too_large_for_the_sum_uses_fewer_rows(
    workshop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer rows hide no better: their bound is a bound, where it is small enough."""
    loose = workshop.certificate(**(BLANKET | {"epsilon_local": 1.05, "top": 164}))
    tight = workshop.certificate(**BLANKET)
    shuffling.blanket_delta.cache_clear()
    whole = shuffling.blanket_delta

    def limited(epsilon: float, local: float, share: float, batch: int) -> float:
        if batch > 16:
            raise shuffling.TooLargeError
        return whole(epsilon, local, share, batch)

    monkeypatch.setattr("neuroveil.privacy.verify.shuffled.blanket_delta", limited)
    assert workshop.verify(loose).exit_code == 0
    result = workshop.verify(tight)
    assert result.exit_code == 5
    assert result.unchecked_links == ("amplification", "verdict")
    assert "weaker bound" in sentence(result, "amplification.delta_bound")


def test_local_epsilon_beyond_reach_stays_open(workshop: Any) -> None:
    document = workshop.certificate(**BLANKET)
    workshop.put(document, "amplification.epsilon_local", 400.0)
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert "Bounds are derived" in sentence(result, "amplification.delta_bound")
