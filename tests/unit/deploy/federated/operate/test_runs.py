"""A coordinator's trainings on disk: whose folder, how far, and in which words."""

from __future__ import annotations

import json

import pytest

from neuroveil.deploy.federated.operate.apps import folder_of_run
from neuroveil.deploy.federated.operate.run_folder import (
    RUNS_VARIABLE,
    read_progress,
    run_folder,
    write_nodes,
)
from neuroveil.deploy.federated.operate.status import status, status_text
from neuroveil.deploy.federated.plan import write_plan
from neuroveil.errors import FederationError, StudyError

pytest.importorskip("flwr", reason="Flower is not installed (pip install neuroveil[federated])")


class Context:
    def __init__(self, plan: str) -> None:
        self.run_config = {"plan": plan}


@pytest.mark.parametrize("digest", ["", "../../etc", "sha256:" + "0" * 63, "sha256:" + "g" * 64])
def test_no_plan_leads_out_of_the_folder_of_trainings(monkeypatch, tmp_path, digest):
    monkeypatch.setenv(RUNS_VARIABLE, str(tmp_path))
    with pytest.raises(FederationError):
        folder_of_run(Context(digest))


def test_the_coordinators_app_finds_the_folder_that_run_made(monkeypatch, tmp_path, plan):
    monkeypatch.setenv(RUNS_VARIABLE, str(tmp_path))
    assert folder_of_run(Context(plan.digest)) == run_folder(tmp_path, plan.digest)
    monkeypatch.delenv(RUNS_VARIABLE)
    with pytest.raises(FederationError, match="coordinator start"):
        folder_of_run(Context(plan.digest))


def test_progress_is_told_from_nothing_to_the_end(tmp_path):
    empty = read_progress(tmp_path)
    assert (empty.rounds, empty.attempts, empty.finished, empty.failure) == ([], 0, False, None)
    (tmp_path / "rounds.json").write_text(json.dumps({"rounds": [{"round": 1}], "attempts": 2}))
    (tmp_path / "failure.json").write_text(json.dumps({"where": "round"}))
    found = read_progress(tmp_path)
    assert (len(found.rounds), found.attempts, found.finished) == (1, 2, False)
    assert found.failure == {"where": "round"}
    (tmp_path / "rounds.json").write_text("{")
    with pytest.raises(FederationError, match=r"rounds\.json"):
        read_progress(tmp_path)


def test_nodes_are_written_whole(tmp_path):
    write_nodes(tmp_path, {2**63: "North", 5: "South"})
    assert json.loads((tmp_path / "nodes.json").read_text()) == {str(2**63): "North", "5": "South"}
    assert [file.name for file in tmp_path.iterdir()] == ["nodes.json"]


def test_a_coordinator_that_is_down_still_tells_its_rounds(coordinator, plan):
    folder = run_folder(coordinator.runs, plan.digest)
    folder.mkdir()
    write_plan(plan, folder)
    record = {"round": 1, "hospitals_in": ["North", "South"],
              "hospitals_out": {"West": "no answer in time"}}  # fmt: skip
    (folder / "rounds.json").write_text(json.dumps({"rounds": [record], "attempts": 1}))
    found = status(coordinator.root)
    assert not found["running"]
    training = found["trainings"][0]
    assert (training["rounds_done"], training["rounds"]) == (1, 2)
    assert training["hospitals_out"] == {"West": "no answer in time"}
    text = status_text(found)
    assert "not running" in text
    assert "round 1 of 2, not finished" in text
    assert "out  West: no answer in time" in text


def test_a_hospital_tells_its_answers(hospital):
    found = status(hospital.root)
    assert (found["name"], found["answers"], found["paid_answers"]) == ("North", 0, 2)
    assert "answered up to exchange 0 of 2" in status_text(found)


def test_a_folder_of_neither_kind_is_refused(tmp_path):
    with pytest.raises(StudyError, match="neither"):
        status(tmp_path)
