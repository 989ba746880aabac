"""Certificates of the release path, verified by code that shares nothing with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuroveil.privacy import ProtectSettings, private_statistics_scaling, protect, simulate
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
    settings = ProtectSettings("gaussian", epsilon, delta, 2.0)
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
