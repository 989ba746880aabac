"""What the mutation tests of tests/contract found, each once and without a sweep."""

from __future__ import annotations

from typing import Any

import pytest

LAPLACE = {"mechanism": "laplace", "n": 4}
BLANKET = {
    "mechanism": "privunit", "trust": "shuffled", "epsilon_local": 1.31, "size": 16384,
    "top": 2500,
}  # fmt: skip


@pytest.mark.parametrize("fact", ["features", "scaling"])
@pytest.mark.parametrize("step", ["none", "Scaling", "scaling "])
def test_step_has_the_name_of_its_fact(workshop: Any, fact: str, step: str) -> None:
    document = workshop.certificate()
    document["chain"]["preprocessing"][fact]["value"]["step"] = step
    assert "preprocessing" in workshop.verify(document).broken_links


@pytest.mark.parametrize("method", [" ", "PLD", "dp-accountingx, PLD", "another, PLD"])
def test_second_opinion_names_a_library_that_is_listed(workshop: Any, method: str) -> None:
    document = workshop.certificate()
    document["chain"]["accountant"]["cross_check"]["value"]["method"] = method
    assert "accountant" in workshop.verify(document).broken_links


@pytest.mark.parametrize("delta", [1, 1.5])
def test_second_opinion_at_a_delta_that_is_no_small_probability(
    workshop: Any, delta: float
) -> None:
    document = workshop.certificate(**LAPLACE)
    document["chain"]["accountant"]["cross_check"]["value"]["delta"] = delta
    assert "accountant" in workshop.verify(document).broken_links


def test_earlier_releases_that_spent_no_epsilon(workshop: Any) -> None:
    """There is none: hiding the epsilon and leaving the delta is found."""
    document = workshop.certificate(prior=(2, 1.0, 2e-5))
    assert workshop.verify(document).exit_code == 0
    spent = document["chain"]["composition"]["spent_before"]["value"]
    remaining = document["chain"]["composition"]["remaining"]["value"]
    remaining["epsilon"] += spent["epsilon"]
    spent["epsilon"] = 0.0
    assert "composition" in workshop.verify(document).broken_links


@pytest.mark.parametrize("changes", [{}, {"mechanism": "privunit", "epsilon_rows": 5.0, "n": 4}])
def test_whole_number_may_be_written_as_a_double(workshop: Any, changes: dict[str, Any]) -> None:
    """The contract's numbers are doubles: 2 and 2.0 are one, in the events too."""
    document = workshop.certificate(**changes)
    (event,) = document["chain"]["accountant"]["events"]["value"]
    event["releases"] = 1.0
    if "epsilon" in event:
        event["epsilon"] = 5
    assert workshop.verify(document).exit_code == 0
    event["releases"] = True
    assert "accountant" in workshop.verify(document).broken_links


@pytest.mark.parametrize("factor", [0.5, 1 - 1e-6])
def test_bound_of_delta_is_never_understated(workshop: Any, factor: float) -> None:
    document = workshop.certificate(**BLANKET)
    assert workshop.verify(document).exit_code == 0
    document["chain"]["amplification"]["delta_bound"]["value"] *= factor
    assert "amplification" in workshop.verify(document).broken_links
