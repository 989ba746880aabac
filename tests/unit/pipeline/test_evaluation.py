"""An evaluation as a study runs it: labels, units of work that are kept, files."""

from __future__ import annotations

import csv
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from neuroveil.errors import MachineError, RecordingError, StudyError
from neuroveil.pipeline import evaluation
from neuroveil.pipeline.evaluated import evaluate_study, preview_evaluation
from neuroveil.pipeline.evaluation import (
    patient_labels,
    prepare,
    run_evaluation,
)
from neuroveil.pipeline.evaluation_wishes import EvaluationWishes
from neuroveil.pipeline.finished_units import read_done
from neuroveil.simulate import simulate_rows
from neuroveil.study import Study, load_study
from neuroveil.types.catalogue import columns_for
from neuroveil.types.table import FeatureTable

CHANNELS, NAMES = ("Fp1", "Cz", "O1", "O2"), ("variance", "alpha_power", "beta_power")
REPORTS = ("Epileptic seizure.", "No epileptic seizure.", "Normal.", "Xylophone", "", "Normal!")
SMALL = EvaluationWishes(
    models=("noise_aware",), ways=("unprotected", "study", "private_training"), n_rounds=2
)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return load_study(_write_study(tmp_path, 'label = "sex"\npositive = ["F"]'))


def _write_study(folder: Path, evaluation_section: str) -> Path:
    folder.joinpath("study.toml").write_text(
        '[input]\nlayout = "manifest"\nmanifest = "manifest.csv"\npopulation = "adults"\n'
        f"[montage]\nchannels = {list(CHANNELS)}\n[features]\nnames = {list(NAMES)}\n"
        f"[privacy]\nepsilon = 2.0\n[evaluation]\n{evaluation_section}\n"
    )
    return folder


@pytest.fixture
def table(study: Study) -> FeatureTable:
    """Eighteen people who do not exist; the last one's sex is not known."""
    from neuroveil.pipeline.promise import planning_scaling

    scaling = planning_scaling(study)
    columns = columns_for(CHANNELS, NAMES)
    rows = simulate_rows(18, scaling, 3)
    values = 10 ** (scaling.centre + scaling.spread * rows)
    sex = ("F",) * 6 + ("M",) * 11 + ("unknown",)
    return FeatureTable(
        tuple(f"secret-{i}" for i in range(18)), columns, np.asarray(values),
        np.full(18, 30), np.full(18, 31.0), {"sex": sex, "report": REPORTS * 3},
    )  # fmt: skip


def prepared_for(study, table, wishes=SMALL):
    return prepare(study, table, patient_labels(study, table.attributes), wishes)


@pytest.fixture
def counted(monkeypatch):
    """Do units in this process, and count them."""
    done = []

    def run_here(jobs, n_workers, work, crashed):
        for job in jobs:
            done.append(job.number)
            yield work(job)

    monkeypatch.setattr(evaluation, "run_tasks", run_here)
    return done


def test_patients_without_a_label_are_left_out(study, table):
    prepared = prepared_for(study, table)
    assert prepared.cohort.labels.tolist() == [True] * 6 + [False] * 11
    assert (prepared.counts.n_positive, prepared.counts.n_left_out) == (6, 1)
    assert prepared.promise.n_patients == 17
    assert prepared.promise.delta == 1e-5
    assert [way.facts.key for way in prepared.ways] == ["unprotected", "study", "private_training"]
    assert len(prepared.units) == 6


def test_finished_units_are_kept_private_and_used_again(study, table, counted):
    prepared = prepared_for(study, table)
    first = run_evaluation(study, prepared)
    assert counted == [1, 2, 3, 4, 5, 6]
    folder = study.path("internal/evaluation")
    files = sorted(folder.glob("*.npz"))
    assert len(files) == 6
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files[0].write_bytes(files[0].read_bytes()[:100])  # damaged: done again
    files[1].unlink()
    assert read_done(files[0]) is None
    again = run_evaluation(study, prepared)
    assert len(counted) == 8
    assert again == first
    assert not any("secret" in file.name for file in folder.iterdir())


