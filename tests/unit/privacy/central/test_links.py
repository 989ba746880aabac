"""Facts of central releases: numbers that follow from each other, and names that exist."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction

import pytest

from neuroveil.privacy.central.mean_covariance import MeanCovariance
from neuroveil.privacy.central.moment_spec import MomentSpec
from neuroveil.privacy.central.quantile_budget import QuantileBudget
from neuroveil.privacy.central.quantile_links import quantile_facts
from neuroveil.privacy.central.quantile_spec import QuantileSpec
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


@pytest.mark.parametrize("delta", [1e-5, 0.0])
def test_numbers_of_quantiles_follow_from_each_other(delta: float) -> None:
    facts = quantile_facts(QuantileBudget(QuantileSpec(1.0, delta, 363, 2000)))
    found = {name: fact.value for name, fact in facts.items()}
    count, each = found["n_quantiles"], found["quantile_epsilon"]
    assert count == 2 * 363
    assert (count * each > 1) == (delta > 0)  # beyond adding up, delta pays
    assert found["quantile_rho"] == pytest.approx(count * each**2 / 8)
    assert found["quantiles"]["probabilities"] == [0.5]
    known = {f"preprocessing.{name}" for name in facts} | ELSEWHERE
    assert all(set(fact.rests_on) <= known for fact in facts.values())


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("n_patients", [5, 50, 2000])
def test_noise_is_rounded_up_from_the_share_as_it_is_written(
    epsilon: float, n_patients: int
) -> None:
    """A certificate's 0.2 means the double, which is a little more than a fifth."""
    for k in range(20):
        spec = MomentSpec(epsilon * (1 + k / 7), 5e-6, 2.0, 38, n_patients)
        used = MeanCovariance(spec).calibration
        rest = 1 - Fraction(spec.mean_share)
        square = 2 * Fraction(spec.clip_norm) ** 4 * Fraction(used.noise_scale) ** 2 / rest
        assert Fraction(used.diagonal_std) ** 2 >= square
        assert Fraction(used.off_diagonal_std) ** 2 >= square / 2
        total = 4 * Fraction(spec.clip_norm) ** 2 * Fraction(used.noise_scale) ** 2
        assert Fraction(used.sum_std) ** 2 >= total / Fraction(spec.mean_share)
