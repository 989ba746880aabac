"""The rulebook against the published contract, and each key of each fact against the rulebook."""

from __future__ import annotations

import json
from typing import Any

import pytest

from neuroveil.privacy.verify.rulebook import FACT_NAMES, RULES
from neuroveil.privacy.verify.rules_central import MOMENTS
from neuroveil.privacy.verify.statement import Statement

NAMES = list(FACT_NAMES)
OF_MOMENTS = set(NAMES) - {rule.name for rule in RULES if rule not in MOMENTS}
"""Facts that only releases of mean and covariance have; see tests/contract."""
OTHERS: list[Any] = [None, True, False, -1, 0, "text", "", [], {}, [[]], {"a": 1}, 1e300]

SHUFFLED = {
    "mechanism": "privunit", "trust": "shuffled", "epsilon_local": 1.31, "size": 16384,
    "top": 2500,
}  # fmt: skip
STEPS = [
    ("wiener", {"noise_variance": 3.0}), ("projection_back", {"components": 8}),
    ("unclipping", {"factor": 1.2}), ("clamp", {"low": -4.0, "high": 4.0}),
    ("inverse_scaling", {"log10_columns": 100}),
]  # fmt: skip
RECIPES: dict[str, dict[str, Any]] = {
    "gaussian": {},
    "laplace": {"mechanism": "laplace"},
    "laplace in l1": {"mechanism": "laplace", "bound": "l1"},
    "privunit": {"mechanism": "privunit", "epsilon_rows": 5.0},
    "privunit, a codebook a row": {"mechanism": "privunit", "per_message": True},
    "privacy blanket": SHUFFLED,
    "clones": {**SHUFFLED, "amplification": "clones_2021", "epsilon_local": 1.0},
    "shuffled laplace": {
        "mechanism": "laplace", "trust": "shuffled", "amplification": "clones_2021",
        "epsilon_local": 1.0,
    },
    "projected": {"components": 8, "steps": STEPS},
    "projected codewords": {"mechanism": "privunit", "components": 8, "steps": STEPS},
    "james_stein": {
        "steps": [("james_stein", {"noise_variance": 3.0}),
                  ("inverse_scaling", {"log10_columns": 0})],
    },
    "pld": {"rule": "pld", "remaining": 10 - 0.8884},
    "drawn constants": {"trust": "central", "delta": 5e-6, "drawn": (1.0, 5e-6)},
    "drawn constants beside codewords": {
        "trust": "central", "mechanism": "privunit", "drawn": (1.0, 1e-6),
    },
    "pure constants": {"trust": "central", "mechanism": "laplace", "drawn": (2.0, 0.0)},
    "drawn constants, pld": {
        "trust": "central", "delta": 5e-6, "drawn": (1.0, 5e-6), "rule": "pld",
        "remaining": 10 - 2.0, "limit": (10.0, 1e-4),
    },
    "justified delta": {
        "delta": 1e-3, "delta_justification": "comparison with the paper", "limit": (9.0, 0.01),
    },
}  # fmt: skip
"""One recipe for each case that a line of the table is for."""


def test_rulebook_is_the_table_of_the_contract(workshop: Any) -> None:
    ours = [(rule.name, rule.status, rule.formula, list(rule.rests_on)) for rule in RULES]
    theirs = [(name, *rest) for name, _, *rest in workshop.contract()]
    assert ours == theirs


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_lines_count_in_the_cases_that_the_table_says(workshop: Any, recipe: Any) -> None:
    """The conditions of the rulebook against the words in brackets, for every line."""
    document = workshop.certificate(**recipe)
    facts = {
        f"{link}.{key}": fact["value"]
        for link, entries in document["chain"].items()
        for key, fact in entries.items()
    }
    statement = Statement("certificate", "certificate", facts, document)
    stated = {
        f"{link}.{key}": (fact["status"], fact["formula"], fact["rests_on"])
        for link, entries in document["chain"].items()
        for key, fact in entries.items()
    }
    counted = [rule for rule in RULES if rule.case.applies(statement)]
    assert {rule.name for rule in counted} == set(stated)
    for rule in counted:
        if rule.name != "guarantee.delta_slack":
            assert (rule.status, rule.formula, list(rule.rests_on)) == stated[rule.name]


def test_facts_rest_on_facts_that_exist() -> None:
    rested_on = {name for rule in RULES for name in rule.rests_on}
    assert rested_on <= set(NAMES)


def test_no_fact_rests_on_itself_even_by_detours() -> None:
    """Except for the noise scale and the price of integer noise, which are solved together."""
    rests: dict[str, set[str]] = {name: set() for name in NAMES}
    for rule in RULES:
        rests[rule.name] |= set(rule.rests_on)
    rests["guarantee.delta_slack"] -= {"mechanism.integer_scale"}
    done: set[str] = set()
    while ready := {name for name in NAMES if name not in done and rests[name] <= done}:
        done |= ready
    assert done == set(NAMES)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_honest_certificate_holds(workshop: Any, recipe: Any) -> None:
    result = workshop.verify(workshop.certificate(**recipe))
    assert result.exit_code == 0, [c for c in result.checks if c.outcome != "holds"]
    assert set(result.links.values()) == {"holds"}


