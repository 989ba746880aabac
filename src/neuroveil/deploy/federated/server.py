"""The coordinator's side: a Flower ServerApp that goes from round to round and can be resumed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuroveil.deploy.federated.counting import CountingGrid
from neuroveil.deploy.federated.enrol import Enrolment, known_nodes, needed
from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.models import Arrays, check_arrays, parameter_shapes
from neuroveil.deploy.federated.noise import noise_terms
from neuroveil.deploy.federated.plan import FederationPlan, read_plan
from neuroveil.deploy.federated.progress import (
    RoundRecord,
    RunState,
    load_state,
    save_state,
    write_model,
)
from neuroveil.deploy.federated.rounds import PATIENCE
from neuroveil.deploy.federated.secure import MaskedRound, masked_round
from neuroveil.deploy.federated.strategy import (
    NO_ANSWER,
    RefusingStrategy,
    check_count,
    check_words,
    require_minimum,
    to_record,
)
from neuroveil.errors import FederationError, NeuroveilError
from neuroveil.pipeline.internal_files import write_json

if TYPE_CHECKING:
    from flwr.app import Context
    from flwr.serverapp import Grid, ServerApp

RESULT_FILE, FAILURE_FILE, FIGURES_FILE = "result.json", "failure.json", "figures.json"

Locate = Callable[["Context"], Path]
Told = Callable[[RunState], None]

_log = logging.getLogger(__name__)


def make_server_app(locate: Locate, told: Told | None = None) -> ServerApp:
    """Make the app that the coordinator runs.

    Parameters
    ----------
    locate : callable
        Says in which folder the coordinator of a run keeps its state; ``plan.json`` lies there.
    told : callable, optional
        Called with the state after every round.

    Returns
    -------
    flwr.serverapp.ServerApp
        Runs all rounds that are not done yet.

    Raises
    ------
    FederationError
        If Flower is not installed.
    """
    (serverapp,) = require("flwr.serverapp")
    app: ServerApp = serverapp.ServerApp()

    def main(grid: Grid, context: Context) -> None:
        run_rounds(grid, context, locate(context), told)

    app.main()(main)
    return app


def run_rounds(grid: Grid, context: Context, folder: Path, told: Told | None = None) -> RunState:
    """Run all rounds of a plan that are not done yet.

    Parameters
    ----------
    grid : flwr Grid
        Flower's transport.
    context : flwr Context
        Of the run.
    folder : Path
        The coordinator's folder.
    told : callable, optional
        Called with the state after every round.

    Returns
    -------
    RunState
        After the last round; the model is in the folder.

    Raises
    ------
    FederationError
        If hospitals are missing, or too many rounds came to nothing. What was reached is kept.
    """
    (folder / FAILURE_FILE).unlink(missing_ok=True)
    try:
        return _Run(grid, context, folder, told).finish()
    except NeuroveilError as error:
        write_json(folder / FAILURE_FILE, error.as_dict())
        raise


@dataclass(frozen=True)
class _Exchange:
    """What one exchange gave."""

    arrays: Arrays
    hospitals_in: tuple[str, ...]
    hospitals_out: Mapping[str, str]


class _Run:
    """A run from where it stands to its end."""

    def __init__(self, grid: Grid, context: Context, folder: Path, told: Told | None) -> None:
        self._grid: Any = CountingGrid(grid)
        self._context = context
        self._folder = folder
        self._told = told
        self.plan: FederationPlan = read_plan(folder)
        self.state = load_state(folder, self.plan)
        self._noise = noise_terms(self.plan)
        self._enrolment = Enrolment(self.plan, known_nodes(folder), _log.info)
        self._losses = {
            each.round: each.loss for each in self.state.rounds if each.loss is not None
        }

    def finish(self) -> RunState:
        """Go on until all rounds are done."""
        self._present = self._enrolment.wait(self._grid)
        while len(self.state.rounds) < self.plan.training.rounds and not self._has_settled():
            self._next_round()
            if self._told is not None:
                self._told(self.state)
        figures = self._judged(self.state.final) if self.plan.training.test_share > 0 else None
        self._write(figures)
        return self.state

    def _next_round(self) -> None:
        """One round, with as many exchanges as it takes and are paid for."""
        start, sent, received = time.monotonic(), self._grid.sent, self._grid.received
        exchange = self._exchange()
        number, loss = len(self.state.rounds) + 1, None
        if self.plan.training.stopping == "validation" or self.plan.simulation:
            loss = self._loss(exchange.arrays)
        record = RoundRecord(
            number, self.state.attempts, exchange.hospitals_in, exchange.hospitals_out, loss,
            round(time.monotonic() - start, 3), self._grid.sent - sent,
            self._grid.received - received,
        )  # fmt: skip
        self.state = self._with_best(
            replace(self.state, arrays=exchange.arrays, rounds=(*self.state.rounds, record)), loss
        )
        save_state(self._folder, self.plan, self.state)

    def _exchange(self) -> _Exchange:
        while True:
            if self.state.attempts >= self.plan.training.attempts:
                raise FederationError(
                    "training", f"{self.plan.training.rounds} rounds in "
                    f"{self.plan.training.attempts} exchanges", f"{len(self.state.rounds)} rounds",
                    "The budget of the plan is used up. The model of the last round is kept; a "
                    "new plan, with retries for hospitals that fail, is charged anew.",
                )  # fmt: skip
            self._require_present()
            self.state = self.state.begun()
            save_state(self._folder, self.plan, self.state)  # never used twice, whatever happens
            try:
                if self.plan.privacy.is_masked:
                    return self._masked()
                return self._in_the_clear()
            except FederationError as error:
                _log.warning("Exchange %d came to nothing: %s", self.state.attempts, error)
                if self.state.attempts >= self.plan.training.attempts:
                    raise

    def _require_present(self) -> None:
        self._present = self._enrolment.present(self._grid)
        if len(self._present) < needed(self.plan):
            self._present = self._enrolment.wait(self._grid)

    def _in_the_clear(self) -> _Exchange:
        strategy = RefusingStrategy(self.plan, self.state, self._present)
        attempt, record = self.state.attempts, to_record(self.state.arrays)
        (app,) = require("flwr.app")
        messages = strategy.configure_train(attempt, record, app.ConfigRecord(), self._grid)
        replies = self._grid.send_and_receive(messages, timeout=self.plan.round_seconds)
        strategy.aggregate_train(attempt, replies)
        everybody = (seat.name for seat in self.plan.seats)
        return _Exchange(
            strategy.state.arrays,
            tuple(name for name in everybody if name not in strategy.left_out),
            strategy.left_out,
        )

    def _masked(self) -> _Exchange:
        said = {"plan_digest": self.plan.digest, "attempt": self.state.attempts}
        found = masked_round(
            self._grid, self._context, self.plan, list(self._present), (self.state.arrays, said)
        )
        if found.total is None:
            raise FederationError(
                "secure aggregation",
                f"at least {needed(self.plan)} hospitals until masks are taken off", "fewer",
                "Nothing was changed, and no update was unmasked.",
            )  # fmt: skip
        names = self._told_names(found)
        require_minimum(self.plan, len(names))
        shapes = parameter_shapes(self.plan)
        summed = dict(zip(shapes, found.total, strict=True))
        arrays = summed if self.plan.setting != "distributed" else self._step(summed, names)
        out = {
            seat.name: NO_ANSWER if seat.name in self._present.values() else "not enrolled"
            for seat in self.plan.seats
            if seat.name not in names
        }
        return _Exchange(check_arrays(self.plan, arrays, "new common model"), names, out)

    def _told_names(self, found: MaskedRound) -> tuple[str, ...]:
        """A sum cannot be taken apart, so one wrong word makes all of it useless."""
        for node, said in found.told.items():
            name = self._present[node]
            check_words(self.plan, name, self.state.attempts, said)
            check_count(self.plan, name, said.get("patients"))
        names = {self._present[node] for node in found.told}
        return tuple(seat.name for seat in self.plan.seats if seat.name in names)

    def _step(self, mean: Arrays, names: tuple[str, ...]) -> Arrays:
        """Take a step along the noisy sum of all patients' clipped gradients."""
        assert self._noise is not None  # there is noise in every plan of this setting
        spec, n_patients = (
            self.plan.training,
            sum(self.plan.seat(each).n_patients for each in names),
        )
        stepped = {}
        for name, value in mean.items():
            # The protocol divides by the number of hospitals; before that they were integers.
            units = np.rint(value * len(names))
            gradient = np.ldexp(units, self._noise.grid_log2) / n_patients
            current = self.state.arrays[name]
            stepped[name] = current - spec.learning_rate * (gradient + spec.penalty * current)
        return stepped

    def _judged(self, arrays: Arrays) -> Mapping[str, Any] | None:
        strategy = RefusingStrategy(self.plan, self.state, self._present)
        attempt, record = self.state.attempts, to_record(arrays)
        (app,) = require("flwr.app")
        messages = strategy.configure_evaluate(attempt, record, app.ConfigRecord(), self._grid)
        replies = self._grid.send_and_receive(messages, timeout=self.plan.round_seconds)
        found = strategy.aggregate_evaluate(attempt, replies)
        return None if found is None else dict(found)

    def _loss(self, arrays: Arrays) -> float | None:
        """Mean loss over patients who judge: those for validation where validation chooses."""
        figures = self._judged(arrays) or {}
        part = "validation" if self.plan.training.stopping == "validation" else "test"
        total, weight = 0.0, 0
        for seat in self.plan.seats:
            if f"{seat.name}/{part}_loss" in figures:
                n = sum(
                    sum(figures[f"{seat.name}/{part}_{side}"]) for side in ("positive", "negative")
                )
                total, weight = total + n * figures[f"{seat.name}/{part}_loss"], weight + n
        return total / weight if weight else None

    def _with_best(self, state: RunState, loss: float | None) -> RunState:
        if self.plan.training.stopping != "validation" or loss is None:
            return state
        number = len(state.rounds)
        self._losses[number] = loss
        if loss <= min(value for value in self._losses.values() if value is not None):
            return replace(state, best_round=number, best_arrays=state.arrays)
        return state

    def _has_settled(self) -> bool:
        """Whether validation says that two rounds in a row made nothing better."""
        if self.plan.training.stopping != "validation" or not self.state.best_round:
            return False
        return len(self.state.rounds) - self.state.best_round >= PATIENCE

    def _write(self, figures: Mapping[str, Any] | None) -> None:
        from neuroveil.deploy.federated.chain import federation_chain

        model = write_model(self._folder, self.plan, self.state)
        if figures is not None:
            write_json(self._folder / FIGURES_FILE, {"figures": dict(figures)})
        write_json(self._folder / RESULT_FILE, federation_chain(self.plan, self.state, model))
