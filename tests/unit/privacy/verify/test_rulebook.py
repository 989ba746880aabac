"""The rulebook against the published contract, and each key of each fact against the rulebook."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from neuroveil.privacy.verify.rulebook import RULES

NAMES = [rule.name for rule in RULES]
OTHERS: list[Any] = [None, True, False, -1, 0, "text", "", [], {}, [[]], {"a": 1}, 1e300]


def test_rulebook_is_the_table_of_the_contract(workshop: Any) -> None:
    table = workshop.contract()
    assert list(table) == NAMES
    for rule in RULES:
        lines = [(rule.status, d.formula, list(d.rests_on)) for d in rule.derivations]
        assert lines == table[rule.name], rule.name


def test_facts_rest_on_facts_that_exist() -> None:
    rested_on = {name for rule in RULES for d in rule.derivations for name in d.rests_on}
    assert rested_on <= set(NAMES)


def test_no_fact_rests_on_itself_even_by_detours() -> None:
    """Except for the noise scale and the price of integer noise, which are solved together."""
    rests = {rule.name: {n for d in rule.derivations for n in d.rests_on} for rule in RULES}
    rests["guarantee.delta_slack"] -= {"mechanism.integer_scale"}
    done: set[str] = set()
    while ready := {name for name in NAMES if name not in done and rests[name] <= done}:
        done |= ready
    assert done == set(NAMES)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("bound", ["l2", "l1"])
def test_honest_certificate_holds(workshop: Any, mechanism: str, bound: str) -> None:
    result = workshop.verify(workshop.certificate(mechanism=mechanism, bound=bound))
    assert result.exit_code == 0, result.sentence
    assert set(result.links.values()) == {"holds"}


@pytest.mark.parametrize("name", NAMES)
def test_missing_fact_is_named(workshop: Any, name: str) -> None:
    document = workshop.certificate()
    link, key = name.split(".")
    del document["chain"][link][key]
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert link in result.broken_links


@pytest.mark.parametrize("name", NAMES)
def test_every_key_of_every_fact_is_fixed(workshop: Any, name: str) -> None:
    link, fact_name = name.split(".")
    for key in ("status", "source", "formula", "rests_on"):
        document = workshop.certificate()
        fact = document["chain"][link][fact_name]
        wrong = {
            "status": "measured" if fact["status"] != "measured" else "proven",
            "source": " ",
            "formula": (fact["formula"] or "") + " / 2",
            "rests_on": [*fact["rests_on"], "unit.entity"],
        }
        fact[key] = wrong[key]
        result = workshop.verify(document)
        assert result.exit_code == 4, key
        assert link in result.broken_links, key


@pytest.mark.parametrize("name", NAMES)
def test_fact_with_other_keys_is_named(workshop: Any, name: str) -> None:
    link, key = name.split(".")
    for change in ("add", "remove"):
        document = workshop.certificate()
        fact = document["chain"][link][key]
        if change == "add":
            fact["note"] = "trust me"
        else:
            del fact["source"]
        assert link in workshop.verify(document).broken_links


@pytest.mark.parametrize("name", NAMES)
def test_value_of_another_type_never_passes_or_crashes(workshop: Any, name: str) -> None:
    honest = workshop.certificate()
    link, key = name.split(".")
    right = honest["chain"][link][key]["value"]
    allowed = {
        "domain.unprotected": [[]], "domain.labels": [[]], "postprocessing.steps": [[]],
        "software.commit": [None], "guarantee.epsilon_labels": [0],
        "composition.prior_releases": [0],
        "guarantee.proof": ["text"], "model.who_is_trusted": ["text"],
    }  # fmt: skip
    for other in OTHERS:
        if other == right or other in allowed.get(name, []):
            continue
        document = copy.deepcopy(honest)
        document["chain"][link][key]["value"] = other
        result = workshop.verify(document)
        assert result.exit_code == 4, (name, other)
        assert link in result.broken_links, (name, other)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", "another"), ("schema", None), ("schema_version", 2), ("schema_version", True),
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
