"""Forgers who change a fact and work out again everything that follows from it.

Written by someone who did not write ``verify``, from ``docs/certificate.md``. The forger has a
calculator (``forger_arithmetic.py``), rewrites dictionary, statement and all digests, and cannot
change the noise in the table. ``fitted`` noise is claimed as the changed facts would need it;
``kept`` noise is claimed as it was drawn.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from neuroveil.errors import CertificateError
from neuroveil.privacy.verify import verify

KEPT = frozenset({"mechanism.noise_scale"})

SEEN_IN_THE_FILES = {
    "adjacency.n_roster", "domain.n", "domain.dimension", "domain.columns_digest",
    "domain.labels", "domain.unprotected", "bound.grid_log2", "bound.clip_norm",
    "guarantee.epsilon_rows", "guarantee.delta", "postprocessing.steps",
    "mechanism.codebook_seed", "mechanism.decoding_scale", "preprocessing.projection",
    "preprocessing.scaling",
    "amplification.epsilon_local",
}  # fmt: skip
"""Facts that the table answers, by its size or its noise: the link may be ``release``."""

ANSWERED_BY_THE_MECHANISM = {
    "bound.clip_norm", "guarantee.epsilon_rows", "guarantee.delta", "sensitivity.norm",
}  # fmt: skip
"""Facts that a forger may choose: it is then the noise that does not suffice or not fit."""


BEFORE_THE_NOISE = {
    "adjacency.factor", "adjacency.relation", "bound.norm", "bound.clip_norm", "bound.dimension",
    "bound.grid_log2", "domain.dimension", "sensitivity.norm", "sensitivity.value",
    "mechanism.name", "mechanism.epsilon", "mechanism.consumes_norm", "guarantee.epsilon_rows",
    "guarantee.delta", "guarantee.delta_slack", "guarantee.delta_calibrated",
}  # fmt: skip
"""Facts that the noise scale follows from, so that it may be fitted or kept."""


@pytest.fixture
def faults(tmp_path: Path) -> Callable[[Any], tuple[str, ...]]:
    """Bind a forged folder, write it and verify it; give the broken links."""

    def check(folder: Any) -> tuple[str, ...]:
        result = verify(folder.bind().write(tmp_path / "forged"))
        assert result.exit_code == (4 if result.broken_links else 0)
        return result.broken_links

    return check


ALL = [
    "gaussian", "gaussian 0.5", "gaussian 20", "gaussian 50", "laplace", "laplace l1", "labels",
    "bare", "privunit", "shuffled",
]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
def test_honest_certificates_still_hold_when_worked_out_again(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any], name: str
) -> None:
    """What is found in forged ones is the forgery, and not the forger's arithmetic."""
    honest = releases(name, "medium")
    assert faults(honest.copy()) == ()
    arithmetic.recompute(honest.document)
    assert faults(honest) == ()
    arithmetic.recompute(honest.document, KEPT)
    assert faults(honest) == ()


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(node, (dict, list)):
        members = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in members:
            yield from leaves(value, (*path, key))
    else:
        yield path, node


KINDS = {"doubled", "halved", "a millionth down", "flipped", "longer"}


