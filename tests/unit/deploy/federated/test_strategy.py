"""Updates that Flower's own strategy averages, and this one refuses; nothing changes then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from neuroveil.deploy.federated.aggregate import aggregate
from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.in_process import context_of
from neuroveil.deploy.federated.local import N_BINS
from neuroveil.deploy.federated.models import initial_arrays
from neuroveil.deploy.federated.progress import RunState, to_bytes
from neuroveil.deploy.federated.strategy import (
    NO_ANSWER,
    RefusingStrategy,
    check_calls,
    to_record,
)
from neuroveil.errors import FederationError

app, task, utils = require(
    "flwr.app", "flwr.supercore.task_identity", "flwr.server.superlink.linkstate.utils"
)

NODES = {101: "h0", 102: "h1", 103: "h2", 104: "h3", 105: "h4"}


@pytest.fixture(autouse=True)
def identity() -> None:
    """Messages say which task made them."""
    identity = task.TaskIdentity
    identity.task_id, identity.run_id, identity.node_id = 1, 1, 1


class Exchange:
    """A strategy that has asked five hospitals, and the answers that it gets."""

    def __init__(self, plan, attempt: int = 1) -> None:
        self.plan, self.attempt = plan, attempt
        start = RunState(initial_arrays(plan), attempts=attempt)
        self.strategy = RefusingStrategy(plan, start, NODES)
        record = to_record(start.arrays)
        self.messages = {}
        for number, message in enumerate(
            self.strategy.configure_train(attempt, record, app.ConfigRecord(), None)
        ):
            message.metadata.__dict__["_message_id"] = f"{attempt}-{number}"
            self.messages[message.metadata.dst_node_id] = message

    def answer(self, node: int, **changed: Any):
        """A good answer of a node, with parts exchanged for others."""
        name = NODES[node]
        rng = np.random.default_rng(node)
        arrays = {key: rng.standard_normal(value.shape)
                  for key, value in initial_arrays(self.plan).items()}  # fmt: skip
        arrays = changed.pop("arrays", arrays)
        said = {"hospital": name, "plan_digest": self.plan.digest, "attempt": self.attempt}
        counts = {"patients": self.plan.seat(name).n_patients}
        said |= changed.pop("said", {})
        counts |= changed.pop("counts", {})
        content = app.RecordDict({
            "said": app.ConfigRecord(said),
            "counts": app.MetricRecord({k: v for k, v in counts.items() if v is not None}),
        })  # fmt: skip
        if arrays is not None:
            content["model"] = app.ArrayRecord({k: app.Array(v) for k, v in arrays.items()})
        reply = app.Message(content, reply_to=changed.pop("reply_to", self.messages[node]))
        for key, value in changed.items():
            reply.metadata.__dict__[f"_{key}"] = value
        return reply

    def everybody(self, **instead: Any) -> list[Any]:
        return [instead.get(f"node{node}") or self.answer(node) for node in NODES]

    @property
    def bytes(self) -> bytes:
        state = self.strategy.state
        return to_bytes(
            state.arrays, {"attempts": str(state.attempts), "rounds": str(state.rounds)}
        )


@pytest.fixture
def exchange(make_plan) -> Exchange:
    return Exchange(make_plan(minimum_hospitals=3))


def bad(name: str, shapes: dict[str, Any]) -> dict[str, Any]:
    arrays = {key: np.full(value.shape, 0.5) for key, value in shapes.items()}
    arrays["0.weight"] = {
        "NaN": np.full((1, 3), np.nan),
        "infinite": np.full((1, 3), np.inf),
        "broadcasts": np.ones(1),
        "broadcasts as a column": np.ones((3, 1)),
        "one row too many": np.ones((2, 3)),
        "32 bits": np.ones((1, 3), dtype=np.float32),
        "whole numbers": np.ones((1, 3), dtype=np.int64),
    }[name]
    return arrays


REFUSED: dict[str, Callable[[Exchange], Any]] = {
    "weight 0": lambda e: e.answer(103, counts={"patients": 0}),
    "negative weight": lambda e: e.answer(103, counts={"patients": -20}),
    "weight 1e15": lambda e: e.answer(103, counts={"patients": 10**15}),
    "weight 1e15 as a float": lambda e: e.answer(103, counts={"patients": 1e15}),
    "weight NaN": lambda e: e.answer(103, counts={"patients": float("nan")}),
    "right weight as a float": lambda e: e.answer(103, counts={"patients": 20.0}),
    "another hospital's weight": lambda e: e.answer(103, counts={"patients": 12}),
    "missing count": lambda e: e.answer(103, counts={"patients": None}),
    "list of counts": lambda e: e.answer(103, counts={"patients": [20, 20]}),
    "no model": lambda e: e.answer(103, arrays=None),
    "a parameter is missing": lambda e: e.answer(103, arrays={"0.weight": np.ones((1, 3))}),
    "a parameter too many": lambda e: e.answer(
        103, arrays=initial_arrays(e.plan) | {"more": np.ones(1)}
    ),
    "another hospital's name": lambda e: e.answer(103, said={"hospital": "h0"}),
    "another plan": lambda e: e.answer(103, said={"plan_digest": "sha256:other"}),
    "the exchange before": lambda e: e.answer(103, said={"attempt": 0}),
    "a later exchange": lambda e: e.answer(103, said={"attempt": 2}),
    "true as a number": lambda e: e.answer(103, said={"attempt": True}),
    "an answer to another node's message": lambda e: e.answer(103, reply_to=e.messages[104]),
    "an answer to nothing": lambda e: e.answer(103, reply_to_message_id="unknown"),
    "an answer to a query": lambda e: e.answer(103, message_type="query"),
    "a failure": lambda e: app.Message(app.Error(2, "failed"), reply_to=e.messages[103]),
} | {
    f"{name} numbers": lambda e, name=name: e.answer(103, arrays=bad(name, initial_arrays(e.plan)))
    for name in ("NaN", "infinite", "broadcasts", "broadcasts as a column", "one row too many",
                 "32 bits", "whole numbers")
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
class TestAnUpdateThatIsRefused:
    def test_is_left_out_and_changes_nothing(self, exchange, what) -> None:
        """The model is byte for byte that of the others alone."""
        replies = exchange.everybody(node103=REFUSED[what](exchange))
        exchange.strategy.aggregate_train(1, replies)
        others = [
            (exchange.plan.seat(NODES[node]).n_patients,
             {k: v.numpy() for k, v in exchange.answer(node).content["model"].items()})
            for node in NODES if node != 103
        ]  # fmt: skip
        expected = aggregate(others, exchange.plan.training)
        about = {"attempts": "1", "rounds": "()"}
        assert exchange.bytes == to_bytes(expected, about)
        assert "h2" in exchange.strategy.left_out

    def test_refuses_a_round_below_the_minimum(self, make_plan, what) -> None:
        exchange = Exchange(make_plan(minimum_hospitals=5))
        before = exchange.bytes
        with pytest.raises(FederationError, match="at least 5 hospitals"):
            exchange.strategy.aggregate_train(
                1, exchange.everybody(node103=REFUSED[what](exchange))
            )
        assert exchange.bytes == before


def test_good_updates_are_all_taken(exchange) -> None:
    before = exchange.bytes
    _, counts = exchange.strategy.aggregate_train(1, exchange.everybody())
    assert dict(counts) == {"hospitals": 5, "patients": exchange.plan.n_patients}
    assert not exchange.strategy.left_out
    assert exchange.bytes != before


def test_a_node_that_was_not_asked_is_refused(exchange) -> None:
    stranger = exchange.answer(103, src_node_id=999)
    exchange.strategy.aggregate_train(1, [*exchange.everybody(), stranger])
    assert list(exchange.strategy.left_out) == ["a node that was not asked (6)"]


def test_a_dead_hospital_is_named_where_flower_answers_for_it(exchange) -> None:
    """SuperLink's own error comes from node 1, and answers the message that nobody answered."""
    asked = exchange.messages[103].metadata
    error = utils.create_message_error_unavailable_res_message(asked, "node_unavail")
    exchange.strategy.aggregate_train(1, exchange.everybody(node103=error))
    assert exchange.strategy.left_out == {"h2": NO_ANSWER}


