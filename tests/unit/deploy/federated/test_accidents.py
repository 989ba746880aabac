"""Accidents of a training: odd rosters, folders that are exchanged, files that are damaged."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from neuroveil.deploy.federated import flower
from neuroveil.deploy.federated.figures import judged_by_hospital
from neuroveil.deploy.federated.hospital import Part, write_hospital
from neuroveil.deploy.federated.in_process import run_in_process
from neuroveil.deploy.federated.joining import enrol_hospital
from neuroveil.deploy.federated.operate.run_folder import read_progress
from neuroveil.deploy.federated.verify import verify_training
from neuroveil.errors import CertificateError, FederationError

pytestmark = pytest.mark.slow  # PyTorch and Flower take seconds to load

SETTINGS = ("dp_sgd", "distributed", "none")


@pytest.mark.parametrize("setting", SETTINGS)
def test_one_class_at_a_hospital_and_one_patient_at_another_train(
    make_plan, make_folders, setting
) -> None:
    plan = make_plan(setting, sizes=(12, 1, 20), max_dropouts=0, max_colluding=1)
    coordinator, hospitals = make_folders(plan)
    only = Part(np.full((12, plan.inputs.components), 0.5), np.zeros(12, dtype=bool))
    shutil.rmtree(hospitals["h0"])
    write_hospital(hospitals["h0"], plan, "h0", {"train": only}, {"simulation": True})
    state = run_in_process(coordinator, hospitals)
    assert [each.hospitals_in for each in state.rounds] == [("h0", "h1", "h2")] * 2
    assert all(np.isfinite(value).all() for value in state.final.values())
    assert verify_training(coordinator).exit_code == 0


def test_a_hospital_whose_only_patient_judges_is_no_obstacle(make_plan, make_folders) -> None:
    """Validation takes the only patient, and nobody is left there to train on."""
    plan = make_plan("none", sizes=(8, 7, 20), stopping="validation", rounds=3)
    coordinator, hospitals = make_folders(plan)
    shutil.rmtree(hospitals["h1"])
    k = plan.inputs.components
    nobody = Part(np.zeros((0, k)), np.zeros(0, dtype=bool))
    parts = {"train": nobody, "validation": Part(np.full((1, k), 0.5), np.ones(1, dtype=bool))}
    write_hospital(hospitals["h1"], plan, "h1", parts, {"simulation": True})
    state = run_in_process(coordinator, hospitals)
    assert all(each.hospitals_in == ("h0", "h1", "h2") for each in state.rounds)
    assert all(np.isfinite(value).all() for value in state.final.values())


def test_a_hospital_of_one_class_has_counts_but_no_figures(make_plan, make_folders) -> None:
    plan = make_plan("none", sizes=(8, 8, 8), test_share=0.2)
    coordinator, hospitals = make_folders(plan)
    rows = np.full((4, plan.inputs.components), 0.5)
    shutil.rmtree(hospitals["h0"])
    parts = {"train": Part(np.tile(rows, (2, 1)), np.arange(8) % 2 == 0),
             "test": Part(rows, np.ones(4, dtype=bool))}  # fmt: skip
    write_hospital(hospitals["h0"], plan, "h0", parts, {"simulation": True})
    run_in_process(coordinator, hospitals)
    figures = json.loads((coordinator / "figures.json").read_text())["figures"]
    each, pooled = judged_by_hospital(figures, ("h0", "h1", "h2"))
    assert (each["h0"].n_positive, each["h0"].n_negative, each["h0"].auc) == (4, 0, None)
    assert pooled is not None
    assert pooled.auc is not None


def test_a_folder_that_is_exchanged_in_mid_training_is_out(make_plan, make_folders) -> None:
    """The folder of another plan takes the place of the one that enrolled."""
    plan = make_plan("dp_sgd")
    coordinator, hospitals = make_folders(plan)
    _, others = make_folders(make_plan("dp_sgd", learning_rate=0.1), "other")

    def exchanges(node: int, message) -> bool:
        if message.metadata.message_type == "train" and others["h0"].exists():
            shutil.rmtree(hospitals["h0"])
            others["h0"].rename(hospitals["h0"])
        return False

    state = run_in_process(coordinator, hospitals, exchanges)
    assert [set(each.hospitals_out) for each in state.rounds] == [{"h0"}, {"h0"}]
    assert json.loads((hospitals["h0"] / "answers.json").read_text())["last"] == 0


def test_a_missing_package_is_found_before_anything_is_read_or_charged(
    make_plan, tmp_path, monkeypatch
) -> None:
    find = flower.importlib.util.find_spec
    monkeypatch.setattr(
        flower.importlib.util, "find_spec", lambda name: None if name == "opacus" else find(name)
    )
    with pytest.raises(FederationError, match="opacus"):
        enrol_hospital(None, make_plan("dp_sgd"), "h0", tmp_path / "seat")  # no study is looked at
    assert not (tmp_path / "seat").exists()


DAMAGES = (b"", b"[]", b"null", b'{"rounds": 3}', b"{" * 99_999, b"[" * 99_999, b"\xff\xfe")


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_damaged_files_end_in_an_error_with_a_name(make_plan, make_folders, damage) -> None:
    folders = make_folders(make_plan(rounds=1))
    run_in_process(*folders)
    coordinator = folders[0]
    (coordinator / "result.json").write_bytes(damage)
    with pytest.raises(CertificateError, match=r"result\.json"):
        verify_training(coordinator)
    (coordinator / "rounds.json").write_bytes(damage)
    with pytest.raises(FederationError, match="coordinator folder"):
        run_in_process(*folders)
    with pytest.raises(FederationError, match=r"rounds\.json"):
        read_progress(coordinator)


@pytest.mark.parametrize("change", [
    {"attempts": 0}, {"attempts": 99}, {"models": []}, {"models": {}}, {"attempts": float("inf")},
    {"rounds": [3]}, {"best_round": None},
])  # fmt: skip
def test_rounds_that_cannot_have_been_are_refused(make_plan, make_folders, change) -> None:
    """An older count would ask hospitals for exchanges that they have answered."""
    folders = make_folders(make_plan(rounds=1))
    run_in_process(*folders)
    file = folders[0] / "rounds.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(FederationError, match="coordinator folder"):
        run_in_process(*folders)
