"""Forged certificates: each weakened or misstated link is caught and named.

Forgeries come in two strengths: one field changed alone, and the change carried through
everything that follows from it, with verdict and digests to match.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

LABEL = {"name": "diagnosis", "policy": "randomised_response", "n_categories": 2, "epsilon": 0.5}


def sentence(result: Any, name: str) -> str:
    return " ".join(check.sentence for check in result.checks if check.id == name)


# The five forgeries that every release path has to fear.


def test_l2_sensitivity_fed_to_laplace(workshop: Any) -> None:
    document = workshop.certificate(mechanism="laplace")
    for name, value in {
        "sensitivity.norm": "l2", "sensitivity.value": 4.0, "mechanism.noise_scale": 4.0,
        "mechanism.noise_std": math.sqrt(2) * 4.0, "mechanism.noise_multiplier": math.sqrt(2),
        "mechanism.integer_scale": 4.0 * 2.0**40,
    }.items():  # fmt: skip
        workshop.put(document, name, value)
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert "mechanism" in result.broken_links
    assert "Norm mismatch" in sentence(result, "mechanism.norm_match")
    assert "19.05 times" in sentence(result, "mechanism.noise_scale")


@pytest.mark.parametrize("dimension", [1, 33, 362])
def test_wrong_dimension(workshop: Any, dimension: int) -> None:
    """Fewer columns than released make the l1 sensitivity, and so the noise, too small."""
    document = workshop.certificate(mechanism="laplace")
    smaller = workshop.Recipe(mechanism="laplace", columns=[f"c{i}" for i in range(dimension)])
    other = workshop.certificate_of(smaller)
    for name in ("sensitivity", "mechanism", "guarantee", "accountant"):
        document["chain"][name] = other["chain"][name]
    result = workshop.verify(document)
    assert {"sensitivity", "mechanism"} <= set(result.broken_links)


def test_adjacency_factor_left_out(workshop: Any) -> None:
    """C for 2C, and everything after it to match."""
    result = workshop.verify(workshop.certificate(factor=1))
    assert {"adjacency", "sensitivity", "mechanism"} <= set(result.broken_links)
    assert "factor of the relation is left out" in sentence(result, "adjacency.factor")


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("factor", [0.1, 0.9, 1 - 1e-9])
def test_noise_below_the_required(workshop: Any, mechanism: str, factor: float) -> None:
    result = workshop.verify(workshop.certificate(mechanism=mechanism, noise_factor=factor))
    assert result.exit_code == 4
    assert "mechanism" in result.broken_links


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_private_scaling(workshop: Any, mechanism: str) -> None:
    """Hidden: broken. Admitted: still no guarantee, and only that link is named."""
    document = workshop.certificate(mechanism=mechanism, fitted_on="private")
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert result.broken_links == ("preprocessing",)
    assert "C*sqrt(2(n+1)) = 12 in L2 where 4 was claimed" in sentence(
        result, "preprocessing.scaling"
    )
    document["formal_guarantee"], document["blocking_reasons"] = True, []
    workshop.say_verdict(document)
    assert set(workshop.verify(document).broken_links) == {"preprocessing", "verdict"}


def test_private_scaling_called_public(workshop: Any) -> None:
    """Public constants have a digest, which private ones never get."""
    document = workshop.certificate(fitted_on="private")
    document["chain"]["preprocessing"]["scaling"]["value"]["fitted_on"] = "public"
    document["formal_guarantee"], document["blocking_reasons"] = True, []
    workshop.say_verdict(document)
    assert set(workshop.verify(document).broken_links) == {"preprocessing", "verdict"}


def test_private_constants_with_a_digest(workshop: Any) -> None:
    document = workshop.certificate()
    document["chain"]["preprocessing"]["scaling"]["value"]["fitted_on"] = "private"
    found = [c.id for c in workshop.verify(document).checks if c.outcome == "broken"]
    assert "preprocessing.scaling.constants_digest" in found


def test_private_scaling_says_what_the_noise_supports(workshop: Any) -> None:
    """Section 6 of the mathematics: the paper's epsilon = 1 is 3.41."""
    result = workshop.verify(workshop.certificate(fitted_on="private"))
    assert "epsilon = 3.41 instead of 1" in sentence(result, "preprocessing.scaling")