@pytest.fixture
def sweep(
    mutations: ModuleType, forger: ModuleType, arithmetic: ModuleType, excuses: ModuleType,
    tmp_path: Path,
) -> Callable[[Any], dict[str, list[str]]]:  # fmt: skip
    """Change every leaf of every value, work out what follows, and verify."""

    def forge(honest: Any, mutant: Any, pinned: set[str]) -> Any:
        forged = honest.copy()
        forged.document = copy.deepcopy(mutant.apply(honest.document))
        try:
            arithmetic.recompute(forged.document, pinned)
        except (ArithmeticError, AttributeError, TypeError, ValueError, KeyError):
            # Nothing follows from it (half a codeword, a norm of no name): bound without.
            forged.document = copy.deepcopy(mutant.apply(honest.document))
        return forged.bind()

    def judge(honest: Any, mutant: Any, pinned: set[str], records: dict[str, list[str]]) -> None:
        folder = forge(honest, mutant, pinned).write(tmp_path / "forged")
        name = excuses.fact_of(mutant)
        told = f"{mutant}, noise {'kept' if pinned > {name} else 'fitted'}"
        try:
            broken = set(verify(folder).broken_links)
        except CertificateError:
            return
        except Exception as error:  # a defect whatever it is, and the list shall be whole
            records["crashed"].append(f"{told} ({error!r})")
            return
        expected = {name.split(".")[0]} | ({"release"} if name in SEEN_IN_THE_FILES else set())
        expected |= {"mechanism"} if name in ANSWERED_BY_THE_MECHANISM else set()
        expected |= {"mechanism", "aggregates"} if name == "model.trust" else set()
        if honest.value("model.trust") == "shuffled" and name in ANSWERED_BY_THE_MECHANISM:
            expected.add("amplification")
        excuse = excuses.excuse_for(mutant, "recomputed", honest.value("mechanism.name"))
        if broken and not broken & expected:
            records["wrong link"].append(f"{told} {sorted(broken)}")
        elif not broken and excuse is None:
            records["passed"].append(told)
        elif not broken and excuse.name not in records["excuses"]:
            records["excuses"].append(excuse.name)

    def run(honest: Any) -> dict[str, list[str]]:
        records: dict[str, list[str]] = {
            "passed": [], "crashed": [], "wrong link": [], "excuses": []
        }  # fmt: skip
        for name, fact in forger.facts(honest.document):
            place = ("chain", *name.split("."), "value")
            for path, old in leaves(fact["value"]):
                for kind, new in mutations.changes(old, forger.Twice):
                    if kind in KINDS or (" for " in kind and isinstance(new, str)):
                        mutant = mutations.Mutant((*place, *path), kind, old, new)
                        is_setting = name.startswith("preprocessing.") and "params" in path
                        judge(honest, mutant, set() if is_setting else {name}, records)
                        if name in BEFORE_THE_NOISE:
                            judge(honest, mutant, {name} | KEPT, records)
        return records

    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian 50", "laplace l1", "labels", "privunit", "shuffled"])
def test_every_value_with_everything_that_follows(
    releases: Callable[..., Any], sweep: Callable[..., Any], name: str
) -> None:
    records = sweep(releases(name, "medium"))
    used = set(records.pop("excuses"))
    found = [f"{key}: {one}" for key, faults in records.items() for one in faults]
    assert not found, "\n".join(found)
    always = {"words", "sums of the ledger", "number of earlier spends", "versions", "estimate",
              "settings of features and scaling"}  # fmt: skip
    noise = {"second opinion", "finer than the table shows", "rounded up"}
    others = {"grid under codewords", "randomised label", "same document"}
    assert always <= used | {"number of earlier spends"} <= always | noise | others


def change(folder: Any, name: str, value: Any) -> None:
    link, fact = name.split(".")
    folder.document["chain"][link][fact]["value"] = value


FALSE_SENSITIVITY = {"sensitivity", "mechanism", "guarantee", "accountant", "verdict"}
"""Verification derives it from the clip norm, so nothing that rests on a false one holds."""

