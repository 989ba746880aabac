"""Certificates against the contract of docs/certificate.md, fact by fact."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy import private_statistics_scaling, protect, release_any, simulate
from neuroveil.privacy.central.dp_scaling import ScalingBudget
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.settings import Postprocessing, Projection
from neuroveil.types.certificate import LINKS, Certificate, canonical_json, digest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "certificate.md"
CASES = [
    "gaussian", "gaussian_large_epsilon", "laplace", "laplace_l1", "paper_laplace", "privunit",
    "privunit_fresh", "projected", "projected_gaussian", "shuffled", "james_stein", "moments",
    "drawn_gaussian", "drawn_gaussian_large_epsilon", "drawn_privunit", "drawn_moments",
]  # fmt: skip


@dataclass(frozen=True)
class Line:
    """One line of the table of facts."""

    case: str
    status: str
    formula: str | None
    rests_on: tuple[str, ...]

    def applies(self, certificate: Certificate) -> bool:
        """Whether the case is that of a certificate; prose in a case never excludes it."""
        groups = [group.split(",") for group in self.case.split(";") if group.strip()]
        return all(any(term_holds(t.strip(), certificate) for t in terms) for terms in groups)

    def fits(self, fact: dict[str, Any]) -> bool:
        """Whether a fact repeats the line letter by letter."""
        stated = (fact["status"], fact["formula"], tuple(fact["rests_on"]))
        return stated == (self.status, self.formula, self.rests_on)


MECHANISMS = ("gaussian", "laplace", "paper_laplace", "privunit", "mean_covariance")


def term_holds(term: str, certificate: Certificate) -> bool:
    value = certificate.value
    is_projected = value("preprocessing.projection") is not None
    known = {
        **dict.fromkeys(MECHANISMS, "mechanism.name"),
        **dict.fromkeys(("local", "shuffled", "central"), "model.trust"),
        **dict.fromkeys(("basic", "pld"), "composition.rule"),
        **dict.fromkeys(("privacy_blanket", "clones_2021"), "amplification.bound"),
        **dict.fromkeys(("l1", "l2"), "bound.norm"),
    }
    if term in {"projected", "not projected"}:
        return is_projected == (term == "projected")
    if term in {"drawn", "not drawn"}:
        is_drawn = value("preprocessing.scaling")["fitted_on"] == "dp"
        return is_drawn == (term == "drawn")
    if term not in known:
        return True
    link, _, name = known[term].partition(".")
    return link in certificate.chain and certificate.chain[link][name].value == term


def contract() -> dict[str, list[Line]]:
    """The table of facts: for each dotted name its lines."""
    found: dict[str, list[Line]] = {}
    rests_on: tuple[str, ...] = ()
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        name = re.match(r"`([a-z]+\.[a-z_0-9]+)`(?: \((.*)\))?$", cells[0]) if cells else None
        if not name or len(cells) != 5 or cells[2] not in {"proven", "measured", "assumed"}:
            continue
        names = tuple(re.findall(r"`([^`]+)`", cells[4]))
        rests_on = rests_on + names if cells[4].startswith("the same") else names
        formula = cells[3].strip("`") or None
        found.setdefault(name[1], []).append(Line(name[2] or "", cells[2], formula, rests_on))
    return found


@pytest.fixture
def certificate_of(
    request: pytest.FixtureRequest, table, scaling, correlated, pay
) -> Callable[[str], Certificate]:
    """The certificate of a case: of a release where there can be one, else of a simulation."""
    gaussian, laplace, privunit, shuffled, paper_laplace = (
        request.getfixturevalue(name)
        for name in ("gaussian", "laplace", "privunit", "shuffled", "paper_laplace")
    )
    cases = {
        "gaussian": gaussian,
        "gaussian_large_epsilon": replace(gaussian, epsilon=45.0),
        "laplace": laplace,
        "laplace_l1": replace(laplace, norm="l1"),
        "privunit": privunit,
        "privunit_fresh": replace(
            privunit, epsilon=1.0, codebook=CodebookOptions(4096, fresh_per_row=True)
        ),
        "projected": replace(privunit, projection=Projection(4)),
        "projected_gaussian": replace(gaussian, projection=Projection(4)),
        "shuffled": shuffled,
        "james_stein": replace(laplace, postprocessing=Postprocessing("james_stein")),
        "moments": replace(gaussian, mechanism="mean_covariance", trust_model="central", labels=()),
    }
    drawn = {"trust_model": "central", "scaling_budget": ScalingBudget(400.0, 4e-6)}
    cases |= {
        "drawn_gaussian": replace(gaussian, delta=6e-6, **drawn),
        "drawn_gaussian_large_epsilon": replace(gaussian, delta=6e-6, epsilon=45.0, **drawn),
        "drawn_privunit": replace(privunit, **drawn),
        "drawn_moments": replace(cases["moments"], delta=6e-6, **drawn),
    }

    def make(case: str) -> Certificate:
        if case == "paper_laplace":
            return next(simulate(table, scaling, paper_laplace, seed=1)).certificate
        constants = scaling if case in {"gaussian", "laplace", "james_stein"} else correlated
        return release_any(table, constants, cases[case], pay(cases[case], table)).certificate

    return make


def test_the_contract_is_read_as_it_is_printed() -> None:
    facts = contract()
    assert len(facts) == 103
    assert facts["adjacency.factor"] == [
        Line("", "proven", "2 for replace_one, 1 for add_or_remove_one", ("adjacency.relation",))
    ]
    assert len(facts["guarantee.delta_slack"]) == 9
    assert facts["sensitivity.value"][1].rests_on[-1] == "bound.dimension"
    assert facts["mechanism.epsilon"][1].case == "shuffled"


@pytest.mark.parametrize("case", CASES)
def test_every_fact_has_the_status_formula_and_rests_on_of_the_contract(
    certificate_of: Callable[[str], Certificate], case: str
) -> None:
    certificate = certificate_of(case)
    stated = {
        f"{link}.{name}": fact
        for link, names in certificate.to_json()["chain"].items()
        for name, fact in names.items()
    }
    lines = {
        name: [line for line in found if line.applies(certificate)]
        for name, found in contract().items()
    }
    assert set(stated) == {name for name, found in lines.items() if found}
    for name, fact in stated.items():
        assert any(line.fits(fact) for line in lines[name]), name
        assert fact["source"]


@pytest.mark.parametrize("case", CASES)
def test_links_stand_in_the_order_of_the_derivation_and_rest_on_facts(
    certificate_of: Callable[[str], Certificate], case: str
) -> None:
    certificate = certificate_of(case)
    assert tuple(certificate.chain) == tuple(link for link in LINKS if link in certificate.chain)
    assert set(LINKS) - set(certificate.chain) <= {"aggregates", "amplification"}
    for facts in certificate.chain.values():
        for fact in facts.values():
            for name in fact.rests_on:
                certificate.value(name)


@pytest.mark.parametrize("case", CASES)
def test_a_certificate_is_plain_finite_json(
    certificate_of: Callable[[str], Certificate], case: str
) -> None:
    document = certificate_of(case).to_json()
    assert json.loads(canonical_json(document)) == document


def test_the_numbers_of_a_gaussian_certificate(
    certificate_of: Callable[[str], Certificate],
) -> None:
    value = certificate_of("gaussian").value
    d = 33
    assert (value("domain.dimension"), value("domain.n"), value("adjacency.n_roster")) == (d, 5, 5)
    assert value("adjacency.factor") * value("bound.clip_norm") == value("sensitivity.value") == 4.0
    assert value("sensitivity.norm") == value("mechanism.consumes_norm") == "l2"
    assert value("mechanism.noise_scale") == pytest.approx(14.92252654)
    assert value("mechanism.noise_std") == value("mechanism.noise_scale")
    assert value("mechanism.noise_multiplier") == value("mechanism.noise_std") / 4.0
    assert value("mechanism.integer_scale") == value("mechanism.noise_scale") * 2.0**40
    assert value("guarantee.epsilon") == 1.5
    assert value("guarantee.epsilon_rows") == 1.0
    assert value("guarantee.epsilon_labels") == 0.5
    assert 1 - 1e-11 < value("guarantee.epsilon_supported") <= 1.0
    slack = (1 + math.e) * d / (24 * value("mechanism.integer_scale") ** 2)
    assert slack <= value("guarantee.delta_slack") <= slack * (1 + 1e-11)
    assert value("guarantee.delta_calibrated") < value("guarantee.delta") == 1e-5
    assert value("domain.labels") == [
        {"name": "sex", "policy": "randomised_response", "n_categories": 2, "epsilon": 0.5}
    ]
    assert value("domain.unprotected") == ["diagnosis"]
    assert value("accountant.events") == [
        {
            "mechanism": "gaussian",
            "noise_multiplier": value("mechanism.noise_multiplier"),
            "releases": 1,
        },
        {"mechanism": "randomised_response", "epsilon": 0.5, "releases": 1},
    ]
    check = value("accountant.cross_check")
    assert check["epsilon"] == pytest.approx(1.0, rel=3e-4)
    assert check["delta"] == value("guarantee.delta_calibrated")
    assert check["zcdp_rho"] == pytest.approx(16 / (2 * 14.92252654**2))
    limit, spent, left = (
        value(f"composition.{name}") for name in ("limit", "spent_before", "remaining")
    )
    assert (limit, spent) == ({"epsilon": 1000.0, "delta": 0.1}, {"epsilon": 0.0, "delta": 0.0})
    assert left == {"epsilon": 998.5, "delta": pytest.approx(0.09999)}


def test_at_large_epsilon_the_second_slack_is_stated(
    certificate_of: Callable[[str], Certificate],
) -> None:
    fact = certificate_of("gaussian_large_epsilon").chain["guarantee"]["delta_slack"]
    assert fact.formula is not None
    assert "e^-99" in fact.formula
    assert 0 < fact.value < 1e-20


def test_the_numbers_of_laplace_certificates(certificate_of: Callable[[str], Certificate]) -> None:
    value = certificate_of("laplace").value
    assert value("sensitivity.value") == pytest.approx(4 * math.sqrt(33))
    assert value("mechanism.noise_scale") == value("sensitivity.value")
    assert value("mechanism.noise_std") == pytest.approx(math.sqrt(2) * 4 * math.sqrt(33))
    assert (value("guarantee.delta"), value("guarantee.delta_slack")) == (0, 0)
    assert value("guarantee.epsilon_supported") <= 1.0
    assert certificate_of("laplace_l1").value("sensitivity.value") == 4.0
    assert certificate_of("laplace_l1").value("mechanism.noise_scale") == 4.0


def test_the_papers_laplace_is_found_out(certificate_of: Callable[[str], Certificate]) -> None:
    certificate = certificate_of("paper_laplace")
    assert not certificate.formal_guarantee
    assert certificate.value("mechanism.noise_scale") == 4.0
    assert certificate.value("sensitivity.norm") == "l1"
    assert certificate.value("sensitivity.value") == pytest.approx(4 * math.sqrt(33))
    assert certificate.value("guarantee.epsilon_supported") == pytest.approx(math.sqrt(33))
    assert certificate.verdict.startswith("Not differentially private at epsilon = 1, delta = 0.")
    assert certificate.blocking_reasons[0] == (
        "mechanism: the noise scale is 5.745 times too small; "
        "as pure DP it supports epsilon = 5.745"
    )


def test_private_scaling_voids_the_guarantee_and_publishes_no_digest(gaussian, table, pay) -> None:
    settings = replace(gaussian, acknowledge_private_statistics=True)
    private = private_statistics_scaling(table)
    certificate = protect(table, private, settings, pay(settings, table)).certificate
    assert not certificate.formal_guarantee
    assert certificate.blocking_reasons == (
        "preprocessing: the scaling constants were fitted on the private cohort without a budget",
    )
    step = certificate.value("preprocessing.scaling")
    assert step["fitted_on"] == "private"
    assert private.digest not in canonical_json(certificate.to_json()).decode()


def test_public_scaling_is_named_and_hashed(gaussian, table, scaling, pay) -> None:
    certificate = protect(table, scaling, gaussian, pay(gaussian, table)).certificate
    step = certificate.value("preprocessing.scaling")
    assert step["params"]["reference"] == "test v1"
    assert step["params"]["constants_digest"] == scaling.digest
    for name in ("features", "scaling"):
        step = certificate.value(f"preprocessing.{name}")
        assert step["params_digest"] == digest(canonical_json(step["params"]))
    assert certificate.value("preprocessing.features")["params"] == {"line_hz": 50}


def test_a_simulation_is_blocked_by_its_seed_and_its_missing_charge(
    gaussian, table, scaling
) -> None:
    certificate = next(simulate(table, scaling, gaussian, seed=1)).certificate
    assert [reason.split(":")[0] for reason in certificate.blocking_reasons] == [
        "sampler", "composition",
    ]  # fmt: skip
    assert certificate.value("sampler.seeded") is True
    assert not certificate.formal_guarantee


def test_software_versions_are_measured(gaussian, table, scaling, pay) -> None:
    settings = replace(
        gaussian, software_versions={"mne": "1.9", "opendp": "0.0"}, commit="0abc123"
    )
    value = protect(table, scaling, settings, pay(settings, table)).certificate.value
    versions = value("software.versions")
    assert versions["mne"] == "1.9"
    assert versions["opendp"] == value("sampler.version") == version("opendp")
    assert versions["neuroveil"] == value("accountant.version")
    assert value("software.lock_digest") == digest(canonical_json(versions))
    assert value("software.commit") == "0abc123"


@pytest.mark.parametrize("bad", [{"x": math.nan}, {"x": {1, 2}}], ids=["NaN", "a set"])
def test_preprocessing_that_cannot_be_written_is_refused_before_the_spend(
    gaussian, table, scaling, pay, bad
) -> None:
    settings = replace(gaussian, preprocessing=bad)
    charge = pay(settings, table)
    with pytest.raises(ChainError, match=r"preprocessing\.features"):
        protect(table, scaling, settings, charge)
    assert not charge.is_consumed
