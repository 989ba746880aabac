"""Start a training on a running coordinator, and follow it to its end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.operate.bundle import PLAN_KEY, app_bundle
from neuroveil.deploy.federated.operate.control import RunState, operator
from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder
from neuroveil.deploy.federated.operate.files import exchange
from neuroveil.deploy.federated.operate.run_folder import (
    FAILURE_FILE,
    Progress,
    read_progress,
    run_folder,
    write_nodes,
)
from neuroveil.deploy.federated.plan import PLAN_FILE, FederationPlan, read_plan, write_plan
from neuroveil.deploy.federated.result_file import read_result
from neuroveil.errors import FederationError

RUN_FILE = "run.json"

_PAUSE = 1.0
_LARGEST_ABSENCE = 120.0
_RESTARTS = 3

Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Training:
    """A training that has ended well.

    Parameters
    ----------
    folder : Path
        With the model and its chain.
    rounds : list of dict
        What happened in each round.
    bytes_sent, bytes_received : int
        By the coordinator in the last run, as Flower counts them, in bytes.
    resumed : int
        How often it had to be started again after the coordinator had ended.
    """

    folder: Path
    rounds: list[dict[str, Any]]
    bytes_sent: int
    bytes_received: int
    resumed: int


def train(folder: Path, plan: FederationPlan, report: Report) -> Training:
    """Train by a plan; rounds that are done already are not done again.

    Parameters
    ----------
    folder : Path
        The coordinator's folder; the coordinator runs.
    plan : FederationPlan
        What was agreed.
    report : callable
        Takes (rounds done, rounds in all, what).

    Returns
    -------
    Training
        The result.

    Raises
    ------
    FederationError
        If hospitals are missing, too many rounds came to nothing, or the coordinator is gone.
    CertificateError
        If the training was finished before, and its result is damaged.
    """
    place = CoordinatorFolder(folder)
    target = _prepared(place, plan)
    done = read_progress(target)
    if done.finished:
        read_result(target)  # a damaged one must not pass for a result
        return Training(target, done.rounds, 0, 0, 0)
    for resumed in range(_RESTARTS + 1):
        run = _started(place, plan, target)
        state = _follow(place, plan, run, (target, report))
        progress = read_progress(target)
        if progress.finished:
            return Training(
                target, progress.rounds, state.bytes_sent, state.bytes_received, resumed
            )
        if progress.failure is not None:
            raise _failed(progress.failure)
        if state.outcome == "stopped" and place.generation() == run.generation:
            raise FederationError(
                "training", "a run to its end", "one that was stopped",
                "Run the command again: it goes on after the last round.",
            )  # fmt: skip
    raise FederationError(
        "training", "a run to its end", f"{_RESTARTS + 1} runs that ended without a word",
        f"The reason stands in {place.log.name}; run the command again to go on.",
    )  # fmt: skip


def _prepared(place: CoordinatorFolder, plan: FederationPlan) -> Path:
    target = run_folder(place.runs, plan.digest)
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (target / PLAN_FILE).exists():
        write_plan(plan, target)
    if read_plan(target).digest != plan.digest:
        raise FederationError(
            "the training's folder", "the plan that it was made for", "another",
            "Move the folder away.",
        )  # fmt: skip
    return target


@dataclass(frozen=True)
class _Run:
    """A run, and the start of the coordinator that it belongs to."""

    run_id: int
    generation: str


def _started(place: CoordinatorFolder, plan: FederationPlan, target: Path) -> _Run:
    """Find the run of this plan that is under way, or start one; never two at once."""
    import fcntl

    with (target / "run.lock").open("a") as lock, operator(place.root) as calls:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = _under_way(place, target)
        if run is not None and calls.run(run.run_id).status != "finished":
            return run
        (target / FAILURE_FILE).unlink(missing_ok=True)
        write_nodes(target, {each.node_id: each.name for each in calls.nodes()})
        generation = place.generation()
        run = _Run(calls.start(app_bundle(), {PLAN_KEY: plan.digest}), generation)
        exchange(target / RUN_FILE, json.dumps(asdict(run)))
        return run


def _under_way(place: CoordinatorFolder, target: Path) -> _Run | None:
    """Read which run was started last; none if the coordinator was started anew since."""
    try:
        run = _Run(**json.loads((target / RUN_FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return run if run.generation == place.generation() else None


def _follow(
    place: CoordinatorFolder, plan: FederationPlan, run: _Run, where: tuple[Path, Report]
) -> RunState:
    """Wait for the end of a run; one that a coordinator has forgotten to end is ended."""
    target, report = where
    last_heard = time.monotonic()
    while True:
        _tell(read_progress(target), plan, report)
        try:
            with operator(place.root) as calls:
                state = calls.run(run.run_id)
                if state.status != "finished" and place.generation() != run.generation:
                    calls.stop(run.run_id)  # its app ended with the coordinator that started it
                    state = calls.run(run.run_id)
            last_heard = time.monotonic()
        except FederationError:
            if time.monotonic() - last_heard > _LARGEST_ABSENCE:
                raise
        else:
            if state.status == "finished":
                _tell(read_progress(target), plan, report)
                return state
        time.sleep(_PAUSE)


def _tell(progress: Progress, plan: FederationPlan, report: Report) -> None:
    report(len(progress.rounds), plan.training.rounds, "rounds")


def _failed(failure: Mapping[str, Any]) -> FederationError:
    words = [str(failure.get(key, "")) for key in ("where", "expected", "found", "remedy")]
    return FederationError(*words)