SCALED: list[tuple[str, str, float, bool, set[str]]] = [
    # release, fact, factor, is the noise kept, links that are named
    ("gaussian", "guarantee.epsilon_rows", 0.5, False, {"release"}),
    ("gaussian", "guarantee.epsilon_rows", 2.0, False, {"release"}),
    ("gaussian", "guarantee.epsilon_rows", 0.5, True, {"mechanism", "verdict"}),
    ("gaussian", "guarantee.epsilon_rows", 1 - 1e-9, True, {"mechanism", "verdict"}),
    ("gaussian", "guarantee.delta", 1e-3, False, {"release"}),
    ("gaussian", "guarantee.delta", 1e-3, True, {"mechanism", "verdict"}),
    ("gaussian", "guarantee.delta", 1 - 1e-9, True, {"mechanism", "verdict"}),
    ("gaussian", "bound.clip_norm", 0.5, False, {"release"}),
    ("gaussian", "bound.clip_norm", 2.0, True, {"mechanism", "verdict"}),
    ("gaussian", "sensitivity.value", 0.5, False, FALSE_SENSITIVITY | {"release"}),
    ("gaussian", "mechanism.noise_scale", 0.5, False, {"mechanism", "verdict", "release"}),
    ("gaussian", "mechanism.noise_scale", 2.0, False, {"mechanism", "verdict", "release"}),
    ("gaussian", "mechanism.noise_multiplier", 2.0, False, {"mechanism", "verdict"}),
    ("gaussian", "mechanism.integer_scale", 2.0, False, {"mechanism", "guarantee", "verdict"}),
    ("gaussian", "guarantee.epsilon_supported", 0.5, False, {"guarantee", "verdict"}),
    ("gaussian", "guarantee.delta_slack", 0.5, False, {"guarantee", "verdict"}),
    ("gaussian", "guarantee.delta_calibrated", 2.0, True, {"guarantee", "verdict"}),
    ("gaussian 50", "guarantee.delta_slack", 0.5, False, {"guarantee", "verdict"}),
    ("gaussian 50", "guarantee.epsilon_rows", 0.5, False, {"release"}),
    ("laplace", "guarantee.epsilon_rows", 0.5, True, {"mechanism", "verdict"}),
    ("laplace", "guarantee.epsilon_rows", 0.5, False, {"release"}),
    ("laplace", "sensitivity.value", 33**-0.5, False, FALSE_SENSITIVITY | {"release"}),
    ("laplace l1", "bound.clip_norm", 2.0, True, {"mechanism", "verdict"}),
    ("labels", "guarantee.epsilon_labels", 0.5, False, {"guarantee", "verdict"}),
    ("labels", "guarantee.epsilon", 0.5, False, {"guarantee", "verdict"}),
]


@pytest.mark.parametrize("case", SCALED, ids=lambda case: f"{case[0]}, {case[1]} x {case[2]:.3g}")
def test_number_scaled_and_everything_after_it(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any], case: Any
) -> None:
    """Exactly the links that are false are named: all others were made to fit."""
    name, fact, factor, kept, links = case
    forged = releases(name, "medium")
    change(forged, fact, forged.value(fact) * factor)
    arithmetic.recompute(forged.document, {fact} | (KEPT if kept else set()))
    assert set(faults(forged)) == links


def supported(arithmetic: ModuleType, folder: Any) -> float:
    """What the noise in the table would support for the sensitivity that is now stated."""
    v = arithmetic.read_values(folder.document)
    sensitivity = arithmetic.mpf(v["sensitivity.value"])
    scale = arithmetic.mpf(v["mechanism.noise_scale"])
    if v["mechanism.name"] != "gaussian":
        return arithmetic.up(sensitivity / scale)
    delta = arithmetic.mpf(v["guarantee.delta_calibrated"])
    return arithmetic.up(arithmetic.epsilon_for(scale, delta, sensitivity) * (1 + 1e-12))


def claim_what_follows(arithmetic: ModuleType, folder: Any, pinned: frozenset[str]) -> None:
    """Keep the noise, and claim the epsilon that it would have under the stated sensitivity."""
    arithmetic.recompute(folder.document, pinned | KEPT)
    change(folder, "guarantee.epsilon_rows", supported(arithmetic, folder))
    arithmetic.recompute(folder.document, pinned | KEPT)


@pytest.mark.parametrize("name", ["gaussian", "gaussian 20", "laplace"])
def test_adjacency_factor_left_out(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any], name: str
) -> None:
    """C for 2C: epsilon looks half as large, from the relation to the verdict."""
    forged = releases(name, "medium")
    change(forged, "adjacency.factor", 1)
    claim_what_follows(arithmetic, forged, frozenset({"adjacency.factor"}))
    assert forged.value("guarantee.epsilon") < 0.6 * releases(name, "medium").value(
        "guarantee.epsilon"
    )
    assert "adjacency" in faults(forged)


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_other_relation(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any], name: str
) -> None:
    """With the roster public, neighbours have the same size; a smaller factor flatters."""
    forged = releases(name, "medium")
    change(forged, "adjacency.relation", "add_or_remove_one")
    claim_what_follows(arithmetic, forged, frozenset())
    assert "adjacency" in faults(forged)


