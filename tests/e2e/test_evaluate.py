"""``neuroveil evaluate`` as a process, from made-up recordings to the internal page."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuroveil.simulate import CohortSpec, simulate_cohort

pytestmark = pytest.mark.slow

STUDY = """\
[input]
layout = "bids"
folder = "cohort"
population = "adults"
[montage]
channels = ["Fp1", "Fp2", "C3", "C4", "O1", "O2", "Fz", "Pz"]
[features]
names = ["variance", "theta_power", "alpha_power"]
[privacy]
epsilon = 2.0
[evaluation]
label = "diagnosis"
positive = ["epilepsy"]
"""


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled")
    simulate_cohort(folder / "cohort", CohortSpec(n_patients=9, n_sessions=1, seconds=12.0))
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


SMALL = ("--model", "noise_aware", "--way", "unprotected", "--way", "rows",
         "--way", "private_moments", "--rounds", "2", "--workers", "1")  # fmt: skip


def test_evaluate_writes_internal_results_and_goes_on_where_it_stopped(neuroveil, labelled):
    first = neuroveil("evaluate", labelled, *SMALL, "--json")
    assert first.code == 0, first.err
    document = first.json
    assert document["internal"] is True
    assert "judging classifiers: 6 of 6" in first.err
    assert [result["way"]["key"] for result in document["sharing"]["results"]] == [
        "unprotected", "rows", "private_moments",
    ]  # fmt: skip
    internal = labelled.parent / "internal"
    page = (internal / "evaluation.html").read_text()
    assert "INTERNAL - NOT FOR PUBLICATION" in page
    assert 'id="band-maps"' in page
    kept = {file.name: file.stat().st_mtime_ns for file in (internal / "evaluation").glob("*.npz")}
    again = neuroveil("evaluate", labelled, *SMALL, "--json")
    assert again.json == document
    assert kept == {
        file.name: file.stat().st_mtime_ns for file in (internal / "evaluation").glob("*.npz")
    }
    words = neuroveil("evaluate", labelled, *SMALL)
    assert document["sharing"]["verdict"] in words.out
    assert "Do not choose a release by these figures" in words.out
    for patient in ("sub-0001", "hospital-1"):
        assert patient not in first.everything + page
    assert not (labelled.parent / "release").exists()
    assert not (labelled.parent / "ledger.sqlite").exists()


def test_a_dry_run_counts_and_reads_no_signal(neuroveil, labelled, tmp_path):
    answer = neuroveil("evaluate", labelled, *SMALL, "--dry-run", "--json", "--quiet")
    assert answer.json["units_of_work"] == 6
    assert answer.json["positive"] + answer.json["negative"] == 9
    assert answer.err == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--label", "shoe_size", "--positive", "44"), "evaluation.label"),
        (("--model", "forest"), "--model"),
        (("--keywords",), "evaluation.positive"),
    ],
    ids=["column", "model", "values with key words"],
)
def test_mistakes_are_told_before_any_signal_is_read(neuroveil, labelled, options, words):
    answer = neuroveil("evaluate", labelled, *options, "--dry-run")
    assert answer.code == 2
    assert words in answer.err