def test_flowers_word_for_a_hospital_does_not_undo_its_answer(exchange) -> None:
    asked = exchange.messages[103].metadata
    error = utils.create_message_error_unavailable_res_message(asked, "node_unavail")
    exchange.strategy.aggregate_train(1, [error, *exchange.everybody()])
    assert not exchange.strategy.left_out


def test_a_node_cannot_speak_for_another(exchange) -> None:
    """104 sends what 103 would, name and number of patients and all."""
    forged = exchange.answer(103, src_node_id=104)
    exchange.strategy.aggregate_train(1, exchange.everybody(node103=forged))
    assert "h2" in exchange.strategy.left_out


def test_a_replayed_update_counts_once(exchange) -> None:
    once = Exchange(exchange.plan)
    once.strategy.aggregate_train(1, once.everybody())
    exchange.strategy.aggregate_train(1, [*exchange.everybody(), exchange.answer(103)])
    assert exchange.bytes == once.bytes
    assert "h2 (again)" in exchange.strategy.left_out


def test_an_update_of_the_round_before_is_late(make_plan) -> None:
    plan = make_plan(minimum_hospitals=5)
    late = Exchange(plan, attempt=1).answer(103)
    exchange = Exchange(plan, attempt=2)
    before = exchange.bytes
    with pytest.raises(FederationError):
        exchange.strategy.aggregate_train(2, exchange.everybody(node103=late))
    assert exchange.bytes == before