def test_l2_sensitivity_fed_to_laplace(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    """2C where 2 sqrt(d) C is needed: said openly, or with the norm renamed."""
    forged = releases("laplace", "medium")
    change(forged, "sensitivity.value", 4.0)
    claim_what_follows(arithmetic, forged, frozenset({"sensitivity.value"}))
    assert set(faults(forged)) == FALSE_SENSITIVITY
    change(forged, "sensitivity.norm", "l2")
    pinned = frozenset({"sensitivity.value", "sensitivity.norm"})
    claim_what_follows(arithmetic, forged, pinned)
    assert {"sensitivity", "mechanism"} & set(faults(forged))
    change(forged, "mechanism.consumes_norm", "l2")
    claim_what_follows(arithmetic, forged, pinned | {"mechanism.consumes_norm"})
    assert "mechanism" in faults(forged)


def test_fewer_columns_than_released(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    """A smaller dimension flatters the l1 sensitivity; the table shows its own."""
    forged = releases("laplace", "medium")
    change(forged, "domain.dimension", 7)
    claim_what_follows(arithmetic, forged, frozenset())
    assert forged.value("guarantee.epsilon") < 0.5
    assert set(faults(forged)) == {"postprocessing", "release", "verdict"}


@pytest.mark.parametrize("rows", [23, 25, 48])
def test_other_number_of_patients(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any], rows: int
) -> None:
    forged = releases("gaussian", "medium")
    change(forged, "adjacency.n_roster", rows)
    arithmetic.recompute(forged.document)
    forged.rewrite_dictionary(lambda dictionary: dictionary.update(NumberOfRows=rows))
    assert set(faults(forged)) == {"release"}


@pytest.mark.parametrize("grid", [-44, -41, -39, -20])
def test_other_grid(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any], grid: int
) -> None:
    """A finer grid than that of the table hides what integer noise costs."""
    forged = releases("gaussian", "medium")
    change(forged, "bound.grid_log2", grid)
    arithmetic.recompute(forged.document, KEPT)
    assert set(faults(forged)) == {"release"}


def in_the_frame_of(folder: Any, other: Any) -> None:
    """Give a folder the certificate of another mechanism, for its own rows and books."""
    own = copy.deepcopy(folder.document["chain"])
    folder.document = copy.deepcopy(other.document)
    folder.document["release"] = dict.fromkeys(folder.files, "")
    for link in ("unit", "adjacency", "domain", "preprocessing", "composition", "software"):
        folder.document["chain"][link] = own[link]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sold_as"), [("gaussian", "laplace"), ("laplace", "gaussian")])
def test_noise_of_one_kind_sold_as_the_other(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any],
    name: str, sold_as: str,
) -> None:  # fmt: skip
    """Same standard deviation, everything recomputed: the shape of the noise tells."""
    forged = releases(name, "large")
    std = forged.value("mechanism.noise_std")
    in_the_frame_of(forged, releases(sold_as, "large"))
    change(forged, "mechanism.noise_scale", std if sold_as == "gaussian" else std / 2**0.5)
    claim_what_follows(arithmetic, forged, frozenset())
    assert set(faults(forged)) == {"release"}


def test_certificate_of_another_release(
    releases: Callable[..., Any], faults: Callable[..., Any]
) -> None:
    """All digests fit, and the noise does not."""
    forged = releases("gaussian", "medium")
    in_the_frame_of(forged, releases("gaussian 0.5", "medium"))
    assert "release" in faults(forged)


def test_bound_that_the_rows_visibly_exceed(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    """At epsilon = 50, 200 rows of 11 columns stand out of the noise by 30 standard errors."""
    forged = releases("gaussian 50", "long")
    change(forged, "bound.clip_norm", 0.2)
    claim_what_follows(arithmetic, forged, frozenset())
    assert forged.value("guarantee.epsilon") < 5
    assert "release" in faults(forged)


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_false_bound_under_loud_noise_is_a_matter_of_trust(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any], name: str
) -> None:
    """The limit that docs/certificate.md names: the noise hides whether rows were clipped as said.

    Half the bound with the noise as it was drawn looks like half of epsilon. Nothing in the
    folder contradicts it; ``bound.clip_norm`` is marked as assumed.
    """
    forged = releases(name, "medium")
    change(forged, "bound.clip_norm", 1.0)
    claim_what_follows(arithmetic, forged, frozenset())
    assert forged.value("guarantee.epsilon") < 0.6
    assert forged.document["chain"]["bound"]["clip_norm"]["status"] == "assumed"
    assert faults(forged) == ()


