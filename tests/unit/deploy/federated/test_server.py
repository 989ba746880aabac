"""Rounds: resumed after a kill, refused below the minimum, stopped by validation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from neuroveil.deploy.federated.direct import train_directly
from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.in_process import InProcessGrid, context_of, run_in_process
from neuroveil.deploy.federated.plan import write_plan
from neuroveil.deploy.federated.progress import from_bytes, load_state, save_state
from neuroveil.deploy.federated.server import run_rounds
from neuroveil.deploy.federated.verify import verify_training
from neuroveil.errors import FederationError

pytestmark = pytest.mark.slow  # PyTorch and Flower take seconds to load

FIRST = 1001


def grid_of(folders: tuple[Path, dict[str, Path]], fails=None) -> InProcessGrid:
    return InProcessGrid(dict(enumerate(folders[1].values(), start=FIRST)), fails)


class Killed(BaseException):
    """What ends a process in the middle of things."""


def test_a_killed_coordinator_goes_on_after_the_last_round(make_plan, make_folders) -> None:
    plan = make_plan("dp_sgd", rounds=4, retries=0)
    folders = make_folders(plan)

    def told(state) -> None:
        if len(state.rounds) == 2:
            raise Killed

    with pytest.raises(Killed):
        run_rounds(grid_of(folders), context_of(0, {}), folders[0], told)
    assert [each.round for each in load_state(folders[0], plan).rounds] == [1, 2]
    state = run_in_process(*folders)
    assert [each.attempt for each in state.rounds] == [1, 2, 3, 4]
    whole = run_in_process(*make_folders(plan, "whole"))
    for name, value in whole.final.items():
        np.testing.assert_array_equal(state.final[name], value)


def test_an_exchange_that_was_begun_is_never_used_twice(make_plan, make_folders) -> None:
    """Killed while hospitals were answering: the number is used up, and a retry pays for it."""
    plan = make_plan("dp_sgd", rounds=2, retries=1)
    folders = make_folders(plan)

    def dies(node: int, message) -> bool:
        if message.metadata.message_type == "train" and node == FIRST + 4:
            raise Killed
        return False

    with pytest.raises(Killed):
        run_rounds(grid_of(folders, dies), context_of(0, {}), folders[0])
    assert load_state(folders[0], plan).attempts == 1
    state = run_in_process(*folders)
    assert [each.attempt for each in state.rounds] == [2, 3]
    assert verify_training(folders[0]).exit_code == 0
    counted = [json.loads((f / "answers.json").read_text())["last"] for f in folders[1].values()]
    assert counted == [3] * 5


def test_without_retries_a_lost_exchange_ends_in_a_clear_failure(make_plan, make_folders) -> None:
    plan = make_plan("dp_sgd", rounds=2, minimum_hospitals=5)
    folders = make_folders(plan)

    def fails(node: int, message) -> bool:
        return message.metadata.message_type == "train" and node == FIRST

    with pytest.raises(FederationError, match="at least 5 hospitals"):
        run_in_process(*folders, fails)
    failure = json.loads((folders[0] / "failure.json").read_text())
    assert failure["error"] == "FederationError"
    assert not (folders[0] / "result.json").exists()
    assert not load_state(folders[0], plan).rounds


def test_a_refused_round_leaves_the_model_byte_for_byte(make_plan, make_folders) -> None:
    plan = make_plan("dp_sgd", rounds=2, minimum_hospitals=5)
    folders = make_folders(plan)

    def fails(node: int, message) -> bool:
        is_second = message.content.config_records["said"].get("attempt") == 2
        return message.metadata.message_type == "train" and node == FIRST and is_second

    def model() -> bytes:
        (file,) = folders[0].glob("model-*.safetensors")
        return file.read_bytes()

    kept: list[bytes] = []
    with pytest.raises(FederationError):
        run_rounds(grid_of(folders, fails), context_of(0, {}), folders[0],
                   lambda state: kept.append(model()))  # fmt: skip
    assert [model()] == kept


def test_too_few_hospitals_end_in_a_failure_and_not_in_waiting(make_plan, make_folders) -> None:
    plan = make_plan()
    coordinator, hospitals = make_folders(plan)
    few = dict(list(hospitals.items())[:2])
    with pytest.raises(FederationError, match="at least 3 of 5 hospitals"):
        run_in_process(coordinator, few)


def test_hospitals_out_are_named_and_the_rest_goes_on(make_plan, make_folders) -> None:
    plan = make_plan()
    state = run_in_process(*make_folders(plan), lambda node, message: node == FIRST + 1)
    assert [each.hospitals_in for each in state.rounds] == [("h0", "h2", "h3", "h4")] * 2
    assert state.rounds[0].hospitals_out == {"h1": "not enrolled"}


class TestNames:
    def test_a_second_node_cannot_take_a_name(self, make_plan, make_folders) -> None:
        coordinator, hospitals = make_folders(make_plan())
        places = list(hospitals.values())
        grid = InProcessGrid({FIRST: places[0], FIRST + 1: places[1], FIRST + 2: places[2],
                              FIRST + 3: places[0]})  # fmt: skip
        state = run_rounds(grid, context_of(0, {}), coordinator)
        assert state.rounds[0].hospitals_in == ("h0", "h1", "h2")

    def test_a_name_belongs_to_the_node_that_it_was_registered_for(
        self, make_plan, make_folders
    ) -> None:
        folders = make_folders(make_plan())
        names = {str(FIRST + n): f"h{n}" for n in range(5)} | {
            str(FIRST): "h1",
            str(FIRST + 1): "h0",
        }
        (folders[0] / "nodes.json").write_text(json.dumps(names))
        state = run_in_process(*folders)
        assert state.rounds[0].hospitals_in == ("h2", "h3", "h4")

    def test_a_hospital_of_another_plan_is_not_enrolled(self, make_plan, make_folders) -> None:
        plan, other = make_plan(), make_plan(learning_rate=0.1)
        coordinator, hospitals = make_folders(plan)
        _, others = make_folders(other, "other")
        state = run_in_process(coordinator, hospitals | {"h4": others["h4"]})
        assert "h4" in state.rounds[0].hospitals_out


def test_validation_keeps_the_best_round_and_stops(make_plan, make_folders) -> None:
    """Steps so large that the model gets worse: the best is an early one."""
    plan = make_plan(stopping="validation", rounds=12, learning_rate=60.0, penalty=0.0)
    folders = make_folders(plan)
    state = run_in_process(*folders)
    losses = [each.loss for each in state.rounds]
    assert losses[state.best_round - 1] == min(losses)
    assert len(state.rounds) == state.best_round + 2
    assert verify_training(folders[0]).exit_code == 0
    kept = from_bytes((folders[0] / "model.safetensors").read_bytes(), plan)
    for name, value in kept.items():
        np.testing.assert_array_equal(value, state.best_arrays[name])


def test_a_deployments_lock_is_no_stranger_in_the_folder(make_plan, make_folders) -> None:
    """`federate run` holds it so that two operators do not start one training twice."""
    folders = make_folders(make_plan("dp_sgd", rounds=1, retries=0))
    run_in_process(*folders)
    (folders[0] / "run.lock").touch()
    assert verify_training(folders[0]).exit_code == 0


def test_the_result_holds_chain_rounds_and_a_model_without_code(make_plan, make_folders) -> None:
    plan = make_plan("dp_sgd", test_share=0.2)
    folders = make_folders(plan)
    state = run_in_process(*folders)
    result = json.loads((folders[0] / "result.json").read_text())
    assert result["private"] is False
    assert result["formal_guarantee"] is False
    assert result["epsilon_spent"] == pytest.approx(1.0)
    assert result["chain"]["sensitivity"]["value"]["value"] == 2 * plan.privacy.gradient_norm
    assert [each["loss"] is not None for each in result["rounds"]] == [True, True]
    kept = from_bytes((folders[0] / "model.safetensors").read_bytes(), plan)
    for name, value in kept.items():
        np.testing.assert_array_equal(value, state.final[name])


def test_figures_on_private_rows_stay_at_the_hospital(make_plan, make_folders, tmp_path) -> None:
    """Not a simulation: real noise, no loss for the coordinator, figures in the hospital's file."""
    plan = make_plan("dp_sgd", test_share=0.2, simulation=False, seed=None, rounds=1)
    folders = make_folders(plan)
    state = run_in_process(*folders)
    assert state.rounds[0].loss is None
    assert not (folders[0] / "figures.json").exists()
    own = json.loads((folders[1]["h0"] / "figures.json").read_text())
    assert own["test_loss"] > 0
    result = json.loads((folders[0] / "result.json").read_text())
    assert result["private"]
    assert result["formal_guarantee"]
    assert result["chain"]["sampler"]["seeded"]["value"] is False
    assert verify_training(folders[0]).exit_code == 0


