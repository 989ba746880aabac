"""Results of trainings: what was made holds, and what was forged does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuroveil.cli import app
from neuroveil.deploy.federated.chain import federation_chain
from neuroveil.deploy.federated.models import initial_arrays
from neuroveil.deploy.federated.plan import FederationPlan, write_plan
from neuroveil.deploy.federated.progress import (
    RoundRecord,
    RunState,
    save_state,
    to_bytes,
    write_model,
)
from neuroveil.deploy.federated.verify import verify_training
from neuroveil.errors import CertificateError
from neuroveil.pipeline.internal_files import write_json
from neuroveil.types.certificate import digest

REAL = {"simulation": False, "seed": None}


def finished(plan: FederationPlan, folder: Path, losses: tuple[float | None, ...]) -> Path:
    """What a coordinator leaves behind, by the functions that it writes with."""
    folder.mkdir()
    write_plan(plan, folder)
    names = tuple(seat.name for seat in plan.seats)
    records = tuple(
        RoundRecord(number, number + 1, names[:-1], {names[-1]: "no answer in time"}, loss, 1.5,
                    4000, 4000)
        for number, loss in enumerate(losses, start=1)
    )  # fmt: skip
    arrays = {name: np.full(value.shape, 0.5) for name, value in initial_arrays(plan).items()}
    state = RunState(arrays, len(records) + 1, records)
    if plan.training.stopping == "validation":
        best = losses.index(min(losses)) + 1
        state = replace(state, best_round=best, best_arrays=initial_arrays(plan))
    save_state(folder, plan, state)
    model = write_model(folder, plan, state)
    write_json(folder / "result.json", federation_chain(plan, state, model))
    return folder


@pytest.fixture
def real(make_plan, tmp_path) -> Path:
    """A training under ``dp_sgd``, whose first exchange came to nothing."""
    return finished(make_plan("dp_sgd", retries=2, **REAL), tmp_path / "run", (None, None))


def forge(folder: Path, change: Callable[[dict[str, Any]], object], name: str = "result.json"):
    document = json.loads((folder / name).read_bytes())
    change(document)
    (folder / name).write_text(json.dumps(document))


@pytest.mark.parametrize("changed", [
    {"setting": "dp_sgd", "retries": 1, **REAL},
    {"setting": "dp_sgd", "retries": 1},
    {"setting": "dp_sgd", "retries": 1, "kind": "mlp", **REAL},
    {"setting": "distributed", "retries": 1, **REAL},
    {"setting": "local_features", "retries": 1, "labels": "unprotected", **REAL},
    {"setting": "local_features", "retries": 1, "labels": "randomised_response",
     "label_epsilon": 0.5, "secure_aggregation": True, **REAL},
    {"setting": "none", "retries": 1},
])  # fmt: skip
def test_what_a_coordinator_writes_holds(make_plan, tmp_path, changed) -> None:
    plan = make_plan(**changed)
    result = verify_training(finished(plan, tmp_path / "run", (None, None)))
    assert result.exit_code == 0, result.broken_links
    assert {"unit", "verdict", "spending", "plan", "rounds", "model", "folder"} <= set(result.links)


def test_the_best_round_is_found_again(make_plan, tmp_path) -> None:
    plan = make_plan(stopping="validation", rounds=9, retries=1)
    folder = finished(plan, tmp_path / "run", (0.7, 0.4, 0.6, 0.5))
    assert verify_training(folder).exit_code == 0
    forge(folder, lambda d: d["model"].update(round=4))
    assert "model" in verify_training(folder).broken_links


def test_another_machines_rounding_is_forgiven_and_no_more(real) -> None:
    def scale(factor: float) -> Callable[[dict[str, Any]], None]:
        def change(document: dict[str, Any]) -> None:
            document["chain"]["mechanism"]["noise_std"]["value"] *= factor

        return change

    forge(real, scale(1 + 1e-9))
    assert verify_training(real).exit_code == 0
    forge(real, scale(1 - 1e-5))
    assert verify_training(real).broken_links == ("mechanism",)


def fact(link: str, name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["chain"][link][name].update(value=value)


FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "a lower epsilon": ("guarantee", fact("guarantee", "epsilon", 0.1)),
    "a lower delta": ("guarantee", fact("guarantee", "delta", 1e-9)),
    "half the sensitivity": ("sensitivity", fact("sensitivity", "value", 1.0)),
    "more noise": ("mechanism", fact("mechanism", "noise_std", 1e3)),
    "fewer steps": ("mechanism", fact("mechanism", "steps", 1)),
    "a lower clipping norm": ("bound", fact("bound", "clip_norm", 0.5)),
    "another adjacency": ("adjacency", fact("adjacency", "relation", "add_remove")),
    "another unit": ("unit", fact("unit", "entity", "window")),
    "figures that leave": ("domain", fact("domain", "figures", "leave")),
    "truth as a number": ("sampler", fact("sampler", "seeded", 0)),
    "another accountant": ("accountant", fact("accountant", "epsilon", 0.1)),
    "nobody trusted": ("model", fact("model", "who_is_trusted", "everybody")),
    "an assumption called proven": (
        "unit", lambda d: d["chain"]["unit"]["hospitals_of_a_patient"].update(status="proven")),
    "a link of another setting": ("chain", lambda d: d["chain"].update(postprocessing={})),
    "no sampler": ("sampler", lambda d: d["chain"].pop("sampler")),
    "a fact too many": (
        "unit", lambda d: d["chain"]["unit"].update(more=d["chain"]["unit"]["entity"])),
    "another verdict": ("verdict", lambda d: d.update(verdict="Anonymous.")),
    "no guarantee": ("verdict", lambda d: d.update(formal_guarantee=False)),
    "a reason": ("verdict", lambda d: d.update(blocking_reasons=["None."])),
    "not private": ("verdict", lambda d: d.update(private=False)),
    "less spent": ("spending", lambda d: d.update(epsilon_spent=0.5)),
    "more exchanges than were paid for": ("rounds", lambda d: d.update(attempts=5)),
    "very many exchanges": ("rounds", lambda d: d.update(attempts=2**62)),
    "fewer exchanges": ("rounds", lambda d: d.update(attempts=2)),
    "an exchange that was used twice": ("rounds", lambda d: d["rounds"][1].update(attempt=2)),
    "a round twice": ("rounds", lambda d: d["rounds"][1].update(round=1)),
    "a round less": ("rounds", lambda d: (d["rounds"].pop(), d.update(attempts=2))),
    "too few hospitals": ("rounds", lambda d: d["rounds"][0].update(hospitals_in=["h0"])),
    "a hospital twice": ("rounds", lambda d: d["rounds"][0].update(hospitals_in=["h0"] * 4)),
    "an unknown hospital": ("rounds", lambda d: d["rounds"][0]["hospitals_in"].append("h9")),
    "a loss on private rows": ("rounds", lambda d: d["rounds"][0].update(loss=0.5)),
    "a negative time": ("rounds", lambda d: d["rounds"][0].update(seconds=-1.0)),
    "a model by another rule": ("model", lambda d: d["model"].update(chosen_by="validation")),
    "another model's digest": ("model", lambda d: d["model"].update(digest=digest(b"another"))),
    "another plan's digest": ("plan", lambda d: d.update(plan_digest=digest(b"another"))),
    "a plan with less epsilon": ("plan", lambda d: d["plan"]["privacy"].update(epsilon=0.5)),
    "a plan with more patients": (
        "adjacency", lambda d: d["plan"]["seats"][0].update(n_patients=9)),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_field_breaks_its_link(real, what) -> None:
    link, change = FORGED[what]
    forge(real, change)
    result = verify_training(real)
    assert result.exit_code == 4
    assert link in result.broken_links
    assert link in result.sentence


def test_a_whole_plan_forged_with_its_digest_is_not_the_models(make_plan, real, tmp_path) -> None:
    """Everything is derived from the cheaper plan, and consistent; the model was another's."""
    cheaper = make_plan("dp_sgd", retries=2, epsilon=0.1, **REAL)
    other = finished(cheaper, tmp_path / "other", (None, None))
    (other / "model.safetensors").write_bytes((real / "model.safetensors").read_bytes())
    content = (other / "model.safetensors").read_bytes()
    forge(other, lambda d: d["model"].update(digest=digest(content)))
    assert verify_training(other).broken_links == ("model",)