def test_paper_laplace_admits_what_it_is(workshop: Any) -> None:
    result = workshop.verify(workshop.certificate(mechanism="paper_laplace"))
    assert result.exit_code == 4
    assert result.broken_links == ("mechanism",)
    words = sentence(result, "mechanism.noise_scale")
    assert "19.05 times too small" in words
    assert "variance 363 times" in words
    assert "epsilon = 19.05" in words


def test_paper_laplace_in_one_dimension_is_right(workshop: Any) -> None:
    document = workshop.certificate(mechanism="paper_laplace", columns=["only"])
    document["formal_guarantee"], document["blocking_reasons"] = True, []
    workshop.say_verdict(document)
    assert workshop.verify(document).exit_code == 0


# One field alone.

ALONE: list[tuple[str, Any, str]] = [
    ("adjacency.factor", 1, "adjacency"),
    ("adjacency.n_roster", 18, "domain"),
    ("domain.n", 16, "domain"),
    ("bound.norm", "l1", "bound"),
    ("bound.clip_norm", 1.0, "sensitivity"),
    ("bound.clip_norm", 3.0, "sensitivity"),
    ("bound.grid_log2", -41, "mechanism"),
    ("bound.exact_integer_check", False, "bound"),
    ("sensitivity.norm", "l1", "sensitivity"),
    ("sensitivity.value", 3.9999999, "sensitivity"),
    ("sensitivity.value", 4.0001, "sensitivity"),
    ("mechanism.name", "laplace", "mechanism"),
    ("mechanism.distribution", "discrete_laplace", "mechanism"),
    ("mechanism.consumes_norm", "l1", "mechanism"),
    ("mechanism.noise_scale", 14.9, "mechanism"),
    ("mechanism.noise_scale", 15.0, "mechanism"),
    ("mechanism.noise_std", 14.9, "mechanism"),
    ("mechanism.noise_multiplier", 7.46, "mechanism"),
    ("mechanism.integer_scale", 1.64e13, "mechanism"),
    ("mechanism.rounding", "down", "mechanism"),
    ("sampler.library", "numpy", "sampler"),
    ("sampler.version", "0.1", "sampler"),
    ("sampler.exact", False, "sampler"),
    ("sampler.source", "mersenne_twister", "sampler"),
    ("sampler.seeded", True, "sampler"),
    ("guarantee.variant", "pure_dp", "guarantee"),
    ("guarantee.epsilon", 0.5, "guarantee"),
    ("guarantee.epsilon_rows", 0.5, "guarantee"),
    ("guarantee.epsilon_labels", 0.5, "guarantee"),
    ("guarantee.epsilon_supported", 0.99, "guarantee"),
    ("guarantee.epsilon_supported", 1.01, "guarantee"),
    ("guarantee.delta", 1e-6, "guarantee"),
    ("guarantee.delta", 0.0, "guarantee"),
    ("guarantee.delta", 1.0, "guarantee"),
    ("guarantee.delta_slack", 0.0, "guarantee"),
    ("guarantee.delta_slack", 1e-6, "guarantee"),
    ("guarantee.delta_calibrated", 2e-5, "guarantee"),
    ("accountant.name", "laplace_closed_form", "accountant"),
    ("accountant.version", "9.9", "accountant"),
    ("accountant.adjacency", "add_or_remove_one", "accountant"),
    ("accountant.events", [], "accountant"),
    ("composition.limit", {"epsilon": 0.5, "delta": 1e-4}, "composition"),
    ("composition.spent_before", {"epsilon": 1.0, "delta": 0.0}, "composition"),
    ("composition.remaining", {"epsilon": 9.5, "delta": 9e-5}, "composition"),
    ("composition.remaining", {"epsilon": 9.0, "delta": 1e-4}, "composition"),
    ("composition.prior_releases", 3, "composition"),
    ("composition.rule", "advanced", "composition"),
    ("model.trust", "shuffled", "amplification"),
    ("model.trust", "anybody", "model"),
    ("model.trust", "central", "model"),
    ("model.batch", 16, "model"),
    ("postprocessing.row_order", "as_given", "postprocessing"),
    ("utility.source", "private", "utility"),
    ("software.commit", "main", "software"),
]


