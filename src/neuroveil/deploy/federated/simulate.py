"""A whole federation on one machine, by Flower's simulation. Nothing in it is private."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from neuroveil.deploy.federated.attack import attack_training
from neuroveil.deploy.federated.client import make_client_app
from neuroveil.deploy.federated.cohort import hospital_parts, make_rosters
from neuroveil.deploy.federated.figures import judged_by_hospital
from neuroveil.deploy.federated.flower import require, require_installed
from neuroveil.deploy.federated.hospital import ANSWERS_FILE, Part, open_hospital, write_hospital
from neuroveil.deploy.federated.plan import (
    PLAN_FILE,
    FederationPlan,
    plan_from_study,
    write_plan,
)
from neuroveil.deploy.federated.progress import RunState
from neuroveil.deploy.federated.result_file import read_result
from neuroveil.deploy.federated.server import (
    FAILURE_FILE,
    FIGURES_FILE,
    RESULT_FILE,
    Told,
    make_server_app,
)
from neuroveil.errors import FederationError
from neuroveil.pipeline.cache import private_folder
from neuroveil.pipeline.internal_files import write_json, write_text
from neuroveil.pipeline.pool import Progress, no_progress
from neuroveil.pipeline.promise import planning_scaling
from neuroveil.report.federation import federation_report
from neuroveil.study import Study
from neuroveil.types.federation import FederationResult

PAGE_FILE, SUMMARY_FILE = "federation.html", "federation.json"
Engine = Literal["ray", "process"]

_OBJECT_STORE_BYTES = 100 * 1024 * 1024


@dataclass(frozen=True)
class Simulated:
    """A finished simulation.

    Parameters
    ----------
    folder : Path
        Where everything lies: page, figures, model, and a folder for each hospital.
    result : FederationResult
        What was found.
    """

    folder: Path
    result: FederationResult


def simulation_plan(study: Study) -> FederationPlan:
    """Work out the plan of a simulation; reads no row.

    Parameters
    ----------
    study : Study
        With ``[federation]`` and ``simulation = true``.

    Returns
    -------
    FederationPlan
        The plan.

    Raises
    ------
    StudyError
        If the study is not complete.
    FederationError
        If it is not a simulation's.
    """
    plan = plan_from_study(study)
    if not plan.simulation:
        raise FederationError(
            "federation.simulation", "true", "false",
            "Rows of several hospitals are in one place in simulations only.",
        )  # fmt: skip
    return plan


def simulate_federation(
    study: Study,
    progress: Progress = no_progress,
    audit: bool = True,
    engine: Engine = "ray",
) -> Simulated:
    """Run a plan on this machine, and write the model, its chain, figures and a page.

    An interrupted run goes on after the last round that counted; a finished one is not repeated.

    Parameters
    ----------
    study : Study
        With ``[federation]`` and ``simulation = true``. Hospitals that name a study of their own
        bring their tables; the others are made up.
    progress : callable
        Called with (done, total, what).
    audit : bool
        Whether to attack the model and an update.
    engine : {"ray", "process"}
        Flower's simulation with its worker processes, or the same apps and messages in this
        process, for few hospitals and where Ray does not run.

    Returns
    -------
    Simulated
        Marked as not private throughout.

    Raises
    ------
    NeuroveilError
        If the study or a table cannot be used, or too few hospitals answered.
    """
    require_installed()
    require("flwr.app", "torch", "safetensors", *(("ray",) if engine == "ray" else ()))
    plan = simulation_plan(study)
    name = plan.digest.removeprefix("sha256:")[:12]
    folder = private_folder(study.path(study.output.internal) / "federation" / name)
    coordinator = private_folder(folder / "coordinator")
    hospitals = _prepare(study, plan, folder, progress)
    if not (coordinator / RESULT_FILE).exists():
        if not (coordinator / PLAN_FILE).exists():
            write_plan(plan, coordinator)
        _run(plan, (coordinator, hospitals), engine, progress)
    result = _collect(plan, coordinator)
    if audit:
        trained = {each: _trained(path) for each, path in hospitals.items()}
        result = FederationResult(
            result.chain, result.hospitals, result.pooled,
            attack_training(plan, trained, progress=progress),
        )  # fmt: skip
    write_json(folder / SUMMARY_FILE, result.to_json())
    write_text(folder / PAGE_FILE, federation_report(result))
    return Simulated(folder, result)


def _trained(folder: Path) -> Part:
    return open_hospital(folder).part("train")


def _prepare(
    study: Study, plan: FederationPlan, folder: Path, progress: Progress
) -> dict[str, Path]:
    """Make the hospitals' folders, those that are not there yet."""
    places = {seat.name: folder / "hospitals" / seat.name for seat in plan.seats}
    if all((place / ANSWERS_FILE).exists() for place in places.values()):
        return places
    rosters = make_rosters(study, plan, progress)
    parts = hospital_parts(plan, planning_scaling(study), rosters)
    private_folder(folder / "hospitals")
    for name, place in places.items():
        if not (place / ANSWERS_FILE).exists():
            write_hospital(place, plan, name, parts[name], {"simulation": True})
    return places


