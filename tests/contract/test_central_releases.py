"""Releases of mean and covariance: written by the public way, verified, and forged."""

from __future__ import annotations

import copy
import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.errors import BudgetError, CertificateError, ChainError
from neuroveil.ledger import Ledger
from neuroveil.pipeline.release_folder import write_release
from neuroveil.pipeline.reports import render_public_report
from neuroveil.privacy import LabelPolicy, ProtectSettings, charge_request, release_any
from neuroveil.privacy.central.protection import protect_central
from neuroveil.privacy.settings import Projection
from neuroveil.privacy.verify import verify
from neuroveil.reference import default_reference
from neuroveil.types.catalogue import columns_for
from neuroveil.types.central_release import CentralRelease
from neuroveil.types.certificate import canonical_json
from neuroveil.types.table import FeatureTable

N = 2000
COLUMNS = columns_for(("Fp1", "Cz", "O2"), ("variance", "alpha_power", "zero_crossing_rate"))
SCALING = default_reference("harmonised").scaling_for(COLUMNS)
SETTINGS = ProtectSettings("mean_covariance", 1.0, 1e-7, 2.0, trust_model="central")


def made_up(n: int) -> FeatureTable:
    """Patients whose rows share one strong pattern; none of them exists."""
    generator = np.random.default_rng(7)
    pattern = np.linspace(-0.5, 0.5, len(COLUMNS))
    rows = generator.normal(size=(n, 1)) * pattern + 0.1 * generator.normal(size=(n, len(COLUMNS)))
    values = SCALING.centre + SCALING.spread * (rows + 0.2)
    log10 = [column.scale == "log10" for column in COLUMNS]
    values[:, log10] = 10 ** values[:, log10]
    return FeatureTable(
        patients=tuple(f"made-up {i}" for i in range(n)), columns=COLUMNS, values=values,
        n_windows=np.ones(n, dtype=np.int64), seconds=np.ones(n),
    )  # fmt: skip


def pay(settings: ProtectSettings, n: int, folder: Path) -> Any:
    ledger = Ledger.create(folder / "ledger.sqlite", Fraction(3000), Fraction(1, 2))
    return ledger.reserve(charge_request(settings, COLUMNS, n))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[CentralRelease, Path]:
    folder = tmp_path_factory.mktemp("central")
    release = release_any(made_up(N), SCALING, SETTINGS, pay(SETTINGS, N, folder))
    assert isinstance(release, CentralRelease)
    write_release(release, folder / "release")
    return release, folder / "release"


def test_release_of_2000_patients_holds_and_is_close(written: Any) -> None:
    release, folder = written
    result = verify(folder)
    assert result.exit_code == 0, [check for check in result.checks if check.outcome != "holds"]
    assert release.certificate.verdict == (
        "Differentially private for every patient, given a trusted curator: "
        "epsilon = 1, delta = 1e-07."
    )
    # Noise of standard deviation 0.02 a cell: six of them are a false alarm below 1e-8.
    assert np.abs(release.mean - 0.2).max() < 0.15
    pattern = np.linspace(-0.5, 0.5, len(COLUMNS))
    leading = np.linalg.eigh(release.covariance)[1][:, -1]
    assert abs(leading @ pattern) / np.linalg.norm(pattern) > 0.9
    assert "released covariance is predicted to correlate" in render_public_report(folder)


def test_synthetic_rows_have_the_released_mean(written: Any) -> None:
    release, folder = written
    with (folder / "synthetic.csv").open(newline="") as stream:
        lines = list(csv.reader(stream))
    assert len(lines) == N + 1
    values = np.array(lines[1:], dtype=float)
    np.testing.assert_array_equal(values, release.synthetic)
    linear = [j for j, column in enumerate(COLUMNS) if column.scale != "log10"]
    scaled = (values[:, linear] - SCALING.centre[linear]) / SCALING.spread[linear]
    # Seven standard errors.
    error = 7 * np.sqrt(np.diag(release.covariance)[linear] / N)
    assert (np.abs(scaled.mean(axis=0) - release.mean[linear]) < error).all()
    dictionary = json.loads((folder / "synthetic.json").read_text())
    assert dictionary["Synthetic"] is True
    assert "nobody" in dictionary["Columns"]["Cz__variance"]["Description"]