@pytest.mark.parametrize(("name", "value", "link"), ALONE)
def test_one_field_alone(workshop: Any, name: str, value: Any, link: str) -> None:
    document = workshop.certificate()
    workshop.put(document, name, value)
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert link in result.broken_links


@pytest.mark.parametrize(
    "key", ["rmse", "mae", "correlation", "snr_db", "mse_over_clip_norm_squared"]
)
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_utility_is_recomputed(workshop: Any, key: str, mechanism: str) -> None:
    document = workshop.certificate(mechanism=mechanism)
    document["chain"]["utility"]["predicted"]["value"][key] *= 1.0001
    assert workshop.verify(document).broken_links == ("utility", "verdict")


@pytest.mark.parametrize("key", ["epsilon", "delta", "zcdp_rho"])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_second_opinion_is_recomputed(workshop: Any, key: str, factor: float) -> None:
    document = workshop.certificate()
    document["chain"]["accountant"]["cross_check"]["value"][key] *= factor
    assert "accountant" in workshop.verify(document).broken_links


def test_second_opinion_may_be_absent_only_out_of_reach(workshop: Any) -> None:
    for epsilon, code in ((1.0, 4), (60.0, 0)):
        document = workshop.certificate(
            epsilon_rows=epsilon, second_proof=True, limit=(100.0, 1e-4)
        )
        document["chain"]["accountant"]["cross_check"]["value"]["epsilon"] = None
        assert workshop.verify(document).exit_code == code


@pytest.mark.parametrize("fact", ["features", "scaling"])
def test_settings_have_their_digest(workshop: Any, fact: str) -> None:
    document = workshop.certificate()
    document["chain"]["preprocessing"][fact]["value"]["params"]["reference"] = "another"
    assert "preprocessing" in workshop.verify(document).broken_links


def test_second_opinion_has_the_version_of_its_library(workshop: Any) -> None:
    document = workshop.certificate()
    document["chain"]["accountant"]["cross_check"]["value"]["version"] = "0.5.0"
    assert workshop.verify(document).broken_links == ("accountant", "verdict")


def test_versions_have_their_digest(workshop: Any) -> None:
    document = workshop.certificate()
    document["chain"]["software"]["versions"]["value"]["python"] = "3.12.0"
    assert workshop.verify(document).broken_links == ("software", "verdict")


# Consistent forgeries that the certificate alone shows.


def test_epsilon_halved_consistently_but_not_the_noise(workshop: Any) -> None:
    document = workshop.certificate(epsilon_rows=1.0)
    other = workshop.certificate(epsilon_rows=0.5)
    document["chain"]["guarantee"] = other["chain"]["guarantee"]
    document["chain"]["composition"] = other["chain"]["composition"]
    workshop.say_verdict(document)
    assert "mechanism" in workshop.verify(document).broken_links


def test_relation_of_another_kind(workshop: Any) -> None:
    document = workshop.certificate(factor=1)
    workshop.put(document, "adjacency.relation", "add_or_remove_one")
    workshop.put(document, "accountant.adjacency", "add_or_remove_one")
    result = workshop.verify(document)
    assert "adjacency" in result.broken_links
    assert "shows how many patients" in sentence(result, "adjacency.relation")