CASES = [
    pytest.param(recipe, name, marks=[pytest.mark.slow] if is_slow else [])
    for recipe, is_slow in (
        ("gaussian", False), ("projected codewords", True), ("privacy blanket", True),
        ("pld", True), ("drawn constants", True),
    )
    for name in NAMES
]  # fmt: skip


@pytest.fixture(scope="module")
def honest() -> dict[str, str]:
    return {}


def copy_of(workshop: Any, honest: dict[str, str], recipe: str) -> Any:
    """A fresh copy of a certificate that takes a while to make."""
    if recipe not in honest:
        honest[recipe] = json.dumps(workshop.certificate(**RECIPES[recipe]))
    return json.loads(honest[recipe])


def fact_of(document: Any, name: str) -> Any:
    link, _, key = name.partition(".")
    return document["chain"].get(link, {}).get(key)


@pytest.mark.parametrize(("recipe", "name"), CASES)
def test_every_key_of_every_fact_is_fixed(
    workshop: Any, honest: dict[str, str], recipe: str, name: str
) -> None:
    """Left out, with other keys, or with another status, source, formula or foundation."""
    link, _, key = name.partition(".")
    document = copy_of(workshop, honest, recipe)
    fact = fact_of(document, name)
    if fact is None:
        return
    spoiled: list[Any] = [None, {**fact, "note": "trust me"}]
    spoiled.append({k: v for k, v in fact.items() if k != "source"})
    wrong = {
        "status": "measured" if fact["status"] != "measured" else "proven",
        "source": " ",
        "formula": (fact["formula"] or "") + " / 2",
        "rests_on": [*fact["rests_on"], "unit.entity"],
    }
    spoiled += [{**fact, part: value} for part, value in wrong.items()]
    for bad in spoiled:
        document["chain"][link][key] = bad
        result = workshop.verify(document)
        assert result.exit_code == 4, bad
        assert link in result.broken_links, bad
    del document["chain"][link][key]
    assert link in workshop.verify(document).broken_links


@pytest.mark.parametrize(("recipe", "name"), CASES)
def test_fact_of_another_case_has_no_place(
    workshop: Any, honest: dict[str, str], recipe: str, name: str
) -> None:
    link, _, key = name.partition(".")
    document = copy_of(workshop, honest, recipe)
    if fact_of(document, name) is not None or name in OF_MOMENTS:
        return
    other = next(
        fact
        for one in RECIPES
        if (fact := fact_of(copy_of(workshop, honest, one), name)) is not None
    )
    document["chain"].setdefault(link, {})[key] = other
    assert link in workshop.verify(document).broken_links


@pytest.mark.parametrize(("recipe", "name"), CASES)
def test_value_of_another_type_never_passes_or_crashes(
    workshop: Any, honest: dict[str, str], recipe: str, name: str
) -> None:
    link, _, key = name.partition(".")
    document = copy_of(workshop, honest, recipe)
    fact = fact_of(document, name)
    if fact is None:
        return
    right = fact["value"]
    allowed: dict[str, list[Any]] = {
        "domain.unprotected": [[]], "domain.labels": [[]], "composition.prior_events": [[]],
        "software.commit": [None], "guarantee.epsilon_labels": [0],
        "composition.prior_releases": [0], "guarantee.proof": ["text"],
        "model.who_is_trusted": ["text"], "mechanism.choice": ["text"],
        "guarantee.delta_justification": ["text"], "preprocessing.projection": [None],
    }  # fmt: skip
    allowed["postprocessing.steps"] = [[]]
    for other in OTHERS:
        is_same = other == right and isinstance(other, bool) == isinstance(right, bool)
        if is_same or other in allowed.get(name, []):
            continue
        document["chain"][link][key]["value"] = other
        result = workshop.verify(document)
        assert result.exit_code in {4, 5}, (name, other)
        assert link in result.broken_links, (name, other)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", "another"), ("schema", None), ("schema_version", 3), ("schema_version", True),
        ("schema_version", "1"), ("previous_hash", "abc"), ("signature", "abc"),
        ("release", {"table.csv": "abc"}), ("release", []), ("chain", []), ("chain", None),
    ],
)  # fmt: skip
def test_envelope(workshop: Any, key: str, value: Any) -> None:
    document = workshop.certificate()
    document[key] = value
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert "document" in result.broken_links


@pytest.mark.parametrize("key", ["schema", "schema_version", "release", "signature", "chain"])
def test_envelope_key_left_out(workshop: Any, key: str) -> None:
    document = workshop.certificate()
    del document[key]
    assert "document" in workshop.verify(document).broken_links


def test_unknown_names_are_broken(workshop: Any) -> None:
    document = workshop.certificate()
    document["chain"]["bound"]["\x1b[31mred"] = document["chain"]["bound"]["norm"]
    document["chain"]["extra"] = {}
    document["another"] = 1
    result = workshop.verify(document)
    assert {"bound", "document"} <= set(result.broken_links)
    assert all("\x1b" not in check.sentence for check in result.checks)


def test_certificate_of_version_1_is_left_open_and_not_called_broken(workshop: Any) -> None:
    document = workshop.certificate()
    document["schema_version"] = 1
    result = workshop.verify(document)
    assert result.exit_code == 5
    assert result.unchecked_links == ("document",)
    assert "version 1" in result.checks[0].sentence
