"""The estimated table and its public constants: every step, every binding."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from neuroveil.privacy.verify import estimate, verify
from neuroveil.privacy.verify.correlation import kept_correlation
from neuroveil.privacy.verify.csvfile import TableError

BACK = ("projection_back", {"components": 8})
UNITS = ("inverse_scaling", {"log10_columns": 100})
WIENER = ("wiener", {"noise_variance": 3.0})
KINDS: dict[str, dict[str, Any]] = {
    "units only": {"steps": [UNITS]},
    "wiener": {"steps": [WIENER, UNITS], "columns": [f"c{i}" for i in range(120)]},
    "james_stein": {"steps": [("james_stein", {"noise_variance": 0.4}), UNITS]},
    "projected": {
        "components": 8,
        "steps": [WIENER, BACK, ("unclipping", {"factor": 1.3}),
                  ("clamp", {"low": -3.0, "high": 3.0}), UNITS],
    },
    "codewords": {"mechanism": "privunit", "components": 8, "steps": [WIENER, BACK, UNITS]},
    "labels": {"steps": [UNITS], "unprotected": ["sex"]},
    "projected only": {"components": 8},
}  # fmt: skip


def sentences(result: Any, name: str) -> str:
    return " ".join(check.sentence for check in result.checks if check.id == name)


@pytest.mark.parametrize("recipe", KINDS.values(), ids=KINDS)
def test_honest_release_holds(press: Any, recipe: Any) -> None:
    folder, _, _ = press.release(**recipe)
    result = verify(folder)
    assert result.exit_code == 0, [check for check in result.checks if check.outcome != "holds"]
    if recipe.get("steps"):
        assert "17 of 17 rows" in sentences(result, "release.estimate")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "projected only"])
@pytest.mark.parametrize("change", [3e-6, -1.0])
def test_one_cell_that_does_not_follow(press: Any, kind: str, change: float) -> None:
    folder, document, _ = press.release(**KINDS[kind])
    rows = [row.split(",") for row in (folder / "table_estimated.csv").read_text().splitlines()]
    column = max(abs(float(row[4])) for row in rows[1:])
    rows[5][4] = repr(float(rows[5][4]) + change * column)
    text = "\n".join(map(",".join, rows)) + "\n"
    press.rewrite(folder, document, "table_estimated.csv", text)
    result = verify(folder)
    assert result.broken_links == ("release",)
    assert "1 of 17 rows" in sentences(result, "release.estimate")


def test_estimate_without_noise_behind_it(press: Any) -> None:
    """A table of true rows beside the protected one: the estimate has to follow from noise."""
    folder, document, recipe = press.release(steps=[UNITS])
    generator = np.random.default_rng(1)
    rows = (folder / "table_estimated.csv").read_text().splitlines()
    values = generator.normal(size=(recipe.n, recipe.d)).tolist()
    text = "\n".join([rows[0], *(",".join(map(repr, row)) for row in values)]) + "\n"
    press.rewrite(folder, document, "table_estimated.csv", text)
    assert "17 of 17 rows" in sentences(verify(folder), "release.estimate")


def edit_inputs(press: Any, folder: Any, document: Any, edit: Any) -> Any:
    inputs = json.loads((folder / "public_inputs.json").read_text())
    edit(inputs)
    press.rewrite(folder, document, "public_inputs.json", json.dumps(inputs))
    return verify(folder)


INPUTS = {
    "another number": lambda inputs: inputs["centre"].__setitem__(0, (9.0).hex()),
    "another basis": lambda inputs: inputs["basis"].reverse(),
    "another mean": lambda inputs: inputs["mean"].__setitem__(1, (0.5).hex()),
    "another covariance": lambda inputs: inputs["covariance"][2].__setitem__(1, (0.5).hex()),
    "other columns": lambda inputs: inputs["columns"].reverse(),
    "a number as number": lambda inputs: inputs["centre"].__setitem__(0, 0.0),
    "decimal digits": lambda inputs: inputs["centre"].__setitem__(0, "0.0"),
    "another spelling": lambda inputs: inputs["centre"].__setitem__(1, "0x1.0p+0 "),
    "infinity": lambda inputs: inputs["centre"].__setitem__(0, "inf"),
    "a row too long": lambda inputs: inputs["covariance"][0].append((0.0).hex()),
    "a row too few": lambda inputs: inputs["basis"].pop(),
    "an entry too many": lambda inputs: inputs.update(secret=[]),
    "an entry too few": lambda inputs: inputs.pop("mean"),
    "a spread of zero": lambda inputs: inputs["spread"].__setitem__(0, (0.0).hex()),
}


@pytest.mark.parametrize("edit", INPUTS.values(), ids=INPUTS)
def test_public_inputs_are_bound(press: Any, edit: Any) -> None:
    folder, document, _ = press.release(**KINDS["projected"])
    result = edit_inputs(press, folder, document, edit)
    assert result.broken_links == ("release",)
    assert sentences(result, "release.public_inputs")


def test_basis_of_rows_that_stay_projected_is_bound(press: Any) -> None:
    folder, document, _ = press.release(**KINDS["projected only"])
    result = edit_inputs(press, folder, document, INPUTS["another basis"])
    assert "components are not those" in sentences(result, "release.public_inputs")


def test_constants_of_steps_and_dictionary_are_the_same(press: Any, workshop: Any) -> None:
    """Digest and constants forged together: the dictionary still has the certified ones."""
    folder, document, recipe = press.release(steps=[UNITS])
    inputs = workshop.public_inputs(recipe)
    inputs["centre"][0] = (9.0).hex()
    used = {name: inputs[name] for name in ("centre", "spread")}
    step = document["chain"]["postprocessing"]["steps"]["value"][0]
    step["public_inputs_digest"] = workshop.digest(workshop.canonical(used))
    rewritten = press.files(document, recipe, None)
    rewritten["public_inputs.json"] = json.dumps(inputs)
    for name, text in rewritten.items():
        press.rewrite(folder, document, name, text)
    result = verify(folder)
    assert "not that of the data dictionary" in sentences(result, "release.centre")


DICTIONARY = {
    "another chain": {"NeuroveilChainDigest": "sha256:" + "0" * 64},
    "another reference": {"Reference": "another"},
    "other rows": {"NumberOfRows": 18},
    "other columns": {"Columns": {}},
}


@pytest.mark.parametrize("name", ["table.json", "table_estimated.json"])
@pytest.mark.parametrize("change", DICTIONARY.values(), ids=DICTIONARY)
def test_both_dictionaries_belong_to_the_chain(press: Any, name: str, change: Any) -> None:
    folder, document, _ = press.release(**KINDS["projected"])
    dictionary = json.loads((folder / name).read_text()) | change
    press.rewrite(folder, document, name, json.dumps(dictionary))
    assert verify(folder).broken_links == ("release",)


def test_columns_on_another_scale(press: Any) -> None:
    folder, document, _ = press.release(steps=[UNITS])
    dictionary = json.loads((folder / "table_estimated.json").read_text())
    for name in ("C000__alpha", "C362__alpha"):
        entry = dictionary["Columns"][name]
        entry["Transform"] = "linear" if entry["Transform"] == "log10" else "log10"
    press.rewrite(folder, document, "table_estimated.json", json.dumps(dictionary))
    assert "17 of 17 rows" in sentences(verify(folder), "release.estimate")
    dictionary["Columns"]["C000__alpha"]["Transform"] = "log10"
    press.rewrite(folder, document, "table_estimated.json", json.dumps(dictionary))
    assert "logarithmic" in sentences(verify(folder), "release.estimate")


@pytest.mark.parametrize("change", ["fewer", "more", "labels"])
def test_tables_that_do_not_belong_together(press: Any, change: str) -> None:
    folder, document, _ = press.release(**KINDS["labels"])
    lines = (folder / "table_estimated.csv").read_text().splitlines()
    if change == "labels":
        lines[3] = lines[3].rpartition(",")[0] + ",another"
    else:
        lines = lines[:-1] if change == "fewer" else [*lines, lines[-1]]
    press.rewrite(folder, document, "table_estimated.csv", "\n".join(lines) + "\n")
    assert verify(folder).broken_links == ("release",)


@pytest.mark.parametrize("name", ["table_estimated.csv", "public_inputs.json"])
@pytest.mark.parametrize("kind", ["needed", "not needed"])
def test_files_are_there_exactly_where_steps_are(press: Any, name: str, kind: str) -> None:
    folder, document, _ = press.release(steps=[UNITS] if kind == "needed" else [])
    if kind == "needed":
        (folder / name).unlink()
        del document["release"][name]
        press.seal(folder, document)
    else:
        press.rewrite(folder, document, name, "{}")
    words = "does not list" if kind == "needed" else "does not have"
    assert words in sentences(verify(folder), "release.files")


def test_covariance_that_is_none(press: Any, workshop: Any) -> None:
    """Negative, and with its digest renewed: no filter follows from it."""
    folder, document, recipe = press.release(**KINDS["projected"])
    inputs = workshop.public_inputs(recipe)
    inputs["covariance"][3][3] = (-9.0).hex()
    used = {name: inputs[name] for name in ("mean", "covariance")}
    step = document["chain"]["postprocessing"]["steps"]["value"][0]
    step["public_inputs_digest"] = workshop.digest(workshop.canonical(used))
    for name, text in press.files(document, recipe, None).items():
        press.rewrite(folder, document, name, text)
    press.rewrite(folder, document, "public_inputs.json", json.dumps(inputs))
    assert "covariance is not one" in sentences(verify(folder), "release.estimate")


def test_very_large_tables_are_checked_in_part(press: Any, monkeypatch: Any) -> None:
    """With work for about half of the rows, a table that is wrong everywhere is found."""
    folder, document, recipe = press.release(**KINDS["units only"], n=60)
    monkeypatch.setattr(estimate, "_MOST_WORK", recipe.d * 30)
    result = verify(folder)
    assert result.exit_code == 0
    assert " of 60 rows" in sentences(result, "release.estimate")
    assert "60 of 60" not in sentences(result, "release.estimate")
    lines = (folder / "table_estimated.csv").read_text().splitlines()
    text = "\n".join([lines[0], *reversed(lines[1:])]) + "\n"
    press.rewrite(folder, document, "table_estimated.csv", text)
    assert verify(folder).broken_links == ("release",)


def test_powers_that_no_double_holds_stay_at_the_largest(press: Any, workshop: Any) -> None:
    assert estimate._power(308.0) == 1e308
    assert estimate._power(400.0) == np.finfo(float).max
    assert estimate._power(-400.0) == 0.0


@pytest.mark.parametrize("variance", [1e-9, 1e-3, 1.0, 223.0, 1e7, 1e12])
def test_correlation_under_a_covariance(variance: float) -> None:
    """Against eigenvalues, also where noise drowns everything."""
    root = np.random.default_rng(2).normal(size=(40, 40)) / 10
    matrix = root @ root.T
    lower = [row[: i + 1].tolist() for i, row in enumerate(matrix)]
    values = np.linalg.eigvalsh(matrix)
    right = np.sqrt((values**2 / (values + variance)).sum() / values.sum())
    assert kept_correlation(lower, variance) == pytest.approx(right, rel=1e-9)


def test_no_covariance_has_no_correlation() -> None:
    with pytest.raises(TableError):
        kept_correlation([[0.0]], 1.0)
    with pytest.raises(TableError):
        kept_correlation([[1.0], [9.0, 1.0]], 1.0)