def test_other_rows_labels_settings_or_rounds_are_other_units(study, table, counted):
    run_evaluation(study, prepared_for(study, table))
    counted.clear()
    more = EvaluationWishes(SMALL.models, SMALL.ways, 3)
    run_evaluation(study, prepared_for(study, table, more))
    assert counted == [3, 6, 9]  # the third round of each way
    counted.clear()
    stricter = study.model_copy(
        update={"privacy": study.privacy.model_copy(update={"epsilon": 1.0})}
    )
    run_evaluation(stricter, prepared_for(stricter, table))
    assert counted == [3, 4, 5, 6]  # the unprotected table does not depend on epsilon
    counted.clear()
    values = table.values.copy()
    values[0, 0] *= 2
    other = FeatureTable(table.patients, table.columns, values, table.n_windows, table.seconds,
                         table.attributes)  # fmt: skip
    run_evaluation(study, prepared_for(study, other))
    assert len(counted) == 6


def test_a_unit_that_brings_its_process_down_can_be_tried_again(study, table, monkeypatch):
    def crash(jobs, n_workers, work, crashed):
        for job in jobs:
            yield crashed(job) if job.number == 4 else work(job)

    monkeypatch.setattr(evaluation, "run_tasks", crash)
    with pytest.raises(MachineError, match="1 unfinished"):
        run_evaluation(study, prepared_for(study, table))


@pytest.mark.slow
def test_processes_give_the_same_table(study, table, counted, monkeypatch):
    here = run_evaluation(study, prepared_for(study, table))
    for file in study.path("internal/evaluation").glob("*.npz"):
        file.unlink()
    monkeypatch.undo()
    steps = []
    there = run_evaluation(
        study, prepared_for(study, table), 2, lambda done, total, what: steps.append(done)
    )
    assert there == here
    assert steps == [0, 1, 2, 3, 4, 5, 6]


def test_key_words_label_the_patients_and_nothing_of_a_report_is_kept(tmp_path, table, counted):
    study = load_study(_write_study(tmp_path, 'label = "report"\nrule = "keywords"'))
    labels = patient_labels(study, table.attributes)
    assert labels.values[:6] == (True, False, False, False, None, False)
    prepared = prepare(study, table, labels, SMALL)
    document = str(run_evaluation(study, prepared).to_json())
    assert "Xylophone" not in document
    assert prepared.counts.review == {
        "empty": 3, "negated": 3, "negation_ignored_by_the_paper": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("section", "where"),
    [
        ("", "evaluation.label"),
        ('label = "age"\npositive = ["1"]', "evaluation.label"),
    ],
    ids=["no label", "no such column"],
)
def test_a_label_that_is_not_there_is_refused(tmp_path, table, section, where):
    study = load_study(_write_study(tmp_path, section))
    with pytest.raises(StudyError) as caught:
        patient_labels(study, table.attributes)
    assert caught.value.where == where


@pytest.mark.parametrize(
    "section",
    [
        'label = "sex"',
        'label = "report"\nrule = "keywords"\npositive = ["F"]',
        'label = "sex"\npositive = ["F"]\nterms = ["seizure"]',
    ],
    ids=["no values", "values with key words", "terms with values"],
)
def test_contradictory_settings_are_refused(tmp_path, section):
    with pytest.raises(StudyError, match="evaluation"):
        load_study(_write_study(tmp_path, section))


def test_a_class_of_one_is_refused(tmp_path, table):
    study = load_study(_write_study(tmp_path, 'label = "sex"\npositive = ["X"]'))
    with pytest.raises(RecordingError, match="at least 2 patients in each class"):
        prepared_for(study, table)