def test_unprotected_label_kept_quiet(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    forged = releases("labels", "medium")
    change(forged, "domain.unprotected", [])
    arithmetic.recompute(forged.document)
    assert set(faults(forged)) == {"release"}


def test_label_sold_as_cheaper_than_it_was(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    """Two hundred right-handed people stay right-handed at epsilon = 6, and not at 0.1."""
    forged = releases("uneven", "long")
    assert faults(forged.copy()) == ()
    forged.document["chain"]["domain"]["labels"]["value"][0]["epsilon"] = 0.1
    arithmetic.recompute(forged.document)
    assert set(faults(forged)) == {"release"}


def test_label_as_it_was_sold_as_protected(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    forged = releases("uneven", "long")
    hand = forged.value("domain.labels")[0]
    change(forged, "domain.labels", [hand, {**hand, "name": "site", "epsilon": 0.1}])
    change(forged, "domain.unprotected", [])
    arithmetic.recompute(forged.document)
    assert set(faults(forged)) == {"release"}


def test_more_spent_than_the_limit_allows(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    forged = releases("labels", "medium")
    change(forged, "composition.limit", {"epsilon": 4.0, "delta": 0.001})
    arithmetic.recompute(forged.document)
    assert set(faults(forged)) == {"composition", "verdict"}


@pytest.mark.parametrize(
    ("spent", "count"), [((0.0, 0.0), 2), ((0.0, 2e-5), 2), ((3.0, 2e-5), 0), ((3.0, 0.0), 0)]
)
def test_earlier_releases_half_hidden(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any],
    spent: tuple[float, float], count: int,
) -> None:  # fmt: skip
    """Every release spends some epsilon: sums and number stand or fall together."""
    forged = releases("labels", "medium")
    change(forged, "composition.spent_before", dict(zip(("epsilon", "delta"), spent, strict=True)))
    change(forged, "composition.prior_releases", count)
    arithmetic.recompute(forged.document)
    assert set(faults(forged)) == {"composition", "verdict"}


def test_constants_of_the_cohort_called_public(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    """Other constants in the dictionary than the certified ones."""
    forged = releases("gaussian", "medium")

    def shift(dictionary: Any) -> None:
        first = next(iter(dictionary["Columns"].values()))
        first["Centre"] += 0.5

    forged.rewrite_dictionary(shift)
    assert set(faults(forged)) == {"release"}


@pytest.mark.parametrize("key", ["formal_guarantee", "verdict", "blocking_reasons"])
def test_verdict_that_the_chain_does_not_give(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any], key: str
) -> None:
    forged = releases("gaussian", "medium")
    untrue = {
        "formal_guarantee": False, "blocking_reasons": ["sampler: it had a seed"],
        "verdict": forged.document["verdict"].replace("epsilon = 1", "epsilon = 0.1"),
    }  # fmt: skip
    forged.document[key] = untrue[key]
    assert set(faults(forged)) == {"verdict"}


def test_broken_link_admitted_is_still_broken(
    releases: Callable[..., Any], arithmetic: ModuleType, faults: Callable[..., Any]
) -> None:
    """A seeded sampler, admitted by a verdict that fits: no guarantee, and nothing else wrong."""
    forged = releases("gaussian", "medium")
    change(forged, "sampler.seeded", True)
    reason = "sampler: the noise was drawn with a seed"
    forged.document.update(
        formal_guarantee=False, blocking_reasons=[reason],
        verdict=f"Not differentially private at epsilon = 1, delta = 1e-05. {reason}.",
    )  # fmt: skip
    assert set(faults(forged)) == {"sampler"}
    assert json.loads(forged.files["table.json"])["NeuroveilChainDigest"].startswith("sha256:")


@pytest.mark.parametrize("change_by", [1e-5, -0.02, 0.3])
def test_flattering_correlation_of_the_estimate(
    releases: Callable[..., Any], faults: Callable[..., Any], change_by: float
) -> None:
    """It follows from the covariance in the folder, whatever else is worked out again."""
    forged = releases("gaussian", "small")
    honest = forged.value("utility.estimate")["correlation"]
    change(forged, "utility.estimate", {"correlation": honest + change_by})
    assert set(faults(forged)) == {"utility"}