REFUSED: dict[str, Callable[[dict[str, Any]], object]] = {
    "an unknown field": lambda d: d.update(more=1),
    "a missing field": lambda d: d.pop("attempts"),
    "a missing field of the plan": lambda d: d["plan"].pop("enrol_seconds"),
    "an unknown field of a part": lambda d: d["plan"]["privacy"].update(more=1),
    "a missing field of a fact": lambda d: d["chain"]["unit"]["entity"].pop("source"),
    "a missing field of a round": lambda d: d["rounds"][0].pop("loss"),
    "text as a number": lambda d: d.update(epsilon_spent="1"),
    "truth as a count": lambda d: d.update(attempts=True),
    "half an exchange": lambda d: d.update(attempts=2.5),
    "a number as truth": lambda d: d.update(private=1),
    "no list of rounds": lambda d: d.update(rounds={}),
    "no chain": lambda d: d.update(chain=None),
    "no plan": lambda d: d.update(plan=[]),
    "another schema": lambda d: d.update(schema="neuroveil-certificate"),
    "another version": lambda d: d.update(schema_version=2),
    "another version of the plan": lambda d: d["plan"].update(version=2),
    "an unknown setting": lambda d: d["plan"]["privacy"].update(setting="magic"),
    "a plan that promises nothing": lambda d: d["plan"]["privacy"].update(setting="none"),
    "a seed in a real plan": lambda d: d["plan"].update(seed=3),
    "a negative epsilon": lambda d: d["plan"]["privacy"].update(epsilon=-1.0),
    "delta 1": lambda d: d["plan"]["privacy"].update(delta=1.0),
    "sampling rate 0": lambda d: d["plan"]["privacy"].update(sampling_rate=0.0),
    "sampling rate 2": lambda d: d["plan"]["privacy"].update(sampling_rate=2.0),
    "a negative clipping norm": lambda d: d["plan"]["privacy"].update(gradient_norm=-1.0),
    "less than no retries": lambda d: d["plan"]["training"].update(retries=-1),
    "more steps than anybody accounts for": lambda d: d["plan"]["training"].update(rounds=10**9),
    "no inputs": lambda d: d["plan"]["inputs"].update(components=0),
    "labels that nothing covers": lambda d: d["plan"]["privacy"].update(setting="local_features"),
    "labels of another setting": lambda d: d["plan"]["privacy"].update(labels="unprotected"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_document_that_is_none_is_refused(real, what) -> None:
    forge(real, REFUSED[what])
    with pytest.raises(CertificateError) as caught:
        verify_training(real)
    assert caught.value.exit_code == 4
    assert str(real) not in str(caught.value)


@pytest.mark.parametrize(("old", "new"), [
    ('"epsilon_spent": ', '"epsilon_spent": NaN, "x": '),
    ('"attempts": 3', '"attempts": 1, "attempts": 3'),
    ("{", "["),
])  # fmt: skip
def test_json_that_is_not_strict_is_refused(real, old, new) -> None:
    file = real / "result.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(CertificateError):
        verify_training(real)


def test_a_folder_without_a_result_is_refused(tmp_path) -> None:
    with pytest.raises(CertificateError):
        verify_training(tmp_path)


def exchanged(plan: FederationPlan, what: str) -> bytes:
    arrays = initial_arrays(plan)
    about = {"plan_digest": plan.digest, "round": "2"}
    good = to_bytes(arrays, about)
    size = 8 + int.from_bytes(good[:8], "little")
    return {
        "a pickle": b"\x80\x04K\x01.",
        "nothing": b"",
        "a header without end": (2**40).to_bytes(8, "little") + b"{}",
        "a header that is no JSON": (4).to_bytes(8, "little") + b"\x80abc",
        "more than the model": good + b"\x80\x04K\x01.",
        "less than the model": good[:-8],
        "not finite": good[:-8] + np.array([np.nan]).tobytes(),
        "another shape": to_bytes(arrays | {"0.weight": np.zeros((3, 1))}, about),
        "another name": to_bytes({"0.weight": np.zeros((1, 3)), "0.bia": np.zeros(1)}, about),
        "32 bits": to_bytes({k: v.astype(np.float32) for k, v in arrays.items()}, about),
        "another round": to_bytes(arrays, about | {"round": "1"}),
        "one array twice": good[:8] + good[8:size].replace(b"[8,32]", b"[0,24]") + good[size:],
    }[what]


@pytest.mark.parametrize("what", [
    "a pickle", "nothing", "a header without end", "a header that is no JSON",
    "more than the model", "less than the model", "not finite", "another shape", "another name",
    "32 bits", "another round", "one array twice",
])  # fmt: skip
def test_another_model_is_broken_even_with_its_digest(make_plan, real, what) -> None:
    plan = make_plan("dp_sgd", retries=2, **REAL)
    content = exchanged(plan, what)
    assert content != to_bytes(initial_arrays(plan), {"plan_digest": plan.digest, "round": "2"})
    (real / "model.safetensors").write_bytes(content)
    forge(real, lambda d: d["model"].update(digest=digest(content)))
    assert verify_training(real).broken_links == ("model",)


def test_a_changed_number_or_no_model_at_all_is_broken(real) -> None:
    file = real / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(bytes(content))
    assert verify_training(real).broken_links == ("model",)
    file.unlink()
    assert verify_training(real).broken_links == ("model",)


@pytest.mark.parametrize("spoil", [
    lambda folder: (folder / "model.pkl").write_bytes(b"\x80\x04K\x01."),
    lambda folder: (folder / "figures.json").write_text("{}"),
    lambda folder: (folder / "rounds.json").write_text("[]"),
    lambda folder: forge(folder, lambda d: d.update(attempts=2), "rounds.json"),
    lambda folder: forge(folder, lambda d: d["privacy"].update(epsilon=0.5), "plan.json"),
])  # fmt: skip
def test_other_files_tell_the_same_story(real, spoil) -> None:
    spoil(real)
    assert verify_training(real).broken_links == ("folder",)


class TestCommand:
    def test_holds(self, real, capsys) -> None:
        assert app.run(["federate", "verify", str(real), "--json", "--quiet"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["outcome"] == "holds"
        assert document["scope"] == "training"

    def test_names_the_broken_link(self, real, capsys) -> None:
        forge(real, FORGED["a lower epsilon"][1])
        assert app.run(["federate", "verify", str(real)]) == 4
        said = capsys.readouterr().out
        assert "BROKEN  guarantee" in said
        assert "guarantee.epsilon" in said

    def test_refuses_what_is_none(self, real) -> None:
        forge(real, REFUSED["an unknown field"])
        assert app.run(["federate", "verify", str(real)]) == 4
