"""Budgets under both rules: what composes, what is overspent, and what is misstated."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuroveil.privacy.composition import composed_epsilon
from neuroveil.privacy.verify import verify
from neuroveil.types.budget import AccountingEvent

LIMIT = (30.0, 1e-4)
GAUSSIAN = {
    "mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-5, "noise_multiplier": 3.7306316,
    "integer_scale": 1.6e13, "dimension": 363,
}  # fmt: skip
PURE = {"mechanism": "laplace", "epsilon": 0.8, "delta": 0.0}
SHUFFLED = {"mechanism": "privunit", "epsilon": 0.5, "delta": 1e-6}
HISTORIES: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "one gaussian": [GAUSSIAN],
    "pure": [PURE],
    "many pure": [PURE] * 12,
    "mixed": [GAUSSIAN, PURE, GAUSSIAN, SHUFFLED],
    "different": [{**PURE, "epsilon": 0.1 * i} for i in range(1, 10)],
}


def sentence(result: Any, name: str) -> str:
    return " ".join(check.sentence for check in result.checks if check.id == name)


def event(entry: dict[str, Any]) -> AccountingEvent:
    noise = {key: entry[key] for key in entry if key not in ("mechanism", "epsilon", "delta")}
    return AccountingEvent(
        entry["mechanism"], Fraction(entry["epsilon"]), Fraction(entry["delta"]), **noise
    )


def composed(events: list[dict[str, Any]]) -> float:
    """What the ledger's composer counts, in the release path's own arithmetic."""
    found = composed_epsilon([event(entry) for entry in events], Fraction(LIMIT[1]))
    assert found is not None
    return float(found)


def history(workshop: Any, prior: list[dict[str, Any]], **changes: Any) -> Any:
    """A certificate whose patients were released before, under the rule pld."""
    this = dict(PURE, mechanism="laplace", epsilon=1.0)
    if changes.get("mechanism", "gaussian") == "gaussian":
        this = dict(GAUSSIAN)
        scale = workshop.certificate()["chain"]["mechanism"]["noise_scale"]["value"]
        this["noise_multiplier"] = scale / 4
    spent = composed(prior) if prior else 0.0
    return workshop.certificate(
        rule="pld", limit=LIMIT, prior_events=prior,
        prior=(len(prior), spent, LIMIT[1] if prior else 0.0),
        remaining=LIMIT[0] - composed([*prior, this]), **changes,
    )  # fmt: skip


@pytest.mark.parametrize("prior", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_composed_releases_hold(workshop: Any, prior: Any, mechanism: str) -> None:
    result = workshop.verify(history(workshop, prior, mechanism=mechanism))
    assert result.exit_code == 0, [c for c in result.checks if c.outcome != "holds"]


@pytest.mark.parametrize("prior", HISTORIES.values(), ids=HISTORIES)
@pytest.mark.parametrize("change", [0.01, -0.05])
def test_remaining_epsilon_is_derived_again(workshop: Any, prior: Any, change: float) -> None:
    document = history(workshop, prior)
    document["chain"]["composition"]["remaining"]["value"]["epsilon"] += change
    assert "composition" in workshop.verify(document).broken_links


@pytest.mark.parametrize(
    ("key", "value"),
    [("noise_multiplier", 4.5), ("epsilon", 0.1), ("noise_multiplier", 1e150),
     ("noise_multiplier", 1e-150), ("epsilon", 1e6)],
)  # fmt: skip
def test_history_made_cheaper_or_dearer(workshop: Any, key: str, value: float) -> None:
    for prior in ([GAUSSIAN, GAUSSIAN], [PURE, PURE]):
        if key not in prior[0] or (key == "epsilon" and len(prior[0]) > 3):
            continue
        document = history(workshop, prior)
        document["chain"]["composition"]["prior_events"]["value"][0][key] = value
        assert "composition" in workshop.verify(document).broken_links


def test_history_left_out(workshop: Any) -> None:
    document = history(workshop, [GAUSSIAN, PURE])
    workshop.put(document, "composition.prior_events", [])
    assert "composition" in workshop.verify(document).broken_links


def test_more_than_the_limit(workshop: Any) -> None:
    document = history(workshop, [{**PURE, "epsilon": 40.0}])
    result = workshop.verify(document)
    assert "composition" in result.broken_links
    assert "than the limit allows" in sentence(result, "composition.remaining.epsilon")


def test_no_epsilon_at_the_deltas_of_the_history(workshop: Any) -> None:
    document = history(workshop, [PURE])
    document["chain"]["composition"]["prior_events"]["value"][0]["delta"] = 0.01
    result = workshop.verify(document)
    assert "composition" in result.broken_links


@pytest.mark.parametrize("key", ["spent_before", "remaining"])
def test_delta_goes_with_its_epsilon(workshop: Any, key: str) -> None:
    document = history(workshop, [PURE])
    document["chain"]["composition"][key]["value"]["delta"] = 5e-5
    assert "composition" in workshop.verify(document).broken_links


def test_rule_exchanged(workshop: Any) -> None:
    """Sums are no losses and losses no sums: the facts of the other rule are missing."""
    document = history(workshop, [PURE])
    workshop.put(document, "composition.rule", "basic")
    assert "composition" in workshop.verify(document).broken_links
    document = workshop.certificate()
    workshop.put(document, "composition.rule", "pld")
    assert "composition" in workshop.verify(document).broken_links


@pytest.mark.parametrize("scope", ["hospital", "", None])
def test_scope_is_one_that_there_is(workshop: Any, scope: Any) -> None:
    document = workshop.certificate()
    workshop.put(document, "composition.scope", scope)
    assert "composition" in workshop.verify(document).broken_links


numbers = st.sampled_from([0, -1, 1e-300, 5e-324, 1e-12, 0.5, 1, 690, 1e6, 1e150, 1e308])


@pytest.mark.slow
@given(
    entries=st.lists(
        st.fixed_dictionaries(
            {"mechanism": st.just("x"), "epsilon": numbers, "delta": numbers},
            optional={
                "noise_multiplier": numbers, "integer_scale": numbers, "dimension": numbers,
            },
        ),
        max_size=4,
    ),
    copies=st.sampled_from([1, 3, 1500]),
    delta=numbers,
)  # fmt: skip
def test_absurd_histories_end_in_a_verdict(
    honest: str, tmp_path_factory: Any, entries: Any, copies: int, delta: float
) -> None:
    document = json.loads(honest)
    composition = document["chain"]["composition"]
    composition["prior_events"]["value"] = entries * copies
    composition["limit"]["value"]["delta"] = delta
    path = tmp_path_factory.mktemp("history") / "certificate.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert verify(Path(path)).exit_code in {0, 4, 5}


@pytest.fixture(scope="module")
def honest(certificates: Any) -> str:
    document = json.loads(certificates(mechanism="laplace"))
    composition = document["chain"]["composition"]
    composition["rule"]["value"] = "pld"
    composition["prior_events"] = dict(composition["spent_before"], value=[])
    return json.dumps(document)
