"""Scaling constants drawn from the cohort: what they cost, how far they are off, refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.errors import ChainError
from neuroveil.privacy import ProtectSettings, charge_request, protect, simulate
from neuroveil.privacy.central.dp_scaling import (
    ScalingBudget,
    draw_scaling,
    planned_scaling,
    predict_scaling,
    scaling_of_rows,
)
from neuroveil.privacy.central.quantile_spec import QuantileSpec
from neuroveil.privacy.plan import plan_rows
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.privacy.settings import Projection
from neuroveil.types.scaling import Scaling

PAGE = Path(__file__).resolve().parents[4] / "docs" / "mathematics.md"
SETTINGS = ProtectSettings(
    "gaussian", 1.0, 5e-6, 2.0, trust_model="central", scaling_budget=ScalingBudget(400.0, 5e-6)
)


def spec_of(d: int, n: int, epsilon: float) -> QuantileSpec:
    return ScalingBudget(epsilon, min(1 / n**2, 1e-5) / 2).spec(d, n)


def test_documented_errors_are_the_predicted_ones() -> None:
    lines = re.findall(
        r"\| (\d+) columns, n = (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", PAGE.read_text()
    )
    assert len(lines) == 5
    for d, n, *errors in lines:
        for epsilon, error in zip((0.25, 1.0, 2.0), errors, strict=True):
            found = predict_scaling(spec_of(int(d), int(n), epsilon)).centre_error
            assert float(error) == pytest.approx(found, abs=0.0051)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "n", "epsilon"), [(40, 2000, 1.0), (9, 500, 1.0), (40, 500, 0.5)])
def test_errors_are_those_of_draws(scaling: Scaling, d: int, n: int, epsilon: float) -> None:
    """Fixed seeds; columns that the public constants fit, 40 draws of every constant."""
    spec = spec_of(d, n, epsilon)
    rows = np.random.default_rng(3).normal(0, 1 / 1.3489795, (n, d))
    public = replace(
        scaling, columns=tuple(scaling.columns[0] for _ in range(d)), centre=np.zeros(d),
        spread=np.ones(d), fallback=(False,) * d, covariance=None,
    )  # fmt: skip
    quarters = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    drawn = [scaling_of_rows(rows, public, spec, SimulationRandomness(seed)) for seed in range(40)]
    centre = np.mean([np.abs(each.centre - quarters[1]) for each in drawn])
    spread = np.mean([np.abs(each.spread - (quarters[2] - quarters[0])) for each in drawn])
    found = predict_scaling(spec)
    assert centre == pytest.approx(found.centre_error, rel=0.15)
    assert spread == pytest.approx(found.spread_error, rel=0.15)


def test_both_events_are_charged(table: Any) -> None:
    request = charge_request(SETTINGS, table.columns, table.n_patients)
    assert request.epsilon == 401
    assert request.delta == Fraction(1, 10**5)
    assert [(event.mechanism, event.epsilon) for event in request.parts] == [
        ("gaussian", 1), ("dp_quantiles", 400),
    ]  # fmt: skip
    assert sum(event.delta for event in request.parts) == request.delta


def test_constants_are_drawn_after_the_charge_is_used_up(
    table: Any, scaling: Scaling, pay: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from neuroveil.privacy.central.quantiles import DpQuantiles

    charge = pay(SETTINGS, table)

    def draw(*_: object) -> None:
        assert charge.is_consumed
        raise MemoryError

    monkeypatch.setattr(DpQuantiles, "draw", draw)
    with pytest.raises(MemoryError):
        protect(table, scaling, SETTINGS, charge)
    assert charge.is_consumed


def test_rows_are_scaled_with_what_is_published(
    table: Any, scaling: Scaling, pay: Callable[..., Any]
) -> None:
    release = protect(table, scaling, SETTINGS, pay(SETTINGS, table))
    assert release.scaling.fitted_on == "dp"
    assert release.scaling.public is scaling
    assert release.certificate.formal_guarantee
    step = release.certificate.value("preprocessing.scaling")
    assert step["params"]["constants_digest"] == release.scaling.digest
    assert step["params"]["public_constants_digest"] == scaling.digest
    assert (step["epsilon"], step["delta"]) == (400.0, 5e-6)


def test_simulations_draw_constants_too(table: Any, scaling: Scaling) -> None:
    first, second = simulate(table, scaling, SETTINGS, seed=1, n_draws=2)
    assert not np.array_equal(first.clipped, second.clipped)
    assert not first.certificate.formal_guarantee


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"trust_model": "local"}, "privacy.trust_model"),
        ({"trust_model": "shuffled", "mechanism": "privunit"}, "privacy.trust_model"),
        ({"projection": Projection(2)}, "privacy.projection"),
        ({"scaling_budget": ScalingBudget(0.01, 5e-6)}, "reference.scaling"),
        ({"scaling_budget": ScalingBudget(400.0, 1e-4)}, "privacy.delta"),
        ({"scaling_budget": ScalingBudget(0.0, 5e-6)}, "privacy.epsilon"),
    ],
)  # fmt: skip
def test_refusals(table: Any, changes: dict[str, Any], where: str) -> None:
    with pytest.raises(ChainError) as caught:
        charge_request(replace(SETTINGS, **changes), table.columns, table.n_patients)
    assert caught.value.where == where


def test_constants_are_drawn_by_the_release_itself(
    table: Any, scaling: Scaling, pay: Callable[..., Any]
) -> None:
    """Constants from elsewhere, drawn or not, are no public ones."""
    spec = ScalingBudget(400.0, 5e-6).spec(len(table.columns), table.n_patients)
    drawn = draw_scaling(table, scaling, spec, SimulationRandomness(1))
    plain = replace(SETTINGS, trust_model="local", scaling_budget=None)
    for settings in (SETTINGS, plain):
        with pytest.raises(ChainError) as caught:
            protect(table, drawn, settings, pay(settings, table))
        assert caught.value.where == "preprocessing.scaling"
    with pytest.raises(ChainError):
        plan_rows(SETTINGS, scaling, table.n_patients)
    with pytest.raises(ChainError):
        planned_scaling(drawn)
    with pytest.raises(ChainError):
        replace(drawn, public=None)


def test_words_say_when_it_is_too_little() -> None:
    few, many = (predict_scaling(spec_of(9, n, 1.0)) for n in (200, 2000))
    assert "That is a lot" in few.describe(200)
    assert "That is a lot" not in many.describe(2000)
    assert "2,000 patients" in many.describe(2000)
