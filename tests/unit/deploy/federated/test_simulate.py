"""Simulated federations: the plan without rows, settings compared, and a whole run in Flower."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from neuroveil.audit.table.trained_models import LiraSettings
from neuroveil.cli.commands.federate import command
from neuroveil.deploy.federated.attack import attack_training
from neuroveil.deploy.federated.cohort import hospital_parts, made_up, make_rosters, roster_size
from neuroveil.deploy.federated.compare import SETTINGS, compare_settings
from neuroveil.deploy.federated.direct import train_directly
from neuroveil.deploy.federated.figures import judged, judged_by_hospital
from neuroveil.deploy.federated.hospital import Part
from neuroveil.deploy.federated.in_process import run_in_process
from neuroveil.deploy.federated.local import N_BINS
from neuroveil.deploy.federated.plan import plan_from_study
from neuroveil.deploy.federated.planned import message_bytes, noise_in_a_step
from neuroveil.deploy.federated.progress import from_bytes
from neuroveil.deploy.federated.simulate import simulate_federation, simulation_plan
from neuroveil.deploy.federated.specs import InputSpec
from neuroveil.errors import FederationError, StudyError
from neuroveil.pipeline.promise import planning_scaling
from neuroveil.report.federation import federation_report
from neuroveil.study import Study, load_study
from neuroveil.types.federation import FederationResult

STUDY = """
[input]
folder = "none"
[montage]
channels = ["Cz", "Pz", "O1"]
[privacy]
epsilon = 1.0
delta = 1e-5
[federation]
setting = "{setting}"
simulation = true
rounds = 2
hospitals = [
  {{ name = "north", patients = 30 }},
  {{ name = "south", patients = 20 }},
  {{ name = "east", patients = 25 }},
]
max_dropouts = 0
"""


@pytest.fixture
def make_study(tmp_path):
    def make(setting: str = "none", **overrides) -> Study:
        (tmp_path / "study.toml").write_text(STUDY.format(setting=setting))
        return load_study(tmp_path, overrides)

    return make


class TestMadeUpPatients:
    def test_are_as_many_as_train_and_judge(self, make_study) -> None:
        study = make_study()
        plan = simulation_plan(study)
        parts = hospital_parts(plan, planning_scaling(study), make_rosters(study, plan))
        assert {name: part["train"].labels.size for name, part in parts.items()} == {
            "north": 30, "south": 20, "east": 25
        }  # fmt: skip
        assert all(part["test"].labels.size >= 6 for part in parts.values())

    @pytest.mark.parametrize("n", [1, 2, 7, 50, 101])
    def test_have_a_roster_of_the_right_size(self, make_plan, n) -> None:
        plan = make_plan(test_share=0.3)
        size = roster_size(plan, n)
        assert size - int(0.3 * size) == n

    def test_differ_between_hospitals_and_agree_on_the_classes(self, make_study) -> None:
        scaling = planning_scaling(make_study())
        one, other = (made_up(scaling, 400, 6.0, (3, number)) for number in (0, 1))
        assert (one.rows != other.rows).any()
        shifts = [
            r.rows[r.labels].mean(axis=0) - r.rows[~r.labels].mean(axis=0) for r in (one, other)
        ]
        assert np.corrcoef(*shifts)[0, 1] > 0.8

    def test_of_a_protected_setting_train_on_protected_rows_only(self, make_study) -> None:
        """Those who judge are in the clear and the same; nobody trains on a clear row."""
        bare, protected = make_study(), make_study("local_features", **{"privacy.epsilon": 8.0})
        found = []
        for study in (bare, protected):
            plan = simulation_plan(study)
            rosters = make_rosters(study, plan)
            found.append(hospital_parts(plan, planning_scaling(study), rosters)["north"])
        np.testing.assert_array_equal(found[0]["test"].inputs, found[1]["test"].inputs)
        assert not np.isclose(found[0]["train"].inputs, found[1]["train"].inputs).all(axis=1).any()


class TestFigures:
    def test_are_those_of_the_definition(self) -> None:
        rng = np.random.default_rng(1)
        scores, labels = rng.random(300), rng.random(300) < 0.4
        place = np.minimum((scores * N_BINS).astype(int), N_BINS - 1)
        found = judged(
            np.bincount(place[labels], minlength=N_BINS),
            np.bincount(place[~labels], minlength=N_BINS), 0.7,
        )  # fmt: skip
        pairs = scores[labels][:, None] - scores[~labels][None, :]
        assert found.auc.mean == pytest.approx((pairs > 0).mean(), abs=0.002)
        balanced = ((scores[labels] >= 0.5).mean() + (scores[~labels] < 0.5).mean()) / 2
        assert found.balanced_accuracy.mean == pytest.approx(balanced)
        assert found.auc.low < found.auc.mean < found.auc.high

    def test_are_not_defined_for_one_class(self) -> None:
        found = judged(np.ones(N_BINS, dtype=int), np.zeros(N_BINS, dtype=int), 0.1)
        assert (found.auc, found.balanced_accuracy) == (None, None)

    def test_of_all_hospitals_are_pooled(self) -> None:
        ones, none = [1] * N_BINS, [0] * N_BINS
        figures = {
            "a/test_loss": 1.0, "a/test_positive": ones, "a/test_negative": none,
            "b/test_loss": 2.0, "b/test_positive": none, "b/test_negative": ones,
        }  # fmt: skip
        each, pooled = judged_by_hospital(figures, ("a", "b", "c"))
        assert list(each) == ["a", "b"]
        assert pooled.loss == 1.5
        assert pooled.auc.mean == pytest.approx(0.5)
        assert judged_by_hospital({}, ("a",)) == ({}, None)


@pytest.mark.slow
def test_settings_are_compared_at_one_epsilon(make_study) -> None:
    """Seeds are fixed."""
    study = make_study("dp_sgd", **{"privacy.epsilon": 4.0})
    rows = compare_settings(plan_from_study(study), planning_scaling(study), 4.0, 2)
    assert [row.setting for row in rows] == [*SETTINGS, "central", "pooled"]
    by_name = {row.setting: row for row in rows}
    assert {by_name[each].epsilon for each in SETTINGS[:3]} == {4.0}
    assert by_name["none"].epsilon is None
    assert (by_name["central"].epsilon, by_name["central"].trust) == (4.0, "the server")
    assert by_name["central"].noise <= by_name["distributed"].noise
    assert by_name["distributed"].noise < by_name["dp_sgd"].noise
    assert by_name["pooled"].balanced_accuracy > 0.85
    assert all(row.low <= row.balanced_accuracy <= row.high for row in rows)


@pytest.mark.slow
def test_attacks_find_members_without_protection_only(make_plan) -> None:
    """Seeded. Hospitals of six in forty dimensions: bare updates give members away."""
    rng = np.random.default_rng(2)
    wide = InputSpec("sha256:columns", "reference", 40)
    parts = {f"h{n}": Part(rng.standard_normal((6, 40)), np.arange(6) % 2 == 0) for n in range(4)}
    few = LiraSettings(n_bootstraps=50)
    bare = make_plan(sizes=(6,) * 4, rounds=1, inputs=wide)
    model, update = attack_training(bare, parts, few)
    assert update.target == "a hospital's update of the first round"
    assert update.figure("auc").value > 0.9
    assert model.figure("auc").value > 0.7
    noisy = make_plan("distributed", sizes=(6,) * 4, rounds=1, inputs=wide, max_dropouts=0)
    hidden_model, hidden = attack_training(noisy, parts, few)
    assert hidden.target == "the sum of all updates of a round"
    assert abs(hidden.figure("auc").value - 0.5) < 0.1
    assert abs(hidden_model.figure("auc").value - 0.5) < 0.1


def test_rows_that_were_released_are_audited_as_a_release(make_plan, make_parts) -> None:
    plan = make_plan("local_features")
    assert attack_training(plan, make_parts(plan)) == ()


def test_real_plans_never_gather_rows(make_plan, make_parts) -> None:
    plan = make_plan("dp_sgd", simulation=False, seed=None)
    with pytest.raises(FederationError, match="simulation"):
        train_directly(plan, make_parts(plan))


def test_messages_are_counted_before_the_first_round(make_plan) -> None:
    bare, masked = make_plan(), make_plan("distributed")
    assert message_bytes(bare) < message_bytes(masked)
    assert noise_in_a_step(bare) is None
    assert noise_in_a_step(masked) > 0


@pytest.mark.parametrize("setting", ["none", "distributed"])
def test_no_round_takes_more_than_was_foretold(make_plan, make_folders, setting) -> None:
    plan = make_plan(setting, test_share=0.2, kind="mlp")
    for record in run_in_process(*make_folders(plan)).rounds:
        assert record.bytes_sent + record.bytes_received <= message_bytes(plan)


def check_whole(study: Study, engine: str) -> None:
    """Both apps, figures, page; and the same model as without messages."""
    simulated = simulate_federation(study, audit=False, engine=engine)
    result = simulated.result
    assert [len(each["hospitals_in"]) for each in result.chain["rounds"]] == [3, 3]
    assert result.pooled.balanced_accuracy.mean > 0.6  # the seed is fixed
    plan = simulation_plan(study)
    parts = hospital_parts(plan, planning_scaling(study), make_rosters(study, plan))
    expected = train_directly(plan, {name: part["train"] for name, part in parts.items()})
    content = (simulated.folder / "coordinator" / "model.safetensors").read_bytes()
    for name, value in from_bytes(content, plan).items():
        np.testing.assert_allclose(value, expected[name], atol=1e-9)
    assert "NOT PRIVATE" in (simulated.folder / "federation.html").read_text()
    # Finished: a second call trains nothing.
    again = simulate_federation(study, audit=False, engine=engine)
    assert again.result.chain == result.chain


def test_a_whole_federation_in_this_process(make_study) -> None:
    check_whole(make_study(), "process")


@pytest.mark.long
def test_a_whole_federation_in_flowers_simulation(make_study) -> None:
    """Ray's own start takes longer than a busy machine of continuous integration may wait."""
    check_whole(make_study(), "ray")


