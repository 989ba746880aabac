"""Projection and the steps after the mechanism, as far as the certificate shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

STEPS = [
    ("wiener", {"noise_variance": 3.0}), ("projection_back", {"components": 8}),
    ("unclipping", {"factor": 1.2}), ("clamp", {"low": -4.0, "high": 4.0}),
    ("inverse_scaling", {"log10_columns": 100}),
]  # fmt: skip
PROJECTED = {"components": 8, "steps": STEPS}

Edit = Callable[[Any], Any]


def step(name: str) -> int:
    return [entry[0] for entry in STEPS].index(name)


def params(name: str, **changes: Any) -> Edit:
    return lambda steps: steps[step(name)]["params"].update(changes)


BAD: dict[str, Edit] = {
    "another order": lambda steps: steps.reverse(),
    "twice": lambda steps: steps.insert(0, steps[0]),
    "unknown": lambda steps: steps[0].update(step="denoise"),
    "no digest": lambda steps: steps[0].pop("public_inputs_digest"),
    "another key": lambda steps: steps[0].update(note="harmless"),
    "a digest of what is not used": lambda steps: steps[3].update(
        public_inputs_digest="sha256:" + "0" * 64
    ),
    "not put back": lambda steps: steps.pop(1),
    "not in units": lambda steps: steps.pop(),
    "two kinds of shrinkage": lambda steps: steps.insert(
        1, dict(steps[2], step="james_stein", params={"noise_variance": 1.0})
    ),
    "other components": params("projection_back", components=9),
    "no noise": params("wiener", noise_variance=0),
    "upside down": params("clamp", low=4.0, high=-4.0),
    "more columns than there are": params("inverse_scaling", log10_columns=364),
    "negative factor": params("unclipping", factor=-1.0),
    "a number as text": params("unclipping", factor="1.2"),
    "a setting too many": params("wiener", seed=1),
}


@pytest.mark.parametrize("edit", BAD.values(), ids=BAD)
def test_steps_that_cannot_be(workshop: Any, edit: Edit) -> None:
    document = workshop.certificate(**PROJECTED)
    edit(document["chain"]["postprocessing"]["steps"]["value"])
    result = workshop.verify(document)
    assert result.exit_code == 4
    assert "postprocessing" in result.broken_links


def test_steps_without_public_constants(workshop: Any) -> None:
    document = workshop.certificate(
        steps=[("inverse_scaling", {"log10_columns": 0})], fitted_on="private"
    )
    assert "postprocessing" in workshop.verify(document).broken_links


def test_projected_rows_may_be_left_as_they_are(workshop: Any) -> None:
    assert workshop.verify(workshop.certificate(components=8)).exit_code == 0


PROJECTION: dict[str, Any] = {
    "kind": "private_pca", "reference": "another", "rule": " ", "components": 364,
    "variance_share": 1.2, "basis_digest": "sha256:1", "note": "more",
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), PROJECTION.items(), ids=PROJECTION)
def test_settings_of_the_projection(workshop: Any, key: str, value: Any) -> None:
    document = workshop.certificate(components=8)
    fact = document["chain"]["preprocessing"]["projection"]["value"]
    fact["params"][key] = value
    fact["params_digest"] = workshop.digest(workshop.canonical(fact["params"]))
    assert "preprocessing" in workshop.verify(document).broken_links


def test_projection_without_a_public_reference(workshop: Any) -> None:
    document = workshop.certificate(components=8, fitted_on="private")
    result = workshop.verify(document)
    assert any(
        check.id == "preprocessing.projection.params" and check.outcome == "broken"
        for check in result.checks
    )


def test_components_counted_smaller_to_save_noise(workshop: Any) -> None:
    """The l1 sensitivity grows with the coordinates that are randomised."""
    document = workshop.certificate(mechanism="laplace", components=8)
    other = workshop.certificate(mechanism="laplace", components=4)
    for link in ("sensitivity", "mechanism", "guarantee", "accountant", "utility"):
        document["chain"][link] = other["chain"][link]
    assert {"sensitivity", "mechanism"} <= set(workshop.verify(document).broken_links)


def test_dimension_of_the_bound(workshop: Any) -> None:
    for recipe, wrong in (({}, 8), ({"components": 8}, 363)):
        document = workshop.certificate(**recipe)
        workshop.put(document, "bound.dimension", wrong)
        assert "bound" in workshop.verify(document).broken_links


@pytest.mark.parametrize("value", [None, {"correlation": 1.5}, {"correlation": "0.5"}, {}])
def test_estimate_is_described_where_the_covariance_is_used(workshop: Any, value: Any) -> None:
    document = workshop.certificate(**PROJECTED)
    workshop.put(document, "utility.estimate", value)
    assert "utility" in workshop.verify(document).broken_links


@pytest.mark.parametrize(
    ("delta", "reason", "code"),
    [(1e-3, None, 4), (1e-3, " ", 4), (1e-3, "comparison with the paper", 0), (1e-5, None, 0),
     (1e-5, "belt and braces", 0), (1.1e-5, None, 4)],
)  # fmt: skip
def test_large_delta_needs_a_reason(
    workshop: Any, delta: float, reason: str | None, code: int
) -> None:
    document = workshop.certificate(delta=delta, delta_justification=reason, limit=(9.0, 0.1))
    result = workshop.verify(document)
    assert result.exit_code == code
    assert ("guarantee" in result.broken_links) == (code == 4)


def test_large_delta_for_many_patients(workshop: Any) -> None:
    """min(1/n², 1e-5): at a thousand patients 1e-5 is too much."""
    assert workshop.verify(workshop.certificate(n=1000)).broken_links == ("guarantee", "verdict")
    assert workshop.verify(workshop.certificate(n=1000, delta=1e-6)).exit_code == 0