@pytest.mark.parametrize(
    ("epsilon", "delta", "clip_norm", "n"),
    [(0.1, 1e-5, 2.0, 3), (1.0, 1e-12, 0.3, 50), (20.0, 1e-5, 2.0, 3), (45.0, 1e-6, 1e3, 100)],
)
def test_certificates_hold_over_the_range(
    epsilon: float, delta: float, clip_norm: float, n: int, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epsilon=epsilon, delta=delta, clip_norm=clip_norm)
    release = release_any(made_up(n), SCALING, settings, pay(settings, n, tmp_path))
    write_release(release, tmp_path / "release")
    result = verify(tmp_path / "release")
    assert result.exit_code == 0, [check for check in result.checks if check.outcome != "holds"]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"trust_model": "local"}, "privacy.trust_model"),
        ({"mechanism": "gaussian"}, "privacy.mechanism"),
        ({"norm": "l1"}, "privacy.norm"),
        ({"projection": Projection(2)}, "privacy.projection"),
        ({"labels": (LabelPolicy("sex", "unprotected"),)}, "labels"),
        ({"delta": 0.0}, "delta"),
    ],
)  # fmt: skip
def test_refusals(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(ChainError) as caught:
        charge_request(replace(SETTINGS, **changes), COLUMNS, N)
    assert where in caught.value.where


def test_one_charge_pays_for_one_draw_only(tmp_path: Path) -> None:
    charge = pay(SETTINGS, 40, tmp_path)
    table = made_up(40)
    release = protect_central(table, SCALING, SETTINGS, charge)
    with pytest.raises(BudgetError):
        protect_central(table, SCALING, SETTINGS, charge)
    with pytest.raises(ChainError):
        replace(release, products=release.products + 1)
    with pytest.raises(CertificateError):
        write_release(release.certificate, tmp_path / "release")  # type: ignore[arg-type]


def test_charge_is_consumed_before_noise_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neuroveil.privacy.central.mean_covariance import MeanCovariance

    charge = pay(SETTINGS, 40, tmp_path)

    def draw(*_: object) -> None:
        assert charge.is_consumed
        raise MemoryError

    monkeypatch.setattr(MeanCovariance, "draw", draw)
    with pytest.raises(MemoryError):
        protect_central(made_up(40), SCALING, SETTINGS, charge)
    assert charge.is_consumed


# Forged certificates ----------------------------------------------------------------------------

NUMBERS = [
    "sensitivity.value", "sensitivity.sum", "sensitivity.second_moment", "mechanism.mean_share",
    "mechanism.n_coordinates", "mechanism.noise_scale", "mechanism.noise_std_diagonal",
    "mechanism.noise_std_off_diagonal", "mechanism.noise_std_sum", "mechanism.integer_scale",
    "mechanism.noise_multiplier", "guarantee.epsilon_supported", "guarantee.delta_slack",
    "guarantee.zcdp_rho", "guarantee.zcdp_rho_sum", "guarantee.zcdp_rho_second_moment",
    "guarantee.epsilon_rows", "guarantee.delta", "bound.clip_norm", "bound.dimension",
]  # fmt: skip


def outcome(document: dict[str, Any], folder: Path) -> Any:
    file = folder / "forged.json"
    file.write_bytes(canonical_json(document))
    return verify(file)


@pytest.mark.parametrize("factor", [0.98, 1.02])
@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_is_derived_again(
    written: Any, name: str, factor: float, tmp_path: Path
) -> None:
    document = written[0].certificate.to_json()
    link, _, key = name.partition(".")
    fact = document["chain"][link][key]
    changed = fact["value"] * factor
    is_whole = isinstance(fact["value"], int)
    fact["value"] = fact["value"] + (1 if factor > 1 else -1) if is_whole else changed
    assert outcome(document, tmp_path).exit_code == 4


def change(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        link, _, key = name.partition(".")
        document["chain"][link][key]["value"] = value

    return apply


def swap_shares(document: dict[str, Any]) -> None:
    entries = document["chain"]["aggregates"]["statistics"]["value"]
    entries[0]["share"], entries[1]["share"] = entries[1]["share"], entries[0]["share"]


def halve_noise_in_the_list(document: dict[str, Any]) -> None:
    document["chain"]["aggregates"]["statistics"]["value"][0]["noise_scale"] /= 2


def leave_out_aggregates(document: dict[str, Any]) -> None:
    del document["chain"]["aggregates"]


def add_row_order(document: dict[str, Any]) -> None:
    document["chain"]["postprocessing"]["row_order"] = {
        "value": "random_permutation", "status": "assumed", "source": "x", "formula": None,
        "rests_on": [],
    }  # fmt: skip


def other_proof(document: dict[str, Any]) -> None:
    document["chain"]["guarantee"]["epsilon_slack"]["formula"] = (
        "(mechanism.n_coordinates + B) / (24 * mechanism.integer_scale^2) + "
        "3 * mechanism.n_coordinates * e^(-2 pi^2 mechanism.integer_scale^2)"
    )


def promise_without_curator(document: dict[str, Any]) -> None:
    document["verdict"] = document["verdict"].replace(", given a trusted curator", "")


def promise_with_a_shuffler(document: dict[str, Any]) -> None:
    document["verdict"] = document["verdict"].replace("curator", "shuffler")


@pytest.mark.parametrize(
    "forge",
    [
        change("model.trust", "local"), change("model.trust", "shuffled"),
        change("mechanism.name", "gaussian"), change("bound.norm", "l1"),
        change("mechanism.distribution", "discrete_laplace"),
        change("mechanism.consumes_norm", "l1"), change("guarantee.variant", "pure_dp"),
        change("guarantee.epsilon_slack", 0.1), change("mechanism.mean_share", 0.5),
        change("mechanism.mean_share", 0), change("bound.grid_log2", -2),
        change("bound.grid_log2", -22), change("aggregates.derived", []),
        change("aggregates.statistics", []), change("accountant.events", []),
        change("accountant.name", "laplace_closed_form"), change("accountant.cross_check", None),
        change("utility.predicted", {"mean_rmse": 0.001, "covariance_rmse": 0.001}),
        change("domain.unprotected", ["diagnosis"]),
        swap_shares, halve_noise_in_the_list, leave_out_aggregates, add_row_order, other_proof,
        promise_without_curator, promise_with_a_shuffler,
    ],
)  # fmt: skip
def test_forged_facts_are_found(written: Any, forge: Any, tmp_path: Path) -> None:
    document = written[0].certificate.to_json()
    forge(document)
    assert outcome(document, tmp_path).exit_code == 4


def test_every_new_fact_keeps_its_formula_and_foundations(written: Any, tmp_path: Path) -> None:
    from neuroveil.privacy.verify.rules_central import MOMENTS

    honest = written[0].certificate.to_json()
    for name in dict.fromkeys(rule.name for rule in MOMENTS):
        link, _, key = name.partition(".")
        for spoiled in ({"formula": "trust me"}, {"rests_on": ["unit.entity"]}, {"source": ""}):
            document = copy.deepcopy(honest)
            document["chain"][link][key] |= spoiled
            faults = {c.id for c in outcome(document, tmp_path).checks if c.outcome == "broken"}
            assert name in faults, (name, spoiled)


# Forged files: whoever forges recomputes every digest ---------------------------------------------


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def rebind(folder: Path) -> None:
    """Bind changed files again, as a forger without a signature could."""
    dictionary = json.loads((folder / "synthetic.json").read_text())
    for name in dictionary["MadeOf"]:
        dictionary["MadeOf"][name] = digest((folder / name).read_bytes())
    (folder / "synthetic.json").write_text(json.dumps(dictionary))
    document = json.loads((folder / "certificate.json").read_text())
    document["release"] = {
        file.name: digest(file.read_bytes())
        for file in folder.iterdir()
        if file.name != "certificate.json"
    }
    (folder / "certificate.json").write_text(json.dumps(document))


def cells(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream))


def rewrite(path: Path, lines: list[list[str]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(lines)


def without_noise(folder: Path) -> None:
    lines = cells(folder / "moments.csv")
    rewrite(folder / "moments.csv", [lines[0], *([a, b, "1"] for a, b, _ in lines[1:])])


def only_even(folder: Path) -> None:
    lines = cells(folder / "moments.csv")
    rewrite(
        folder / "moments.csv", [lines[0], *([a, b, str(int(v) // 2 * 2)] for a, b, v in lines[1:])]
    )


def one_is_no_whole_number(folder: Path) -> None:
    lines = cells(folder / "moments.csv")
    lines[1][2] += ".5"
    rewrite(folder / "moments.csv", lines)


def one_sum_less(folder: Path) -> None:
    rewrite(folder / "moments.csv", cells(folder / "moments.csv")[:-1])


def far_too_large(folder: Path) -> None:
    lines = cells(folder / "moments.csv")
    lines[1][2] = str(1 << 60)
    rewrite(folder / "moments.csv", lines)


def another_mean(folder: Path) -> None:
    lines = cells(folder / "mean.csv")
    lines[1][1] = repr(float(lines[1][1]) + 0.01)
    rewrite(folder / "mean.csv", lines)


def another_covariance(folder: Path) -> None:
    lines = cells(folder / "covariance.csv")
    lines[1][2] = lines[2][1] = repr(float(lines[1][2]) + 0.02)
    rewrite(folder / "covariance.csv", lines)


def covariance_that_is_none(folder: Path) -> None:
    lines = cells(folder / "covariance.csv")
    lines[1][1] = "-0.5"
    rewrite(folder / "covariance.csv", lines)


def one_synthetic_row_more(folder: Path) -> None:
    lines = cells(folder / "synthetic.csv")
    rewrite(folder / "synthetic.csv", [*lines, lines[-1]])


def not_called_synthetic(folder: Path) -> None:
    dictionary = json.loads((folder / "synthetic.json").read_text())
    dictionary["Synthetic"] = False
    (folder / "synthetic.json").write_text(json.dumps(dictionary))


def a_table_of_rows(folder: Path) -> None:
    shutil.copy(folder / "synthetic.csv", folder / "table.csv")


@pytest.mark.parametrize(
    "forge",
    [
        without_noise, only_even, one_is_no_whole_number, one_sum_less, far_too_large,
        another_mean, another_covariance, covariance_that_is_none, one_synthetic_row_more,
        not_called_synthetic, a_table_of_rows,
    ],
)  # fmt: skip
def test_forged_files_are_found(written: Any, forge: Any, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(written[1], folder)
    rebind(folder)
    assert verify(folder).exit_code == 0
    forge(folder)
    rebind(folder)
    result = verify(folder)
    assert result.exit_code == 4
    assert result.broken_links == ("release",)


def test_sources_are_bound_by_their_digests(written: Any, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(written[1], folder)
    dictionary = json.loads((folder / "synthetic.json").read_text())
    dictionary["MadeOf"]["covariance.csv"] = digest(b"another covariance")
    (folder / "synthetic.json").write_text(json.dumps(dictionary))
    document = json.loads((folder / "certificate.json").read_text())
    document["release"]["synthetic.json"] = digest((folder / "synthetic.json").read_bytes())
    (folder / "certificate.json").write_text(json.dumps(document))
    assert "release.made_of" in {c.id for c in verify(folder).checks if c.outcome == "broken"}
