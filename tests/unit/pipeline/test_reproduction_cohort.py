"""Cohorts of recordings for the paper's tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neuroveil.errors import RecordingError, StudyError
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.reproduction_cohort import eegmat_cohort, study_cohort
from neuroveil.privacy import scale_rows
from neuroveil.reference import default_reference
from neuroveil.simulate import CohortSpec, simulate_cohort
from neuroveil.study import Study, load_study

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Eighteen made-up patients, six of them with epilepsy, as EDF files."""
    folder = tmp_path_factory.mktemp("study")
    spec = CohortSpec(n_patients=18, n_sessions=1, seconds=10.0, epilepsy_share=1 / 3)
    simulate_cohort(folder / "cohort", spec)
    text = '[input]\nlayout = "bids"\nfolder = "cohort"\npopulation = "adults"\n'
    (folder / "study.toml").write_text(text)
    return load_study(folder)


def test_a_study_gives_its_first_patients_of_each_class(study: Study) -> None:
    cohort = study_cohort(study, "diagnosis", "epilepsy", 2)
    table = extract_study(study, 1).table
    positive = np.array([value == "epilepsy" for value in table.attributes["diagnosis"]])
    kept = np.sort(np.r_[np.flatnonzero(~positive)[:12], np.flatnonzero(positive)[:5]])
    assert cohort.facts.is_internal
    assert cohort.facts.n_features == 19 * 11
    assert np.array_equal(cohort.scaled, scale_rows(table, cohort.scaling)[kept])
    assert cohort.positive.sum() == 5


def test_a_column_that_is_not_in_the_roster_is_refused(study: Study) -> None:
    with pytest.raises(StudyError, match="diagnosis"):
        study_cohort(study, "outcome", "good", 1)


def test_too_few_positive_patients_are_refused_without_a_count(study: Study) -> None:
    with pytest.raises(RecordingError, match="fewer") as refused:
        study_cohort(study, "diagnosis", "migraine", 1)
    assert "found fewer" in str(refused.value)


def test_eegmat_gives_rest_and_arithmetic_of_different_people(eegmat: Path, tmp_path: Path) -> None:
    cohort = eegmat_cohort(eegmat, tmp_path / "out", 2)
    assert cohort.scaled.shape == (17, 190)
    assert cohort.positive.tolist() == [False] * 12 + [True] * 5
    assert cohort.scaling.name == default_reference("harmonised").title
    assert not any(cohort.scaling.fallback)
    assert np.linalg.norm(cohort.scaled, axis=1).min() > 2  # as the paper's, all are clipped
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


def test_an_incomplete_copy_of_eegmat_is_refused(eegmat: Path, tmp_path: Path) -> None:
    """One person of twelve: the others would be rows of public constants."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "Subject00_1.edf").symlink_to(eegmat / "Subject00_1.edf")
    with pytest.raises(RecordingError, match="11 people without one"):
        eegmat_cohort(tmp_path / "copy", tmp_path / "out", 1)