class TestThePage:
    @pytest.fixture
    def result(self, make_plan) -> FederationResult:
        from neuroveil.deploy.federated.chain import federation_chain
        from neuroveil.deploy.federated.models import initial_arrays
        from neuroveil.deploy.federated.progress import RoundRecord, RunState

        plan = make_plan("distributed", simulation=False, seed=None)
        rounds = (RoundRecord(1, 1, ("h0",), {"h1": "<b>late</b>"}, None, 1.0, 10, 20),)
        chain = federation_chain(plan, RunState(initial_arrays(plan), 1, rounds), "sha256:model")
        return FederationResult(json.loads(json.dumps(chain)), {}, None)

    def test_asks_for_nothing_and_escapes_what_comes_from_elsewhere(self, result) -> None:
        page = federation_report(result)
        assert "<b>late</b>" not in page
        assert "&lt;b&gt;late" in page
        assert "http" not in page.replace("http-equiv", "")
        assert "NOT PRIVATE" not in page

    def test_is_the_same_for_the_same_result(self, result) -> None:
        assert federation_report(result) == federation_report(result)

    @pytest.mark.parametrize(("setting", "words"), [
        ("local_features", "rounds cost nothing more"), ("dp_sgd", "every local step"),
        ("distributed", "masked update"), ("none", "Nothing protects"),
    ])  # fmt: skip
    def test_says_what_each_setting_promises(self, make_plan, setting, words) -> None:
        from neuroveil.deploy.federated.chain import verdict

        plan = make_plan(setting) if setting == "none" else make_plan(
            setting, simulation=False, seed=None
        )  # fmt: skip
        assert words in verdict(plan, ())

    def test_names_unprotected_labels(self, make_plan) -> None:
        from neuroveil.deploy.federated.chain import blocking_reasons, chain_links

        plan = make_plan("local_features", simulation=False, seed=None, labels="unprotected")
        assert chain_links(plan)["domain"]["unprotected"].value == ["label"]
        assert "labels" in blocking_reasons(plan)[0]


