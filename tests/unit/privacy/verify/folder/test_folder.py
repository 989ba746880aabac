"""A certificate bound to its files, and the noise in the table itself.

Tables are drawn with fixed seeds. The bounds themselves are tested against exact tail
probabilities further down, so no test here is a matter of luck.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from neuroveil.privacy.verify import verify
from neuroveil.privacy.verify.table import chernoff

ALARM = 1.6e-7
LABEL = {"name": "diagnosis", "policy": "randomised_response", "n_categories": 2, "epsilon": 0.5}

Forge = Callable[[dict[str, Any], dict[str, Any]], Any]


def sentences(result: Any, name: str) -> str:
    return " ".join(check.sentence for check in result.checks if check.id == name)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_honest_release_holds(press: Any, mechanism: str, epsilon: float) -> None:
    folder, _, _ = press.release(mechanism=mechanism, epsilon_rows=epsilon, limit=(50.0, 1e-4))
    result = verify(folder)
    assert result.exit_code == 0, [check for check in result.checks if check.outcome != "holds"]
    assert result.scope == "release"
    assert result.links["release"] == "holds"


def test_honest_release_with_labels_holds(press: Any) -> None:
    folder, _, _ = press.release(labels=[dict(LABEL)], unprotected=["sex"], n=12)
    assert verify(folder).exit_code == 0


def test_release_of_one_patient_holds(press: Any) -> None:
    folder, _, _ = press.release(n=1, columns=["only"])
    assert verify(folder).exit_code == 0


# Files.


@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "table.json", "STATEMENT.md"])
@pytest.mark.parametrize("change", ["append", "remove"])
def test_changed_or_missing_file(press: Any, name: str, change: str) -> None:
    folder, _, _ = press.release()
    if change == "append":
        with (folder / name).open("a", encoding="utf-8") as stream:
            stream.write(" ")
    else:
        (folder / name).unlink()
    result = verify(folder)
    assert result.exit_code == 4
    assert result.broken_links == ("release",)
    assert name in sentences(result, "release.files")


def test_unlisted_file_is_found_and_its_name_not_repeated(press: Any) -> None:
    folder, _, _ = press.release()
    (folder / "Jane_Doe_1970.edf").write_text("raw", encoding="utf-8")
    result = verify(folder)
    assert result.broken_links == ("release",)
    assert "1 file(s)" in sentences(result, "release.files")
    assert "Jane" not in json.dumps(result.as_dict())


def test_unlisted_folder_is_found(press: Any) -> None:
    folder, _, _ = press.release()
    (folder / "raw").mkdir()
    assert verify(folder).broken_links == ("release",)


def test_link_in_place_of_a_file_is_not_followed(workshop: Any, press: Any) -> None:
    folder, _, _ = press.release()
    moved = workshop.folder / "elsewhere.csv"
    (folder / "table.csv").rename(moved)
    (folder / "table.csv").symlink_to(moved)
    result = verify(folder)
    assert result.broken_links == ("release",)
    assert "links or folders" in sentences(result, "release.files")


@pytest.mark.parametrize(
    "name", ["../outside.csv", "/etc/hostname", "a/../../b", "..", "", "certificate.json", "a\0b"]
)
def test_names_that_lead_out_of_the_folder(workshop: Any, press: Any, name: str) -> None:
    folder, document, _ = press.release()
    (workshop.folder / "outside.csv").write_text("x", encoding="utf-8")
    document["release"][name] = workshop.digest(b"x")
    (folder / "certificate.json").write_text(json.dumps(document), encoding="utf-8")
    result = verify(folder)
    assert result.broken_links == ("release",)
    assert "no file of the folder" in sentences(result, "release.files")


def test_release_that_lists_nothing(press: Any) -> None:
    folder, document, _ = press.release()
    document["release"] = {}
    (folder / "certificate.json").write_text(json.dumps(document), encoding="utf-8")
    result = verify(folder)
    assert result.broken_links == ("release",)
    assert "does not list table.csv" in sentences(result, "release.files")


# Binding: each file rewritten, with its digest renewed.


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("NeuroveilChainDigest", "sha256:" + "0" * 64), ("NumberOfRows", 18),
        ("NumberOfColumns", 364), ("NumberOfRows", True), ("NumberOfRows", None),
        ("Columns", []), ("Columns", {}), ("Columns", {"C000__alpha": "text"}),
    ],
)  # fmt: skip
def test_dictionary_of_another_table(press: Any, key: str, value: Any) -> None:
    folder, document, _ = press.release()
    dictionary = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    dictionary[key] = value
    press.rewrite(folder, document, "table.json", json.dumps(dictionary))
    assert verify(folder).broken_links == ("release",)


@pytest.mark.parametrize(
    ("key", "value"), [("Centre", 0.2), ("Spread", 1.01), ("Spread", None), ("Centre", "0.0")]
)
def test_constants_in_the_dictionary_are_the_certified_ones(
    press: Any, key: str, value: Any
) -> None:
    folder, document, _ = press.release()
    dictionary = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    dictionary["Columns"]["C000__alpha"][key] = value
    press.rewrite(folder, document, "table.json", json.dumps(dictionary))
    assert "not the certified constants" in sentences(verify(folder), "release.constants")


def test_reference_in_the_dictionary_is_the_certified_one(press: Any) -> None:
    folder, document, _ = press.release()
    text = (folder / "table.json").read_text(encoding="utf-8").replace("made-up", "another")
    press.rewrite(folder, document, "table.json", text)
    assert verify(folder).broken_links == ("release",)


def test_private_constants_are_not_published(press: Any) -> None:
    folder, document, _ = press.release(fitted_on="private")
    assert verify(folder).broken_links == ("preprocessing",)
    dictionary = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    dictionary["Columns"]["C000__alpha"]["Spread"] = 1.0
    press.rewrite(folder, document, "table.json", json.dumps(dictionary))
    assert verify(folder).broken_links == ("preprocessing", "release")


@pytest.mark.parametrize("text", ["not json", '{"Columns": {}, "Columns": {}}'])
def test_dictionary_that_is_none(press: Any, text: str) -> None:
    folder, document, _ = press.release()
    press.rewrite(folder, document, "table.json", text)
    result = verify(folder)
    assert result.broken_links == ("release",)
    assert "release.dictionary" in {check.id for check in result.checks}


def test_renamed_column(press: Any) -> None:
    """Dictionary and header agree with each other, but not with the certificate."""
    folder, document, _ = press.release()
    for name in ("table.json", "table.csv"):
        text = (folder / name).read_text(encoding="utf-8").replace("C000__alpha", "C000__delta")
        press.rewrite(folder, document, name, text)
    assert "not the ones that were certified" in sentences(verify(folder), "release.columns")


@pytest.mark.parametrize("ending", ["", "Chain: sha256:" + "1" * 64, "No chain."])
def test_statement_of_another_chain(press: Any, ending: str) -> None:
    folder, document, _ = press.release()
    lines = (folder / "STATEMENT.md").read_text(encoding="utf-8").splitlines()[:-1]
    press.rewrite(folder, document, "STATEMENT.md", "\n".join([*lines, ending]))
    assert "belongs to another chain" in sentences(verify(folder), "release.statement")


def test_statement_with_something_after_the_chain(press: Any) -> None:
    folder, document, _ = press.release()
    text = (folder / "STATEMENT.md").read_text(encoding="utf-8")
    press.rewrite(folder, document, "STATEMENT.md", text + "\nThis table is anonymous.\n")
    assert verify(folder).broken_links == ("release",)


def test_certificate_of_another_release(workshop: Any, press: Any) -> None:
    """Exchanged under a table: everything in it holds, only the binding is broken."""
    folder, document, _ = press.release()
    other = workshop.certificate(epsilon_rows=2.0)
    other["release"] = document["release"]
    (folder / "certificate.json").write_text(json.dumps(other), encoding="utf-8")
    assert verify(folder).broken_links == ("release",)


def edit_table(edit: Callable[[list[list[str]]], None]) -> Callable[[str], str]:
    def change(text: str) -> str:
        rows = [line.split(",") for line in text.splitlines()]
        edit(rows)
        return "\n".join(",".join(row) for row in rows) + "\n"

    return change


def cell(text: str) -> Callable[[list[list[str]]], None]:
    def edit(rows: list[list[str]]) -> None:
        rows[3][5] = text

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        lambda rows: rows.pop(), lambda rows: rows.append(rows[-1]),
        lambda rows: rows[2].pop(), lambda rows: rows[2].append("1.0"),
        lambda rows: rows[0].reverse(), lambda rows: rows.clear(),
        cell(""), cell("nan"), cell("inf"), cell("1_0"), cell(" 1.0"), cell("abc"), cell('"'),
        cell("1e999"), cell("1e-320"), cell("0.1"), cell("1" * 500), cell("0x1p3"),
        cell(repr(2.0**-41)),
    ],
)  # fmt: skip
def test_table_that_is_no_release(press: Any, edit: Any) -> None:
    folder, document, _ = press.release()
    text = (folder / "table.csv").read_text(encoding="utf-8")
    press.rewrite(folder, document, "table.csv", edit_table(edit)(text))
    result = verify(folder)
    assert result.broken_links == ("release",)
    assert sentences(result, "release.table")


def test_more_categories_than_certified(press: Any) -> None:
    folder, document, _ = press.release(labels=[dict(LABEL)])
    text = (folder / "table.csv").read_text(encoding="utf-8").rstrip("\n")
    press.rewrite(folder, document, "table.csv", text[: text.rindex(",")] + ",third\n")
    assert "more categories" in sentences(verify(folder), "release.table")


# The noise itself: forgeries that are consistent in every number and every digest.


@pytest.fixture
def forge(workshop: Any, press: Any, draw_rows: Any) -> Forge:
    """Rows drawn for one recipe, everything else written for another."""

    def forged(real: dict[str, Any], claimed: dict[str, Any]) -> Any:
        truth, story = workshop.Recipe(**real), workshop.Recipe(**claimed)
        drawn = workshop.certificate_of(truth)["chain"]["mechanism"]["noise_scale"]["value"]
        document = workshop.certificate_of(story)
        return verify(press.write(document, story, draw_rows(truth, drawn)))

    return forged


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize(("real", "claimed"), [(1.2, 1.0), (1.0, 1.2), (20.0, 10.0), (5.0, 1.0)])
def test_epsilon_and_noise_forged_together(
    forge: Any, mechanism: str, real: float, claimed: float
) -> None:
    result = forge(
        {"mechanism": mechanism, "epsilon_rows": real, "limit": (50.0, 1e-4)},
        {"mechanism": mechanism, "epsilon_rows": claimed, "limit": (50.0, 1e-4)},
    )
    assert result.broken_links == ("release",)
    assert "another noise scale" in sentences(result, "release.noise")


def test_clip_norm_and_noise_forged_together(forge: Any) -> None:
    """A smaller bound would excuse the smaller noise that was really drawn for C = 1."""
    result = forge({"clip_norm": 1.0}, {"clip_norm": 2.0})
    assert result.broken_links == ("release",)


def test_mechanism_forged_at_equal_size(workshop: Any, press: Any, draw_rows: Any) -> None:
    """Gaussian noise sold as Laplace noise of the same mean absolute value."""
    story = workshop.Recipe(mechanism="laplace", epsilon_rows=5.0)
    document = workshop.certificate_of(story)
    scale = document["chain"]["mechanism"]["noise_scale"]["value"]
    truth = workshop.Recipe()
    values = draw_rows(truth, scale * math.sqrt(math.pi / 2))
    result = verify(press.write(document, story, values))
    assert result.broken_links == ("release",)
    assert "another distribution" in sentences(result, "release.noise_shape")


def test_grid_forged(forge: Any) -> None:
    for real, claimed, name in ((-40, -41, "release.grid"), (-41, -40, "release.table")):
        result = forge({"grid": real}, {"grid": claimed})
        assert result.broken_links == ("release",)
        assert sentences(result, name)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_one_row_or_column_without_noise(
    workshop: Any, press: Any, draw_rows: Any, axis: int, mechanism: str
) -> None:
    """The rest of the table hides it in the mean; the row or column by itself shows it."""
    recipe = workshop.Recipe(mechanism=mechanism)
    document = workshop.certificate_of(recipe)
    scale = document["chain"]["mechanism"]["noise_scale"]["value"]
    values = draw_rows(recipe, scale)
    line = (3, slice(None)) if axis == 0 else (slice(None), 3)
    values[line] = np.trunc(values[line] / scale * 0.1 * 2**40) / 2**40
    result = verify(press.write(document, recipe, values))
    assert result.broken_links == ("release",)
    assert "1 row(s) or column(s)" in sentences(result, "release.noise_everywhere")


def test_release_without_any_noise(workshop: Any, press: Any, draw_rows: Any) -> None:
    recipe = workshop.Recipe()
    document = workshop.certificate_of(recipe)
    values = draw_rows(recipe, 1e-9)
    result = verify(press.write(document, recipe, values))
    assert {"release.noise", "release.noise_everywhere"} <= {
        check.id for check in result.checks if check.outcome == "broken"
    }


# The bounds against exact tail probabilities.


@pytest.mark.parametrize("shape", [0.5, 1, 8.5, 181.5, 6171, 3.5e6])
def test_chernoff_bound_of_the_gamma_law(shape: float) -> None:
    assert stats.gamma.cdf(shape * chernoff(shape, ALARM, above=False), shape) <= ALARM
    assert stats.gamma.sf(shape * chernoff(shape, ALARM, above=True), shape) <= ALARM


@pytest.mark.parametrize("cells", [1, 17, 363, 6171, 200_000])
@pytest.mark.parametrize("signal", [0.0, 0.1, 2.0, 30.0])
def test_birge_bound_of_the_noncentral_chi_square(cells: int, signal: float) -> None:
    """Birgé 2001, Lemma 8.1, with the noncentrality of all rows at full length."""
    noncentrality, x = cells * signal**2, math.log(1 / ALARM)
    high = cells + noncentrality + 2 * math.sqrt((cells + 2 * noncentrality) * x) + 2 * x
    assert stats.ncx2.sf(high, cells, max(noncentrality, 1e-12)) <= ALARM


def test_false_alarms_add_up_to_less_than_one_in_a_million() -> None:
    """Size below and above, shape (half of one), rows, columns, and 24 even steps."""
    assert 4.75 * ALARM + 2.0**-24 <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize(("n", "d"), [(2, 3), (17, 24), (60, 8)])
def test_many_honest_tables_raise_no_alarm(
    workshop: Any, press: Any, draw_rows: Any, mechanism: str, n: int, d: int
) -> None:
    """Fixed seeds; at a rate of 1e-6 even an unlucky set of 40 seeds passes."""
    recipe = workshop.Recipe(
        mechanism=mechanism, n=n, columns=[f"c{i}" for i in range(d)], epsilon_rows=4.0
    )
    document = workshop.certificate_of(recipe)
    scale = document["chain"]["mechanism"]["noise_scale"]["value"]
    for seed in range(40):
        values = draw_rows(recipe, scale, seed=seed)
        folder = press.write(document, recipe, values)
        assert verify(folder).exit_code == 0
