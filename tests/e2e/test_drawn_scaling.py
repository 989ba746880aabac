"""Scaling constants drawn from the cohort, through the command line, on the small cohort.

Five patients are far too few for quantiles at an epsilon that anybody would choose; a huge one
shows that all parts fit together.
"""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DRAWN = """\
[input]
layout = "bids"
folder = "cohort"
population = "adults"

[features]
names = ["alpha_power", "variance"]

[reference]
scaling = "dp_quantiles"
epsilon = {scaling}

[privacy]
trust_model = "central"
mechanism = "{mechanism}"
epsilon = 5.0

[privacy.budget]
epsilon = 9000.0
delta = 1e-3
"""


def write(study: Path, mechanism: str, scaling: float = 800.0) -> None:
    study.write_text(DRAWN.format(mechanism=mechanism, scaling=scaling))


@pytest.mark.parametrize(
    ("mechanism", "dictionary"), [("mean_covariance", "synthetic.json"), ("gaussian", "table.json")]
)
def test_release_with_drawn_constants(neuroveil, study, mechanism: str, dictionary: str) -> None:
    write(study, mechanism)
    dry = neuroveil("release", study, "--dry-run", "--json")
    assert dry.code == 0, dry.everything
    assert dry.json["epsilon"] == 805.0
    assert dry.json["delta"] == pytest.approx(1e-5)
    assert "predicted to be off by" in dry.json["choice"]
    rehearsal = neuroveil("release", study, "--rehearse", "--json")
    assert rehearsal.code == 0, rehearsal.everything
    released = neuroveil("release", study, "--json")
    assert released.code == 0, released.everything
    assert released.json["remaining"]["epsilon"] == 8195.0
    assert released.json["internal_utility"]
    folder = Path(released.json["release"])
    verified = neuroveil("verify", folder, "--json")
    assert verified.code == 0, verified.everything
    column = next(iter(json.loads((folder / dictionary).read_text())["Columns"].values()))
    assert {"Centre", "Spread", "PublicCentre", "PublicSpread"} <= set(column)
    assert "drawn" in (folder / "report.html").read_text()
    chain = json.loads((folder / "certificate.json").read_text())["chain"]
    assert chain["preprocessing"]["scaling"]["value"]["fitted_on"] == "dp"
    assert chain["model"]["trust"]["value"] == "central"
    again = neuroveil("report", folder, "--study", study, "--out", study.parent / "again.html")
    assert again.code == 0, again.everything


def test_few_patients_are_refused_with_the_predicted_error(neuroveil, study) -> None:
    write(study, "mean_covariance", 1.0)
    dry = neuroveil("release", study, "--dry-run")
    assert dry.code == 4, dry.everything
    assert "predicted error" in dry.everything
    assert "public_reference" in dry.everything


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('trust_model = "central"', 'trust_model = "local"', "privacy.trust_model"),
        ('"gaussian"', '"auto"', "privacy.mechanism"),
        ("epsilon = 800.0\n", "", "reference.epsilon"),
        ('"dp_quantiles"', '"public_reference"', "reference.epsilon"),
        ("epsilon = 5.0", 'epsilon = 5.0\nprojection = "public_pca"', "privacy.projection"),
    ],
)  # fmt: skip
def test_mistakes_in_the_study_are_named(neuroveil, study, old: str, new: str, where: str) -> None:
    write(study, "gaussian")
    text = study.read_text()
    assert old in text
    study.write_text(text.replace(old, new))
    answer = neuroveil("check", study)
    assert answer.code == 2, answer.everything
    assert where in answer.everything