def test_real_noise_differs_from_run_to_run(make_plan, make_folders) -> None:
    plan = make_plan("dp_sgd", simulation=False, seed=None, rounds=1)
    one, other = (run_in_process(*make_folders(plan, place)) for place in ("one", "other"))
    assert (one.final["0.weight"] != other.final["0.weight"]).all()


def test_simulated_noise_is_that_of_the_seed(make_plan, make_parts, make_folders) -> None:
    plan = make_plan("distributed", max_dropouts=0, max_colluding=1)
    state, direct = run_in_process(*make_folders(plan)), train_directly(plan, make_parts(plan))
    for name, value in direct.items():
        np.testing.assert_allclose(state.final[name], value, atol=1e-9)


class TestStateOnDisk:
    def test_an_exchanged_model_is_refused(self, make_plan, make_folders) -> None:
        plan = make_plan()
        folders = make_folders(plan)
        run_in_process(*folders)
        (file,) = folders[0].glob("model-*.safetensors")
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(bytes(content))
        with pytest.raises(FederationError, match="coordinator folder"):
            load_state(folders[0], plan)

    def test_another_plan_is_refused(self, make_plan, make_folders) -> None:
        folders = make_folders(make_plan())
        run_in_process(*folders)
        write_plan(make_plan(rounds=9), folders[0])
        with pytest.raises(FederationError, match="those of another"):
            run_in_process(*folders)

    def test_only_the_models_that_are_named_are_kept(self, make_plan, make_folders) -> None:
        plan = make_plan()
        folders = make_folders(plan)
        state = run_in_process(*folders)
        save_state(folders[0], plan, state)
        assert len(list(folders[0].glob("model-*.safetensors"))) == 1

    def test_a_model_of_other_shapes_is_refused(self, make_plan) -> None:
        (format_,) = require("safetensors.numpy")
        content = format_.save({"0.weight": np.zeros((1, 4)), "0.bias": np.zeros(1)})
        with pytest.raises(FederationError, match="shape"):
            from_bytes(content, make_plan())
        with pytest.raises(FederationError, match="safetensors"):
            from_bytes(b"\x80\x04K\x01.", make_plan())