@pytest.mark.parametrize(
    "wrong",
    [{"models": ()}, {"models": ("forest",)}, {"ways": ("pigeon",)}, {"n_rounds": 1}, {"seed": -1}],
    ids=str,
)
def test_wishes_that_cannot_be_are_refused(wrong):
    with pytest.raises(StudyError):
        EvaluationWishes(**wrong)


def test_large_cohorts_get_few_rounds():
    assert EvaluationWishes().rounds_for(199) == 10
    assert EvaluationWishes().rounds_for(200) == 3
    assert EvaluationWishes(n_rounds=5).rounds_for(2000) == 5


@pytest.fixture
def recorded(study, table, monkeypatch):
    """A study whose recordings were read already: reading them is tested elsewhere."""
    from types import SimpleNamespace

    from neuroveil.pipeline import evaluated

    extraction = SimpleNamespace(table=table, require_settled=lambda: None)
    monkeypatch.setattr(evaluated, "extract_study", lambda *arguments: extraction)
    manifest = ["patient,path,sex,report"]
    manifest += [
        f"{patient},,{sex},{report}"
        for patient, sex, report in zip(
            table.patients, table.attributes["sex"], table.attributes["report"], strict=True
        )
    ]
    study.path("manifest.csv").write_text("\n".join(manifest))
    return study


def test_a_preview_reads_the_roster_only(recorded):
    document = preview_evaluation(recorded, SMALL)
    assert (document["positive"], document["negative"], document["left_out"]) == (6, 11, 1)
    assert document["units_of_work"] == 6
    assert not recorded.path("internal").exists()


@pytest.mark.parametrize("run", [preview_evaluation, evaluate_study])
def test_an_empty_class_is_told_before_any_signal_is_read(recorded, tmp_path, monkeypatch, run):
    monkeypatch.delattr("neuroveil.pipeline.evaluated.extract_study")
    nobody = load_study(_write_study(tmp_path, 'label = "sex"\npositive = ["X"]'))
    with pytest.raises(RecordingError, match="at least 2 patients in each class"):
        run(nobody, SMALL)


def test_constants_that_only_a_release_draws_are_said_to_be_missing(
    recorded, table, tmp_path, counted
):
    """A study whose scaling is paid for is judged on public constants, in the same ways."""
    file = tmp_path / "study.toml"
    central = '[privacy]\ntrust_model = "central"\nmechanism = "mean_covariance"\n'
    text = file.read_text().replace("[privacy]\n", central)
    wishes = replace(SMALL, ways=("unprotected", "rows"))
    file.write_text(text)
    public = preview_evaluation(load_study(file), wishes)
    file.write_text(text + '[reference]\nscaling = "dp_quantiles"\nepsilon = 400.0\n')
    drawn = load_study(file)
    preview = preview_evaluation(drawn, wishes)
    assert (public["draws_scaling"], preview["draws_scaling"]) == (False, True)
    assert preview["ways"] == public["ways"]
    found = run_evaluation(drawn, prepared_for(drawn, table, wishes))
    assert "draws constants of its own" in found.verdict
    assert found.to_json()["draws_scaling"] is True


def test_what_is_written_is_private_and_holds_no_patient_but_the_review_list(
    recorded, counted, tmp_path
):
    by_report = load_study(
        _write_study(tmp_path, 'label = "report"\nrule = "keywords"'),
    )
    found = evaluate_study(by_report, SMALL, 1)
    folder = by_report.path("internal")
    for name in ("evaluation.html", "evaluation.json", "label_review.csv"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    for name in ("evaluation.html", "evaluation.json"):
        text = (folder / name).read_text()
        assert "secret-" not in text
        assert "Xylophone" not in text
    rows = list(csv.reader((folder / "label_review.csv").open()))
    assert rows[:3] == [["patient", "reason"], ["secret-1", "negated"], ["secret-4", "empty"]]
    assert found.written["review"] == "internal/label_review.csv"
    assert found.view is not None
    assert found.view.mechanism == "gaussian"
    evaluate_study(recorded, SMALL, 1)
    assert not (folder / "label_review.csv").exists()  # nothing to review by value