def test_no_answer_at_all_is_a_refused_round(exchange) -> None:
    before = exchange.bytes
    with pytest.raises(FederationError, match="found 0"):
        exchange.strategy.aggregate_train(1, [])
    assert exchange.bytes == before


def test_an_average_that_overflows_is_refused(exchange) -> None:
    huge = {
        key: np.full(value.shape, 1.7e308) for key, value in initial_arrays(exchange.plan).items()
    }
    plan = replace(
        exchange.plan, training=replace(exchange.plan.training, aggregation="trimmed_mean")
    )
    other = Exchange(plan)
    before = other.bytes
    with pytest.raises(FederationError):
        other.strategy.aggregate_train(1, [other.answer(node, arrays=huge) for node in NODES])
    assert other.bytes == before


def test_flowers_own_strategy_takes_what_is_refused_here(exchange) -> None:
    """Why there is another: weight 1e15 makes one hospital's update the common model."""
    (strategies,) = require("flwr.serverapp.strategy")
    flowers = strategies.FedAvg(weighted_by_key="patients")
    reply = exchange.answer(103, counts={"patients": 10**15})
    arrays, _ = flowers.aggregate_train(1, exchange.everybody(node103=reply))
    np.testing.assert_allclose(
        arrays["0.weight"].numpy(), reply.content["model"]["0.weight"].numpy(), atol=1e-9
    )


@pytest.mark.parametrize("changed", [
    {"test_loss": float("nan")}, {"test_loss": -1.0}, {"test_loss": 1},
    {"test_positive": [1] * (N_BINS - 1)}, {"test_positive": [-1] + [0] * (N_BINS - 1)},
    {"test_negative": None},
])  # fmt: skip
def test_counts_that_cannot_be_are_refused(changed) -> None:
    good = {"test_loss": 0.5, "test_positive": [1] * N_BINS, "test_negative": [0] * N_BINS}
    assert check_calls({"patients": 3, **good}) == good
    with pytest.raises(FederationError):
        check_calls(good | changed)


def test_a_context_is_flowers_own() -> None:
    assert context_of(3, {"folder": "x"}).node_config["folder"] == "x"