class TestTheCommand:
    def invoke(self, *words: str) -> dict:
        found = CliRunner().invoke(command, [*words, "--json"], standalone_mode=False)
        assert found.exception is None, found.exception
        return json.loads(found.stdout)

    def test_plans_without_a_row(self, make_study, tmp_path: Path) -> None:
        make_study("distributed")
        document = self.invoke("plan", str(tmp_path), "--out", str(tmp_path / "agreed"))
        assert document["setting"] == "distributed"
        assert document["patients"] == 75
        assert document["private"] is False
        assert (tmp_path / "agreed" / "plan.json").exists()

    def test_refuses_a_folder_for_the_plan_that_cannot_be(self, make_study, tmp_path) -> None:
        make_study("distributed")
        for place in (tmp_path / "study.toml", tmp_path / "study.toml" / "below"):
            words = ["plan", str(tmp_path), "--out", str(place)]
            found = CliRunner().invoke(command, words, standalone_mode=False)
            assert isinstance(found.exception, StudyError)
            assert "--out" in str(found.exception)

    def test_says_what_a_simulation_would_do(self, make_study, tmp_path: Path) -> None:
        make_study("distributed")
        document = self.invoke(
            "simulate", str(tmp_path), "--dry-run", "--setting", "none", "--rounds", "7"
        )
        assert (document["setting"], document["rounds"]) == ("none", 7)
        assert not (tmp_path / "internal").exists()


class TestTheStudy:
    @pytest.mark.parametrize(("changed", "place"), [
        ({"federation.simulation": False}, "federation.setting"),
        ({"federation.setting": "dp_sgd", "federation.stopping": "validation"},
         "federation.stopping"),
        ({"federation.setting": "distributed", "federation.aggregation": "median"},
         "federation.aggregation"),
        ({"federation.setting": "distributed", "federation.max_dropouts": 2},
         "federation.max_dropouts"),
        ({"federation.setting": "distributed", "federation.local_steps": 2},
         "federation.local_steps"),
        ({"federation.minimum_hospitals": 4}, "federation.minimum_hospitals"),
        ({"federation.aggregation": "trimmed_mean", "federation.trimmed": 2},
         "federation.trimmed"),
    ])  # fmt: skip
    def test_names_what_does_not_go_together(self, make_study, changed, place) -> None:
        with pytest.raises(StudyError) as refused:
            make_study(**changed)
        assert place in [mistake.where for mistake in refused.value.mistakes]

    def test_without_hospitals_is_no_plan(self, make_study) -> None:
        with pytest.raises(StudyError, match="hospitals"):
            plan_from_study(make_study(**{"federation.hospitals": []}))

    def test_that_is_no_simulation_is_not_simulated(self, make_study) -> None:
        study = make_study("dp_sgd", **{"federation.simulation": False})
        with pytest.raises(FederationError, match="simulation"):
            simulation_plan(study)
