"""Mean and covariance through the command line, on the small cohort."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CENTRAL = """\
[input]
layout = "bids"
folder = "cohort"
population = "adults"

[features]
names = ["alpha_power", "variance"]

[privacy]
trust_model = "central"
mechanism = "{mechanism}"
epsilon = {epsilon}

[privacy.budget]
epsilon = 30.0
delta = 1e-3
"""


def write(study: Path, mechanism: str, epsilon: float) -> None:
    study.write_text(CENTRAL.format(mechanism=mechanism, epsilon=epsilon))


def test_release_of_moments(neuroveil, study) -> None:
    write(study, "mean_covariance", 5.0)
    forecast = "covariances that correlate"
    check = neuroveil("check", study, "--json")
    assert check.code == 0, check.everything
    assert forecast in check.json["release"]["choice"]
    dry = neuroveil("release", study, "--dry-run", "--json")
    assert dry.json["mechanism"] == "mean_covariance"
    assert dry.json["trust_model"] == "central"
    assert forecast in dry.json["choice"]
    rehearsal = neuroveil("release", study, "--rehearse")
    assert rehearsal.code == 0, rehearsal.everything
    assert forecast in rehearsal.everything
    released = neuroveil("release", study, "--json")
    assert released.code == 0, released.everything
    assert released.json["remaining"]["epsilon"] == 25.0
    measured = released.json["internal_utility"]
    assert measured["mean_rmse"]["low"] < measured["mean_rmse"]["mean"]
    assert 0 < measured["marginal_distance"]["mean"] < 1
    page = Path(released.json["internal_report"]).read_text()
    assert "Correlation of covariance entries" in page
    assert "INTERNAL" in page
    folder = Path(released.json["release"])
    assert {file.name for file in folder.iterdir()} == {
        "certificate.json", "moments.csv", "mean.csv", "covariance.csv", "synthetic.csv",
        "synthetic.parquet", "synthetic.json", "STATEMENT.md", "report.html", "load_moments.py",
    }  # fmt: skip
    verified = neuroveil("verify", folder, "--json")
    assert verified.code == 0, verified.everything
    assert "given a trusted curator" in (folder / "STATEMENT.md").read_text()
    report = neuroveil("report", folder, "--out", study.parent / "again.html")
    assert report.code == 0, report.everything
    assert json.loads((folder / "synthetic.json").read_text())["NumberOfRows"] == 5


def test_automatic_choice_of_rows_needs_nobody_s_trust(neuroveil, study) -> None:
    """Five patients hide nobody in an aggregate: at a large epsilon rows leave more."""
    write(study, "auto", 10.0)
    dry = neuroveil("release", study, "--dry-run", "--json")
    assert dry.code == 0, dry.everything
    assert dry.json["mechanism"] != "mean_covariance"
    assert dry.json["trust_model"] == "local"
    assert "the mean and covariance of all patients would leave" in dry.json["choice"]


def test_mistakes_in_the_study_are_named(neuroveil, study) -> None:
    write(study, "gaussian", 5.0)
    answer = neuroveil("check", study)
    assert answer.code != 0
    assert "privacy.mechanism" in answer.everything
    study.write_text(study.read_text().replace('"central"', '"local"').replace(
        '"gaussian"', '"mean_covariance"'
    ))  # fmt: skip
    answer = neuroveil("check", study)
    assert answer.code != 0
    assert "privacy.trust_model" in answer.everything