def _run(
    plan: FederationPlan,
    folders: tuple[Path, Mapping[str, Path]],
    engine: Engine,
    progress: Progress,
) -> None:
    """Run all rounds that are not done yet."""
    rounds = plan.training.rounds

    def told(state: RunState) -> None:
        progress(len(state.rounds), rounds, "rounds")

    for name in ("flwr", "ray"):
        logging.getLogger(name).setLevel(logging.ERROR)
    progress(0, rounds, "rounds")
    if engine == "process":
        from neuroveil.deploy.federated.in_process import run_in_process

        run_in_process(*folders, told=told)
    else:
        _run_on_ray(*folders, told)


def _run_on_ray(folder: Path, hospitals: Mapping[str, Path], told: Told) -> None:
    """Flower's simulation: a node a hospital, in as many processes as there are processors."""
    places = list(hospitals.values())
    (simulation,) = require("flwr.simulation")
    try:
        simulation.run_simulation(
            server_app=make_server_app(lambda context: folder, told),
            client_app=make_client_app(
                lambda context: places[int(str(context.node_config["partition-id"]))]
            ),
            num_supernodes=len(places),
            backend_config=_backend(len(places)),
        )
    except Exception as error:
        _raise_failure(folder, error)
    if not (folder / RESULT_FILE).exists():
        _raise_failure(folder, None)


def _backend(n_hospitals: int) -> dict[str, Any]:
    """Few processes and little memory: models are small."""
    return {
        "init_args": {
            "num_cpus": max(1, min(n_hospitals, os.cpu_count() or 1)),
            "include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR,
            "object_store_memory": _OBJECT_STORE_BYTES,
        },
        "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
    }  # fmt: skip


def _raise_failure(folder: Path, error: Exception | None) -> None:
    """Say why a run ended, as the coordinator wrote it down."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        said = json.loads((folder / FAILURE_FILE).read_bytes())
        words = [str(said[each]) for each in ("where", "expected", "found", "remedy")]
        raise FederationError(*words) from error
    raise FederationError(
        "simulation", "a run to its end", "nothing" if error is None else type(error).__name__,
        "Run the same command again: rounds that counted are kept.",
    ) from error  # fmt: skip


def _collect(plan: FederationPlan, folder: Path) -> FederationResult:
    """Read what the coordinator wrote."""
    chain, _ = read_result(folder)
    try:
        figures: dict[str, Any] = {}
        if (folder / FIGURES_FILE).exists():
            figures = json.loads((folder / FIGURES_FILE).read_bytes())["figures"]
        each, pooled = judged_by_hospital(figures, tuple(seat.name for seat in plan.seats))
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise FederationError(
            f"file {FIGURES_FILE}", "counts as the coordinator's app writes them",
            "something else", "Restore the folder from a copy, or remove it to train anew.",
        ) from None  # fmt: skip
    return FederationResult(chain, each, pooled)
