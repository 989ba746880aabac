"""Forgers of releases that needed a curator, who work out again everything that follows.

As ``test_verify_recomputed.py`` has them for rows: dictionary, statement and all digests are
rewritten too, and what was drawn stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from neuroveil.privacy.verify import verify

KEPT = {"mechanism.noise_scale"}


@pytest.fixture
def forged(
    releases: Callable[..., Any], arithmetic: ModuleType, moments_arithmetic: ModuleType,
    tmp_path: Path,
) -> Callable[..., set[str]]:  # fmt: skip
    """Change facts of a release, work out what follows, and verify; give the broken links."""

    def forge(name: str, changes: dict[str, Any], pinned: set[str]) -> set[str]:
        folder = releases(name, "medium")
        for fact, change in changes.items():
            link, key = fact.split(".")
            place = folder.document["chain"][link][key]
            place["value"] = change(place["value"])
        if folder.value("mechanism.name") == "mean_covariance":
            moments_arithmetic.recompute(folder.document, arithmetic, pinned)
        else:
            arithmetic.recompute(folder.document, pinned)
        result = verify(folder.bind().write(tmp_path / "forged"))
        assert result.exit_code == (4 if result.broken_links else 0)
        return set(result.broken_links)

    return forge


@pytest.mark.parametrize("name", ["central", "drawn", "drawn codewords", "drawn central"])
def test_honest_certificates_still_hold_when_worked_out_again(
    forged: Callable[..., set[str]], name: str
) -> None:
    assert forged(name, {}, set()) == set()
    assert forged(name, {}, set(KEPT)) == set()


def times(factor: float) -> Callable[[Any], Any]:
    return lambda value: value * factor


FALSE: list[tuple[str, str, float, bool, str]] = [
    # release, fact, factor, is the noise kept, a link that has to be named
    ("central", "guarantee.epsilon_rows", 0.5, True, "mechanism"),
    ("central", "guarantee.epsilon_rows", 1 - 1e-9, True, "mechanism"),
    ("central", "guarantee.epsilon_rows", 0.5, False, "release"),
    ("central", "guarantee.delta", 1e-3, True, "mechanism"),
    ("central", "bound.clip_norm", 0.5, False, "release"),
    # At epsilon = 1 the noise of 24 patients shrinks the mean to zero in one release of four,
    # and zero follows from any share.
    ("central 20", "mechanism.mean_share", 0.25, False, "release"),
    ("central", "sensitivity.value", 0.5, False, "sensitivity"),
    ("central", "sensitivity.sum", 0.5, False, "sensitivity"),
    ("central", "sensitivity.second_moment", 0.5, False, "sensitivity"),
    ("central", "mechanism.noise_scale", 0.5, False, "mechanism"),
    ("central", "mechanism.noise_std_sum", 0.5, False, "mechanism"),
    ("central", "mechanism.noise_std_off_diagonal", 0.5, False, "mechanism"),
    ("central", "mechanism.n_coordinates", 2, False, "mechanism"),
    ("central", "guarantee.epsilon_supported", 0.5, False, "guarantee"),
    ("central", "guarantee.delta_slack", 0.5, False, "guarantee"),
    ("central", "guarantee.zcdp_rho", 0.5, False, "guarantee"),
    ("drawn central", "guarantee.epsilon_rows", 0.5, True, "mechanism"),
    ("drawn central", "guarantee.delta_rows", 0.5, True, "mechanism"),
    ("drawn central", "guarantee.epsilon", 0.5, False, "guarantee"),
    ("drawn central", "guarantee.delta", 0.5, False, "guarantee"),
    ("drawn", "guarantee.epsilon_rows", 0.5, True, "mechanism"),
    ("drawn", "guarantee.delta_rows", 0.5, True, "mechanism"),
    ("drawn", "guarantee.epsilon", 0.5, False, "guarantee"),
    ("drawn", "guarantee.delta", 0.5, False, "guarantee"),
    ("drawn", "preprocessing.n_quantiles", 2, False, "preprocessing"),
    ("drawn", "preprocessing.quantile_epsilon", 2.0, False, "preprocessing"),
    ("drawn", "preprocessing.quantile_epsilon", 0.5, False, "preprocessing"),
    ("drawn", "preprocessing.quantile_epsilon", 1 + 1e-6, False, "preprocessing"),
    ("drawn", "preprocessing.quantile_rho", 0.5, False, "preprocessing"),
    ("drawn codewords", "guarantee.delta", 0.0, False, "guarantee"),
]


@pytest.mark.parametrize("case", FALSE, ids=lambda case: f"{case[0]}, {case[1]} x {case[2]:.3g}")
def test_number_scaled_and_everything_after_it(forged: Callable[..., set[str]], case: Any) -> None:
    name, fact, factor, kept, link = case
    found = forged(name, {fact: times(factor)}, {fact} | (KEPT if kept else set()))
    assert link in found, found


def entry(key: str, value: Any) -> dict[str, Callable[[Any], Any]]:
    return {"preprocessing.scaling": lambda step: {**step, key: value}}


@pytest.mark.parametrize("name", ["drawn", "drawn codewords", "drawn central"])
@pytest.mark.parametrize(
    ("key", "value"),
    [("epsilon", 0), ("epsilon", -1.0), ("delta", 0.6), ("fitted_on", "private"),
     ("fitted_on", "public")],
)  # fmt: skip
def test_constants_without_their_price(
    forged: Callable[..., set[str]], name: str, key: str, value: Any
) -> None:
    assert "preprocessing" in forged(name, entry(key, value), set())


@pytest.mark.parametrize("name", ["drawn", "drawn central"])
def test_half_of_the_price_of_constants(forged: Callable[..., set[str]], name: str) -> None:
    """Quantiles that cost what they did contradict it.

    Where the forger says that they cost less, too, nothing in the folder can contradict: a
    single draw does not show its weights, so the site answers for them, as for its ledger.
    """
    halved = {"preprocessing.scaling": lambda step: {**step, "epsilon": step["epsilon"] / 2}}
    kept = {"preprocessing.quantile_epsilon", "preprocessing.quantile_rho"}
    assert "preprocessing" in forged(name, halved, kept)
    assert forged(name, halved, set()) == set()


def test_drawn_constants_need_a_curator(forged: Callable[..., set[str]]) -> None:
    assert "model" in forged("drawn", {"model.trust": lambda _: "local"}, set())


@pytest.mark.parametrize("key", ["Centre", "Spread", "PublicCentre", "PublicSpread"])
@pytest.mark.parametrize(
    ("name", "file"), [("drawn", "table.json"), ("drawn central", "synthetic.json")]
)
def test_constants_that_are_no_candidates(
    releases: Callable[..., Any], forger: ModuleType, tmp_path: Path, key: str, name: str,
    file: str,
) -> None:  # fmt: skip
    """Another constant in place of a drawn one, with every digest worked out again."""
    folder = releases(name, "medium")

    def spoil(dictionary: Any) -> None:
        first = next(iter(dictionary["Columns"].values()))
        first[key] = first[key] * 1.001 + 1e-5

    folder.rewrite_dictionary(spoil, file)
    restate_constants(folder, forger, file)
    result = verify(folder.bind().write(tmp_path / "forged"))
    assert result.broken_links == ("release",)
    assert any("no candidates" in check.sentence for check in result.checks)


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e150])
def test_grid_out_of_all_proportion(forged: Callable[..., set[str]], scale: float) -> None:
    changes = {"preprocessing.quantiles": lambda grid: {**grid, "scale": scale}}
    assert "release" in forged("drawn", changes, set())


def restate_constants(folder: Any, forger: ModuleType, file: str) -> None:
    """Put the digests of the dictionary's constants into the chain."""
    dictionary = json.loads(folder.files[file])
    step = folder.document["chain"]["preprocessing"]["scaling"]["value"]
    entries = list(dictionary["Columns"].items())[: folder.value("domain.dimension")]
    for prefix, fact, named in (
        ("", "constants_digest", "reference"),
        ("Public", "public_constants_digest", "public_reference"),
    ):
        document = {
            "name": step["params"][named], "columns": [column for column, _ in entries],
            "centre": [float(each[f"{prefix}Centre"]).hex() for _, each in entries],
            "spread": [float(each[f"{prefix}Spread"]).hex() for _, each in entries],
        }  # fmt: skip
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        step["params"][fact] = forger.sha256(text.encode())
    step["params_digest"] = forger.sha256(forger.canonical(step["params"]))
