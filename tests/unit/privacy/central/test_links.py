"""Facts of central releases: numbers that follow from each other, and names that exist."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pytest

from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.central.quantile_spec import QuantileSpec
from neuroveil.privacy.central.quantiles import DpQuantiles
from neuroveil.types.certificate import LINKS, Fact

Facts = Mapping[str, Mapping[str, Fact]]

ELSEWHERE = {
    "adjacency.factor", "adjacency.relation", "adjacency.n_roster", "domain.dimension", "domain.n",
    "unit.rows_per_unit_max", "preprocessing.scaling",
}  # fmt: skip
CASES: dict[str, Facts] = {
    "mean and covariance": MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 363, 2000)).facts(),
    "large epsilon": MeanCovariance(MomentSpec(60.0, 1e-5, 2.0, 363, 2000)).facts(),
    "second moment": MeanCovariance(MomentSpec(1.0, 1e-5, 2.0, 363, 2000, 0.0)).facts(),
    "quantiles": DpQuantiles(QuantileSpec(1.0, 1e-5, 363, 2000)).facts(),
    "pure quantiles": DpQuantiles(QuantileSpec(1.0, 0.0, 363, 2000)).facts(),
}
every_case = pytest.mark.parametrize("facts", list(CASES.values()), ids=list(CASES))


def values(facts: Facts, link: str) -> dict[str, float]:
    return {name: fact.value for name, fact in facts[link].items()}


@every_case
def test_every_fact_rests_on_facts_that_exist(facts: Facts) -> None:
    known = {f"{link}.{name}" for link, named in facts.items() for name in named} | ELSEWHERE
    assert set(facts) <= set(LINKS)
    for link, named in facts.items():
        for name, fact in named.items():
            assert set(fact.rests_on) <= known, f"{link}.{name}"
            assert (fact.status == "proven") == bool(fact.rests_on) or fact.status == "measured"
            assert fact.source


@every_case
def test_facts_are_plain_finite_data(facts: Facts) -> None:
    named = {link: {name: fact.to_json() for name, fact in group.items()}
             for link, group in facts.items()}  # fmt: skip
    assert json.loads(json.dumps(named, allow_nan=False)) == named


@every_case
def test_somebody_is_trusted(facts: Facts) -> None:
    assert facts["model"]["trust"].value == "central"
    assert "rows together" in facts["model"]["who_is_trusted"].value
    assert facts["model"]["batch"].value == 2000


@pytest.mark.parametrize("case", ["mean and covariance", "large epsilon", "second moment"])
def test_numbers_of_moments_follow_from_each_other(case: str) -> None:
    facts = CASES[case]
    distance, noise = values(facts, "sensitivity"), values(facts, "mechanism")
    promised, bound = values(facts, "guarantee"), values(facts, "bound")
    share, scale = noise["mean_share"], noise["noise_scale"]
    assert distance["value"] ** 2 == pytest.approx(
        share / 2 + (1 - share) + share**2 / (16 * (1 - share))
    )
    assert distance["second_moment"] == pytest.approx(math.sqrt(2) * 4)
    whole = distance["second_moment"] * scale / math.sqrt(1 - share)
    assert noise["noise_std_diagonal"] == pytest.approx(whole)
    assert noise["noise_std_off_diagonal"] == pytest.approx(whole / math.sqrt(2))
    smallest = noise["noise_std_off_diagonal"] / 4.0 ** bound["grid_log2"]
    if share:
        assert distance["sum"] == 4.0
        assert noise["noise_std_sum"] == pytest.approx(4 * scale / math.sqrt(share))
        smallest = min(smallest, noise["noise_std_sum"] / 2.0 ** bound["grid_log2"])
    assert noise["integer_scale"] == smallest
    assert promised["zcdp_rho"] == pytest.approx(distance["value"] ** 2 / (2 * scale**2))
    parts = promised["zcdp_rho_sum"] + promised["zcdp_rho_second_moment"]
    assert parts == pytest.approx(1 / (2 * scale**2))
    assert promised["delta_slack"] + promised["delta_calibrated"] == pytest.approx(1e-5, rel=1e-15)
    assert promised["epsilon_supported"] <= promised["epsilon_rows"]
    slack = promised["epsilon_slack"]
    assert (slack > 0) == (case == "large epsilon")
    count = 363 * 364 // 2 + (363 if share else 0)
    assert noise["n_coordinates"] == count
    simple = (1 + math.exp(promised["epsilon_rows"])) * count / (24 * smallest**2)
    if not slack:
        assert promised["delta_slack"] == pytest.approx(simple)
    else:
        assert promised["delta_slack"] < simple


@pytest.mark.parametrize("case", ["quantiles", "pure quantiles"])
def test_numbers_of_quantiles_follow_from_each_other(case: str) -> None:
    noise, promised = values(CASES[case], "mechanism"), values(CASES[case], "guarantee")
    count, each = noise["n_quantiles"], noise["epsilon_each"]
    assert count == 2 * 363
    assert CASES[case]["sensitivity"]["value"].value == 1
    assert promised["epsilon_pure"] == pytest.approx(count * each)
    assert promised["zcdp_rho"] == pytest.approx(count * each**2 / 8)
    assert promised["variant"] == ("pure_dp" if case.startswith("pure") else "approximate_dp")