def test_budget_overspent_consistently(workshop: Any) -> None:
    document = workshop.certificate(prior=(2, 9.5, 2e-5))
    result = workshop.verify(document)
    assert "composition" in result.broken_links
    document = workshop.certificate(prior=(2, 9.0, 9.5e-5))
    assert "composition" in workshop.verify(document).broken_links
    assert workshop.verify(workshop.certificate(prior=(2, 9.0, 9e-5))).exit_code == 0


def test_labels_are_paid_for(workshop: Any) -> None:
    document = workshop.certificate(labels=[dict(LABEL)], unprotected=["age"])
    assert workshop.verify(document).exit_code == 0
    assert document["verdict"].endswith("Not covered: age.")
    document["chain"]["domain"]["labels"]["value"][0]["epsilon"] = 5.0
    result = workshop.verify(document)
    assert {"guarantee", "accountant"} <= set(result.broken_links)


@pytest.mark.parametrize(
    "change", [{"policy": "none"}, {"n_categories": 1}, {"epsilon": 0}, {"name": ""}, {"more": 1}]
)
def test_label_of_the_wrong_form(workshop: Any, change: dict[str, Any]) -> None:
    document = workshop.certificate(labels=[dict(LABEL)])
    document["chain"]["domain"]["labels"]["value"][0].update(change)
    assert "domain" in workshop.verify(document).broken_links


def test_label_cannot_be_protected_and_unprotected(workshop: Any) -> None:
    document = workshop.certificate(labels=[dict(LABEL)], unprotected=["diagnosis"])
    assert "domain" in workshop.verify(document).broken_links


# Conclusions.


def test_guarantee_denied_without_a_reason(workshop: Any) -> None:
    document = workshop.certificate()
    document["formal_guarantee"] = False
    document["blocking_reasons"] = ["mechanism: none"]
    workshop.say_verdict(document)
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert result.broken_links == ("verdict",)


@pytest.mark.parametrize(
    ("old", "new"),
    [("epsilon = 1.0", "epsilon = 0.1"), ("delta = 1e-05", "delta = 1e-07"),
     ("for every patient", "for every recording"), ("Diff", "Perfectly safe. Diff")],
)  # fmt: skip
def test_verdict_says_what_the_chain_says(workshop: Any, old: str, new: str) -> None:
    document = workshop.certificate()
    document["verdict"] = document["verdict"].replace(old, new)
    assert workshop.verify(document).broken_links == ("verdict",)


def test_verdict_names_what_is_not_covered(workshop: Any) -> None:
    document = workshop.certificate(unprotected=["sex"])
    document["verdict"] = document["verdict"].replace(" Not covered: sex.", "")
    assert workshop.verify(document).broken_links == ("verdict",)


def test_every_broken_link_needs_its_reason(workshop: Any) -> None:
    document = workshop.certificate(mechanism="paper_laplace", fitted_on="private")
    assert workshop.verify(document).broken_links == ("preprocessing", "mechanism")
    document["blocking_reasons"].pop()
    workshop.say_verdict(document)
    assert "verdict" in workshop.verify(document).broken_links


# Second proof of the price of integer noise, for large epsilon.


@pytest.mark.parametrize("epsilon", [1.0, 60.0, 1000.0])
def test_second_slack_formula(workshop: Any, epsilon: float) -> None:
    document = workshop.certificate(epsilon_rows=epsilon, second_proof=True, limit=(2000.0, 1e-4))
    assert workshop.verify(document).exit_code == 0
    document["chain"]["guarantee"]["delta_slack"]["value"] *= 0.9
    assert "guarantee" in workshop.verify(document).broken_links


def test_first_slack_formula_does_not_carry_large_epsilon(workshop: Any) -> None:
    """The price (1 + e^60) d / (24 s^2) is far above delta: it has to be named truly."""
    document = workshop.certificate(epsilon_rows=60.0, second_proof=True, limit=(100.0, 1e-4))
    right = next(line for line in workshop.contract() if line[0] == "guarantee.delta_slack")
    document["chain"]["guarantee"]["delta_slack"].update(formula=right[3], rests_on=right[4])
    assert workshop.verify(document).broken_links == ("guarantee", "verdict")
