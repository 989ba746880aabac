"""What reaches a hospital's node through the guard, with Flower's own loop around it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from neuroveil.deploy.federated.operate.bundle import app_bundle, digest_of, pack
from neuroveil.deploy.federated.operate.decisions import (
    FILE,
    Decision,
    keep_decision,
    read_decisions,
)
from neuroveil.deploy.federated.operate.guard import SiteGuard, guarded
from neuroveil.errors import FederationError

pytestmark = pytest.mark.slow

pytest.importorskip("flwr", reason="Flower is not installed (pip install neuroveil[federated])")

NODE, RUN = 7, 41
REFUSED = 7  # Flower's code for a bundle that could not be verified


class Coordinator:
    """What a coordinator serves to Flower's loop at the node."""

    def __init__(self, plan, content: bytes, **about: str) -> None:
        from importlib.metadata import version

        from flwr.supercore.fab import Fab
        from flwr.supercore.run import Run

        self.run = Run.create_empty(RUN)
        self.run.fab_id = about.get("app", "neuroveil/neuroveil")
        self.run.fab_version = about.get("version", version("neuroveil"))
        self.run.fab_hash = about.get("digest", digest_of(content))
        self.run.primary_task_type = about.get("kind", "flwr-serverapp")
        self.run.override_config = {"plan": about.get("follows", plan.digest)}
        self.fab = Fab(self.run.fab_hash, content, {"valid_license": "true", "site": "{}"})

    @contextmanager
    def connect(self):
        """The parts of Flower's connection; no message has any objects to pull."""
        yield NODE, self.receive, None, lambda run: self.run, self.get_fab, None, None, self.confirm

    def receive(self):
        from flwr.app import Message, RecordDict
        from flwr.supercore.inflatable.inflatable_object import get_object_tree

        message = Message(RecordDict(), dst_node_id=NODE, message_type="train")
        message.metadata.__dict__["_message_id"] = message.object_id
        return message, get_object_tree(message)

    def get_fab(self, digest: str, run_id: int):
        return self.fab

    def confirm(self, run_id: int, message_id: str) -> None:
        pass


def offer(coordinator: Coordinator, guard: SiteGuard):
    """Let Flower's own loop take one message of a run, and give what the node then holds."""
    from flwr.supercore.object_store import ObjectStoreFactory
    from flwr.supernode import start_client_internal as engine
    from flwr.supernode.nodestate import NodeStateFactory

    factory = NodeStateFactory(objectstore_factory=ObjectStoreFactory())
    state = factory.state()
    state.set_node_id(NODE)
    with guarded(coordinator.connect, guard)() as parts:
        _, receive, _, get_run, get_fab, _, _, confirm = parts
        engine._pull_and_store_message(
            state=state, object_store=factory.objectstore_factory.store(), node_config={},
            receive=receive, get_run=get_run, get_fab=get_fab,
            pull_object=lambda run, name: b"", confirm_message_received=confirm,
            trusted_entities=guard.trusted_entities,
        )  # fmt: skip
    replies = state.get_messages_legacy(is_reply=True)
    codes = [each.error.code for each in replies if each.has_error()]
    return state.get_fab(digest_of(coordinator.fab.content)), state.get_run(RUN), codes


@pytest.fixture
def guard(hospital, seat, monkeypatch) -> SiteGuard:
    from flwr.supercore.task_identity import TaskIdentity

    for name, value in {"_run_id": RUN, "_task_id": 1, "_node_id": 1}.items():
        monkeypatch.setattr(TaskIdentity, name, value)  # in which name a message is made
    policy = hospital.root / "policy.toml"
    text = policy.read_text().replace("0" * 64, digest_of(app_bundle()))
    policy.write_text(text)
    return SiteGuard(hospital.root, seat, lambda line: None)


def test_the_allowed_app_comes_in(guard, hospital, plan):
    fab, run, codes = offer(Coordinator(plan, app_bundle()), guard)
    assert fab is not None
    assert fab.content == app_bundle()
    assert run is not None
    assert codes == []
    assert [each.accepted for each in read_decisions(hospital.root)] == [True]


EVIL = pack({"pyproject.toml": b"[project]\nname = 'neuroveil'\nversion = '1'\n", "a.py": b"1/0"})


@pytest.mark.parametrize(
    ("content", "about"),
    [
        (EVIL, {}),
        (EVIL, {"digest": digest_of(app_bundle())}),
        (b"no archive at all", {}),
        (app_bundle(), {"app": "../../elsewhere/neuroveil"}),
        (app_bundle(), {"version": "9.9.9"}),
        (app_bundle(), {"kind": "flwr-agentapp"}),
        (app_bundle(), {"follows": "sha256:" + "1" * 64}),
    ],
    ids=["other code", "other code under our name", "rubbish", "path as name", "other version",
         "agent", "other plan"],
)  # fmt: skip
def test_everything_else_is_refused_before_it_is_stored(guard, hospital, plan, content, about):
    fab, run, codes = offer(Coordinator(plan, content, **about), guard)
    assert fab is None
    assert run is None
    assert codes == [REFUSED]
    decisions = read_decisions(hospital.root)
    assert [each.accepted for each in decisions] == [False]
    assert decisions[0].reasons


def test_without_the_guard_flower_refuses_everything(guard, plan):
    """The check is Flower's own and closed by default: the guard can only open it."""
    from flwr.supernode import start_client_internal as engine

    coordinator = Coordinator(plan, app_bundle())
    assert not engine._verify_fab(
        type(coordinator.fab)(coordinator.fab.hash_str, app_bundle(), {"valid_license": "true"}),
        guard.trusted_entities,
    )


def test_the_coordinator_cannot_make_the_sites_signature(guard, hospital, seat, plan):
    from flwr.supercore.fab import Fab
    from flwr.supernode import start_client_internal as engine

    other = SiteGuard(hospital.root, seat, lambda line: None)
    forged = Fab(digest_of(app_bundle()), app_bundle(), other.signature(app_bundle()))
    assert not engine._verify_fab(forged, guard.trusted_entities)
    right = Fab(digest_of(app_bundle()), app_bundle(), guard.signature(app_bundle()))
    assert engine._verify_fab(right, guard.trusted_entities)
    swapped = Fab(digest_of(EVIL), EVIL, guard.signature(app_bundle()))
    assert not engine._verify_fab(swapped, guard.trusted_entities)


def test_a_policy_that_became_stricter_holds_from_the_next_run_on(guard, hospital, plan):
    assert offer(Coordinator(plan, app_bundle()), guard)[2] == []
    policy = hospital.root / "policy.toml"
    policy.write_text(policy.read_text() + "maximum_epsilon = 0.5\n")
    assert offer(Coordinator(plan, app_bundle()), guard)[2] == [REFUSED]


def test_being_asked_again_and_again_does_not_fill_the_disk(guard, hospital, plan):
    for _ in range(5):
        offer(Coordinator(plan, EVIL), guard)
    assert len(read_decisions(hospital.root)) == 1


def test_a_broken_log_of_decisions_is_told(tmp_path: Path):
    keep_decision(tmp_path, Decision(1, "", False, ["why"]))
    with (tmp_path / FILE).open("a") as stream:
        stream.write("half a li")
    with pytest.raises(FederationError, match="one decision a line"):
        read_decisions(tmp_path)
