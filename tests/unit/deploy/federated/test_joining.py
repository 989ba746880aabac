"""A hospital joins from its own study: real files, its ledger, its release."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from neuroveil.deploy.federated.hospital import Hospital
from neuroveil.deploy.federated.joining import enrol_hospital, split_patients
from neuroveil.deploy.federated.plan import FederationPlan, plan_from_study
from neuroveil.errors import BudgetError, ChainError, FederationError, NeuroveilError, StudyError
from neuroveil.ledger import Ledger
from neuroveil.pipeline.extract import extract_study
from neuroveil.pipeline.release import release_study
from neuroveil.privacy.randomness import SimulationRandomness
from neuroveil.simulate import CohortSpec, simulate_cohort
from neuroveil.study import Study, load_study

STUDY = """
[input]
layout = "bids"
folder = "../cohort"
[montage]
channels = ["Cz", "Pz", "O1"]
[features]
names = ["variance", "line_length"]
[privacy]
epsilon = 2.0
delta = 1e-5
mechanism = "gaussian"
projection = "none"
budget = {{ epsilon = {budget}, delta = 1e-3 }}
[evaluation]
label = "diagnosis"
positive = ["epilepsy"]
[federation]
setting = "{setting}"
components = 3
hospitals = [
  {{ name = "north", patients = {patients} }},
  {{ name = "south", patients = 40 }},
  {{ name = "east", patients = 40 }},
]
[[labels]]
column = "diagnosis"
policy = "randomised_response"
categories = ["epilepsy", "control"]
epsilon = 1.0
"""


@pytest.fixture(scope="module")
def cohort(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("hospital")
    simulate_cohort(place / "cohort", CohortSpec(n_patients=8, seconds=10.0, seed=4))
    (place / "warm").mkdir()
    text = STUDY.format(setting="dp_sgd", patients=8, budget=10.0)
    (place / "warm" / "study.toml").write_text(text)
    extract_study(load_study(place / "warm"), n_workers=1)  # kept, so that tests read it once
    return place


@pytest.fixture
def make_study(cohort, tmp_path) -> Callable[..., Study]:
    """A study of a hospital with eight patients; the recordings are shared, the ledger is not."""

    def make(setting: str = "dp_sgd", patients: int = 8, budget: float = 10.0, **more) -> Study:
        folder = cohort / f"{tmp_path.name}-{setting}"
        if not folder.exists():
            shutil.copytree(cohort / "warm", folder)
        text = STUDY.format(setting=setting, patients=patients, budget=budget)
        (folder / "study.toml").write_text(text)
        return load_study(folder, more)

    return make


def enrol(study: Study, plan: FederationPlan, seat: Path) -> Hospital:
    return enrol_hospital(study, plan, "north", seat, n_workers=1)


def spent(study: Study) -> float:
    return float(Ledger(study.path(study.privacy.ledger), read_only=True).state().spent[0])


@pytest.mark.slow
class TestAHospital:
    def test_pays_once_for_the_whole_run_before_it_begins(self, make_study, tmp_path) -> None:
        study = make_study()
        plan = plan_from_study(study)
        hospital = enrol(study, plan, tmp_path / "seat")
        assert spent(study) == 2.0
        seat = json.loads((tmp_path / "seat" / "seat.json").read_text())
        assert seat["paid"] == {"ledger_entry": 1, "epsilon": 2.0, "delta": 1e-5}
        part = hospital.part("train")
        assert part.inputs.shape == (8, 3)
        assert 0 < part.labels.sum() < 8
        assert (np.linalg.norm(part.inputs, axis=1) <= 3**0.5 + 1e-9).all()
        with pytest.raises(FederationError, match="made before"):
            enrol(study, plan, tmp_path / "seat")
        assert spent(study) == 2.0

    @pytest.mark.parametrize(("patients", "budget", "refusal"), [
        (9, 10.0, FederationError), (8, 1.0, BudgetError),
    ])  # fmt: skip
    def test_is_refused_before_anything_is_spent(
        self, make_study, tmp_path, patients, budget, refusal
    ) -> None:
        study = make_study(patients=patients, budget=budget)
        with pytest.raises(refusal):
            enrol(study, plan_from_study(study), tmp_path / "seat")
        assert not (tmp_path / "seat").exists()
        if Ledger.exists(study.path(study.privacy.ledger)):
            assert spent(study) == 0

    def test_pays_nothing_for_a_folder_that_cannot_be_made(self, make_study, tmp_path) -> None:
        study = make_study()
        (tmp_path / "seat").write_text("a file")
        with pytest.raises(StudyError, match="hospital folder"):
            enrol(study, plan_from_study(study), tmp_path / "seat")
        if Ledger.exists(study.path(study.privacy.ledger)):
            assert spent(study) == 0

    def test_pays_nothing_where_no_label_is_known(self, make_study, cohort, tmp_path) -> None:
        copy = shutil.copytree(cohort / "cohort", tmp_path / "unlabelled")
        roster = copy / "participants.tsv"
        text = roster.read_text()
        for label in ("epilepsy", "healthy"):
            text = text.replace(label, "n/a")
        roster.write_text(text)
        study = make_study(**{"input.folder": str(copy)})
        with pytest.raises(NeuroveilError):
            enrol(study, plan_from_study(study), tmp_path / "seat")
        assert not (tmp_path / "seat").exists()
        if Ledger.exists(study.path(study.privacy.ledger)):
            assert spent(study) == 0

    def test_trains_on_its_release_at_no_further_cost(self, make_study, tmp_path) -> None:
        study = make_study("local_features")
        plan = plan_from_study(study)
        assert (plan.epsilon, plan.privacy.labels) == (3.0, "randomised_response")
        with pytest.raises(FederationError, match="release"):
            enrol(study, plan, tmp_path / "early")
        released = release_study(study, n_workers=1)
        after = spent(study)
        hospital = enrol(study, plan, tmp_path / "seat")
        assert spent(study) == after == 3.0
        seat = json.loads((tmp_path / "seat" / "seat.json").read_text())
        assert seat["paid"]["release"] == released.certificate.chain_digest
        assert hospital.part("train").inputs.shape == (8, 3)
        table = released.folder / "table.csv"
        table.write_text(table.read_text().replace("1", "2", 1))
        with pytest.raises(FederationError, match="does not"):
            enrol(study, plan, tmp_path / "forged")


def test_plans_for_made_up_patients_are_not_for_hospitals(make_study, tmp_path) -> None:
    study = make_study(**{"federation.simulation": True})
    with pytest.raises(FederationError, match="simulation"):
        enrol(study, plan_from_study(study), tmp_path / "seat")


def test_a_plan_that_costs_more_than_the_study_allows_is_refused(make_study, tmp_path) -> None:
    plan = plan_from_study(make_study(**{"privacy.epsilon": 5.0}))
    with pytest.raises(FederationError, match="at most 2"):
        enrol(make_study(), plan, tmp_path / "seat")


def test_a_large_delta_needs_a_reason(make_study, tmp_path) -> None:
    """As for a release, whoever asks: when a plan is made, and by each hospital that joins."""
    study = make_study(**{"privacy.delta": 0.5})
    with pytest.raises(ChainError, match="delta"):
        plan_from_study(study)
    reason = {"privacy.delta": 1e-3, "privacy.delta_justification": "A rehearsal."}
    plan = plan_from_study(make_study(**reason))
    assert plan.delta == 1e-3
    with pytest.raises(ChainError, match="delta"):  # a reason of others is none of this hospital
        enrol(make_study(), plan, tmp_path / "seat")
    assert not Ledger.exists(study.path(study.privacy.ledger))
    plan_from_study(make_study(**{"privacy.delta": 0.5, "federation.simulation": True}))


def test_rows_without_a_label_policy_are_no_plan(make_study) -> None:
    """Features that are protected while labels are not would be the paper's gap, in silence."""
    study = make_study("local_features", **{"evaluation.label": "hospital"})
    with pytest.raises(StudyError, match="labels"):
        plan_from_study(study)


class TestTheSplit:
    def test_puts_everybody_into_one_part(self, make_plan) -> None:
        plan: FederationPlan = make_plan(stopping="validation", test_share=0.25)
        inputs = np.arange(60.0).reshape(20, 3)
        labels = np.arange(20) % 2 == 0
        known = np.arange(20) != 7
        parts = split_patients(plan, inputs, labels, known, SimulationRandomness(1))
        rows = np.concatenate([part.inputs[:, 0] for part in parts.values()])
        assert sorted(rows) == [3.0 * n for n in range(20) if n != 7]
        assert parts["test"].labels.size in (4, 5)
        assert parts["validation"].labels.size in (2, 3)

    def test_looks_at_nobody(self, make_plan) -> None:
        """The same choice, whatever rows and labels are."""
        plan = make_plan(test_share=0.25)
        known = np.ones(20, dtype=bool)
        number = np.arange(20.0)[:, None] * np.ones(3)
        splits = [
            split_patients(plan, number, labels, known, SimulationRandomness(1))["test"].inputs
            for labels in (np.zeros(20, dtype=bool), np.ones(20, dtype=bool))
        ]
        np.testing.assert_array_equal(*splits)
