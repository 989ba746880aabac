"""Certificates of the release path, verified by code that shares nothing with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from neuroveil.ledger import Ledger
from neuroveil.ledger.ledger import Terms
from neuroveil.privacy import (
    ProtectSettings,
    charge_request,
    private_statistics_scaling,
    protect,
    simulate,
)
from neuroveil.privacy.composition import composed_epsilon
from neuroveil.privacy.mechanisms.contract import CodebookOptions
from neuroveil.privacy.settings import Postprocessing, Projection
from neuroveil.privacy.verify import verify
from neuroveil.privacy.verify.result import VerificationResult
from neuroveil.types.certificate import Certificate

Verifier = Callable[[Certificate], VerificationResult]


@pytest.fixture
def verified(tmp_path: Path) -> Verifier:
    def check(certificate: Certificate) -> VerificationResult:
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(certificate.to_json()), encoding="utf-8")
        return verify(path)

    return check


def faults(result: VerificationResult) -> list[tuple[str, str, Any, Any]]:
    return [
        (check.id, check.sentence, check.stated, check.recomputed)
        for check in result.checks
        if check.outcome != "holds"
    ]


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 7.3, 20.0, 41.0, 60.0, 1000.0])
@pytest.mark.parametrize(
    "delta",
    [pytest.param(0.1, marks=pytest.mark.slow), 1e-5, pytest.param(1e-16, marks=pytest.mark.slow)],
)
def test_gaussian_release_holds(
    table: Any, scaling: Any, pay: Any, verified: Verifier, epsilon: float, delta: float
) -> None:
    settings = ProtectSettings(
        "gaussian", epsilon, delta, 2.0, delta_justification="a test of large values"
    )
    result = verified(protect(table, scaling, settings, pay(settings, table)).certificate)
    assert result.exit_code == 0, faults(result)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.5, 1.0, 7.3, 20.0, 1000.0])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_laplace_release_holds(
    table: Any, scaling: Any, pay: Any, verified: Verifier, epsilon: float, norm: Any
) -> None:
    settings = ProtectSettings("laplace", epsilon, 0.0, 1.7, norm=norm)
    result = verified(protect(table, scaling, settings, pay(settings, table)).certificate)
    assert result.exit_code == 0, faults(result)


BUDGET = CodebookOptions(4096)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("fresh", [False, True])
def test_privunit_release_holds(
    table: Any, scaling: Any, pay: Any, verified: Verifier, epsilon: float, fresh: bool
) -> None:
    codebook = CodebookOptions(4096, fresh_per_row=fresh)
    settings = ProtectSettings("privunit", epsilon, 0.0, 1.7, codebook=codebook)
    result = verified(protect(table, scaling, settings, pay(settings, table)).certificate)
    assert result.exit_code == 0, faults(result)


@pytest.mark.parametrize(
    ("n", "epsilon"),
    [
        (5, 0.5),
        pytest.param(60, 1.0, marks=pytest.mark.slow),
        pytest.param(300, 2.0, marks=pytest.mark.slow),
    ],
)
def test_shuffled_release_holds(
    make_table: Any, correlated: Any, pay: Any, verified: Verifier, n: int, epsilon: float
) -> None:
    table = make_table(n)
    settings = ProtectSettings(
        "privunit",
        epsilon,
        1e-6,
        2.0,
        trust_model="shuffled",
        projection=Projection(4),
        codebook=BUDGET,
    )
    certificate = protect(table, correlated, settings, pay(settings, table)).certificate
    result = verified(certificate)
    assert result.exit_code == 0, faults(result)
    assert "given a trusted shuffler" in certificate.verdict


@pytest.mark.parametrize("shrinkage", ["wiener", "james_stein", "none"])
@pytest.mark.parametrize(
    "case", [("gaussian", None), ("gaussian", Projection(6)), ("privunit", Projection(6))]
)
def test_estimated_release_holds(
    table: Any, correlated: Any, pay: Any, verified: Verifier, shrinkage: Any, case: Any
) -> None:
    name, projection = case
    settings = ProtectSettings(
        name, 5.0, 1e-5 if name == "gaussian" else 0.0, 2.0, codebook=BUDGET,
        projection=projection, postprocessing=Postprocessing(shrinkage, clamp=6.0),
    )  # fmt: skip
    result = verified(protect(table, correlated, settings, pay(settings, table)).certificate)
    assert result.exit_code == 0, faults(result)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "laplace", "privunit"])
def test_releases_under_composed_losses_hold(
    table: Any, scaling: Any, verified: Verifier, tmp_path: Path, name: str
) -> None:
    """A ledger of the rule pld: the third release of different kinds about the same patients."""
    place = tmp_path / "pld.sqlite"
    Ledger.create(place, Fraction(20), Fraction("1e-4"), Terms(rule="pld"))
    ledger = Ledger(place, composer=composed_epsilon)
    for mechanism in ("gaussian", "laplace", name):
        delta = 1e-5 if mechanism == "gaussian" else 0.0
        settings = ProtectSettings(mechanism, 1.3, delta, 2.0, codebook=BUDGET)
        request = charge_request(settings, table.columns, table.n_patients)
        certificate = protect(table, scaling, settings, ledger.reserve(request)).certificate
        result = verified(certificate)
        assert result.exit_code == 0, faults(result)
    assert certificate.value("composition.rule") == "pld"
    assert len(certificate.value("composition.prior_events")) == 2


def test_release_with_labels_holds(
    table: Any, scaling: Any, gaussian: Any, pay: Any, verified: Verifier
) -> None:
    certificate = protect(table, scaling, gaussian, pay(gaussian, table)).certificate
    result = verified(certificate)
    assert result.exit_code == 0, faults(result)
    assert "Not covered: diagnosis." in certificate.verdict


def test_second_release_of_the_same_patients_holds(
    table: Any, scaling: Any, laplace: Any, pay: Any, verified: Verifier
) -> None:
    pay(laplace, table)
    certificate = protect(table, scaling, laplace, pay(laplace, table)).certificate
    assert certificate.value("composition.prior_releases") == 1
    result = verified(certificate)
    assert result.exit_code == 0, faults(result)


def test_private_statistics_are_named_and_nothing_else(
    table: Any, pay: Any, verified: Verifier
) -> None:
    settings = ProtectSettings("gaussian", 1.0, 1e-5, 2.0, acknowledge_private_statistics=True)
    scaling = private_statistics_scaling(table)
    result = verified(protect(table, scaling, settings, pay(settings, table)).certificate)
    assert result.exit_code == 4
    assert result.broken_links == ("preprocessing",), faults(result)


@pytest.mark.parametrize("name", ["gaussian", "laplace", "paper_laplace"])
def test_simulation_admits_what_it_is(
    request: Any, table: Any, scaling: Any, verified: Verifier, name: str
) -> None:
    """No guarantee, with exactly the reasons that verification finds."""
    settings = request.getfixturevalue(name)
    (simulation,) = simulate(table, scaling, settings, seed=3)
    result = verified(simulation.certificate)
    assert result.exit_code == 4
    assert "sampler" in result.broken_links
    assert ("mechanism" in result.broken_links) == (name == "paper_laplace")
    assert "verdict" not in result.broken_links, faults(result)
