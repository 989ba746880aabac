"""The hospital's side: a Flower ClientApp that answers from the hospital's own folder.

Nothing that matters is taken from a message: plan, noise and numbers of patients are the folder's
own. A message brings the common model and the number of the exchange, and both are checked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.guards import (
    CONFIG_RECORD,
    STATE_RECORD,
    check_before_masking,
    check_stage,
)
from neuroveil.deploy.federated.hospital import FIGURES_FILE, Hospital, open_hospital
from neuroveil.deploy.federated.local import judge, noise_source, noisy_units, train_locally
from neuroveil.deploy.federated.masks import use_whole_keys
from neuroveil.deploy.federated.models import Arrays, check_arrays, parameter_shapes, unflatten
from neuroveil.deploy.federated.noise import mask_terms
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.errors import FederationError, NeuroveilError
from neuroveil.pipeline.internal_files import NOTICE, write_json

if TYPE_CHECKING:
    from flwr.app import Context, Message
    from flwr.clientapp import ClientApp

MODEL, SAID, COUNTS = "model", "said", "counts"
"""Names of the records of a message: the model, what is said about it, and numbers."""

Locate = Callable[["Context"], Path]
Admit = Callable[[FederationPlan, "Context"], None]
Handler = Callable[["Message", "Context"], "Message"]


def make_client_app(locate: Locate, admit: Admit | None = None) -> ClientApp:
    """Make the app that a hospital's node runs.

    Parameters
    ----------
    locate : callable
        Says in which folder the hospital of a node answers.
    admit : callable, optional
        The site's own rule, asked before anything is answered; raises to refuse.

    Returns
    -------
    flwr.clientapp.ClientApp
        Answers ``query.enrol``, ``train`` and ``evaluate``.

    Raises
    ------
    FederationError
        If Flower is not installed.
    """
    (clientapp,) = require("flwr.clientapp")
    app: ClientApp = clientapp.ClientApp()

    def opened(context: Context) -> Hospital:
        hospital = open_hospital(locate(context))
        if admit is not None:
            admit(hospital.plan, context)
        return hospital

    def handler(answer: Callable[[Message, Context, Hospital], Message]) -> Handler:
        def handle(message: Message, context: Context) -> Message:
            return _without_words(lambda: answer(message, context, opened(context)))

        return handle

    app.query("enrol")(handler(_enrol))
    app.train()(handler(_train))
    app.evaluate()(handler(_evaluate))
    return app


def _without_words(answer: Callable[[], Message]) -> Message:
    """Let no error of a library carry values to the coordinator."""
    try:
        return answer()
    except NeuroveilError:
        raise
    except Exception as error:
        raise FederationError(
            "hospital", "an answer", type(error).__name__,
            "Look at the hospital's own log; nothing was sent.",
        ) from error  # fmt: skip


def _reply(message: Message, hospital: Hospital, **records: Any) -> Message:
    (app,) = require("flwr.app")
    said = app.ConfigRecord({
        "hospital": hospital.name, "plan_digest": hospital.plan.digest,
        "attempt": _attempt(message.content.config_records[SAID]),
    })  # fmt: skip
    counts = app.MetricRecord({"patients": hospital.n_patients, **records.pop(COUNTS, {})})
    reply: Message = app.Message(
        app.RecordDict({SAID: said, COUNTS: counts, **records}), reply_to=message
    )
    return reply


def _check_plan(hospital: Hospital, digest: object) -> None:
    if digest != hospital.plan.digest:
        raise FederationError(
            "training message", "the plan that this hospital agreed to", "another one",
            "Compare digests of the plans; nothing was sent.",
        )  # fmt: skip


def _enrol(message: Message, context: Context, hospital: Hospital) -> Message:
    _check_plan(hospital, message.content.config_records[SAID].get("plan_digest"))
    return _reply(message, hospital)


def _train(message: Message, context: Context, hospital: Hospital) -> Message:
    if hospital.plan.privacy.is_masked:
        return _train_masked(message, context, hospital)
    arrays, attempt = _received(message, hospital)
    hospital.count_answer(attempt)
    updated = check_arrays(hospital.plan, train_locally(hospital, arrays, attempt), "own update")
    (app,) = require("flwr.app")
    record = app.ArrayRecord({name: app.Array(value) for name, value in updated.items()})
    return _reply(message, hospital, **{MODEL: record})


def _received(message: Message, hospital: Hospital) -> tuple[Arrays, int]:
    said = message.content.config_records[SAID]
    _check_plan(hospital, said.get("plan_digest"))
    record = message.content.array_records[MODEL]
    arrays = {name: value.numpy() for name, value in record.items()}
    return check_arrays(hospital.plan, arrays, "common model"), _attempt(said)


def _attempt(said: Mapping[str, Any]) -> int:
    attempt = said.get("attempt")
    if not isinstance(attempt, int) or isinstance(attempt, bool):
        raise FederationError(
            "training message", "the number of the exchange", "none", "Nothing was sent."
        )
    return attempt


def _train_masked(message: Message, context: Context, hospital: Hospital) -> Message:
    """Answer one stage of secure aggregation, after the guards."""
    use_whole_keys()
    secagg, compat = require(
        "flwr.client.mod.secure_aggregation.secaggplus_mod", "flwr.compat.common.recorddict_compat"
    )
    state: Mapping[str, Any] = context.state.config_records.get(STATE_RECORD) or {}
    config = message.content.config_records[CONFIG_RECORD]
    check_stage(hospital, dict(config), dict(state))
    n_hospitals = int(state.get("sample_num", 0))  # as agreed on in the first stage

    def compute(inner: Message, context: Context) -> Message:
        (app,) = require("flwr.app")
        instructions = compat.recorddict_to_fitins(inner.content, keep_input=True)
        answer = _masked_update(hospital, instructions, n_hospitals)
        content = compat.fitres_to_recorddict(answer, False)
        update: Message = app.Message(content, reply_to=inner)
        return update

    reply: Message = secagg.secaggplus_mod(message, context, compute)
    return reply


def _masked_update(hospital: Hospital, instructions: Any, n_hospitals: int) -> Any:
    (common,) = require("flwr.common")
    plan, config = hospital.plan, instructions.config
    _check_plan(hospital, config.get("plan_digest"))
    shapes, attempt = parameter_shapes(plan), _attempt(config)
    received = common.parameters_to_ndarrays(instructions.parameters)
    arrays = check_arrays(plan, dict(zip(shapes, received, strict=True)), "common model")
    hospital.count_answer(attempt)
    terms = mask_terms(plan)
    if hospital.noise is not None and plan.setting == "distributed":
        source = noise_source(hospital, attempt)
        units = noisy_units(plan, arrays, hospital.part("train"), hospital.noise, source)
        update = unflatten(units.astype(np.float64), shapes)
        weight = int(terms.max_weight)  # a sum, not a mean: every hospital counts the same
    else:
        update = train_locally(hospital, arrays, attempt)
        weight = hospital.n_patients
    outgoing = [update[name] for name in shapes]
    check_before_masking(outgoing, weight, n_hospitals, terms)
    return common.FitRes(
        common.Status(common.Code.OK, ""), common.ndarrays_to_parameters(outgoing), weight,
        {"hospital": hospital.name, "plan_digest": plan.digest, "attempt": attempt,
         "patients": hospital.n_patients},
    )  # fmt: skip


def _evaluate(message: Message, context: Context, hospital: Hospital) -> Message:
    """Judge the common model; figures leave only where rows are protected or made up."""
    arrays, attempt = _received(message, hospital)
    if hospital.plan.figures_may_leave:
        return _reply(message, hospital, **{COUNTS: _judged(hospital, arrays, attempt)})
    # Whether a model fails on private rows is a figure too: the answer is the same either way.
    with contextlib.suppress(Exception):
        _judged(hospital, arrays, attempt)
    return _reply(message, hospital)


def _judged(hospital: Hospital, arrays: Arrays, attempt: int) -> dict[str, Any]:
    """Count calls, and keep the counts in the hospital's folder."""
    counts: dict[str, Any] = {}
    for name in ("validation", "test"):
        rows = hospital.part(name)
        if rows.labels.size == 0:
            continue
        calls = judge(hospital.plan, arrays, rows)
        counts |= {
            f"{name}_loss": calls.loss, f"{name}_positive": calls.positive.tolist(),
            f"{name}_negative": calls.negative.tolist(),
        }  # fmt: skip
    write_json(hospital.folder / FIGURES_FILE, {"notice": NOTICE, "attempt": attempt, **counts})
    return counts
