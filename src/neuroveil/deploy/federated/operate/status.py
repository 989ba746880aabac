"""How a federation stands, from a coordinator's or a hospital's folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.hospital import last_answer, open_hospital
from neuroveil.deploy.federated.operate.control import operator
from neuroveil.deploy.federated.operate.coordinator import FILE as COORDINATOR_FILE
from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder
from neuroveil.deploy.federated.operate.decisions import read_decisions
from neuroveil.deploy.federated.operate.hospital import FILE as HOSPITAL_FILE
from neuroveil.deploy.federated.operate.hospital import HospitalFolder
from neuroveil.deploy.federated.operate.run_folder import read_progress
from neuroveil.deploy.federated.plan import PLAN_FILE, read_plan
from neuroveil.errors import FederationError, StudyError, StudyMistake


def status(folder: Path) -> dict[str, Any]:
    """Say how a federation stands.

    Parameters
    ----------
    folder : Path
        A coordinator's or a hospital's.

    Returns
    -------
    dict
        For the coordinator ``role``, ``running``, ``hospitals`` and ``trainings``; for a hospital
        ``role``, ``name``, ``answers``, ``paid_answers`` and ``decisions``.

    Raises
    ------
    StudyError
        If it is neither.
    """
    if (folder / COORDINATOR_FILE).exists():
        return _coordinator(CoordinatorFolder(folder))
    if (folder / HOSPITAL_FILE).exists():
        return _hospital(HospitalFolder(folder))
    raise StudyError([StudyMistake(
        "folder", f"one with {COORDINATOR_FILE} or {HOSPITAL_FILE}", "neither",
        "Name the folder that `neuroveil federate coordinator init` or `hospital init` made.",
    )])  # fmt: skip


def _coordinator(place: CoordinatorFolder) -> dict[str, Any]:
    states = dict.fromkeys(place.hospitals(), "unknown")
    running = True
    try:
        with operator(place.root) as calls:
            states |= {each.name: each.state for each in calls.nodes()}
    except FederationError:
        running = False
    return {
        "role": "coordinator", "running": running, "hospitals": states,
        "trainings": [_training(each) for each in sorted(place.runs.iterdir())
                      if (each / PLAN_FILE).exists()],
    }  # fmt: skip


def _training(folder: Path) -> dict[str, Any]:
    plan, progress = read_plan(folder), read_progress(folder)
    last = progress.rounds[-1] if progress.rounds else {}
    return {
        "training": folder.name, "setting": plan.setting, "epsilon": plan.epsilon,
        "rounds": plan.training.rounds, "rounds_done": len(progress.rounds),
        "exchanges": progress.attempts, "exchanges_paid": plan.training.attempts,
        "hospitals_in": list(last.get("hospitals_in", [])),
        "hospitals_out": dict(last.get("hospitals_out", {})),
        "finished": progress.finished,
        "failure": None if progress.failure is None else dict(progress.failure),
    }  # fmt: skip


def _hospital(place: HospitalFolder) -> dict[str, Any]:
    seat = Path(place.settings().seat)
    hospital = open_hospital(seat)
    return {
        "role": "hospital", "name": hospital.name, "answers": last_answer(seat),
        "paid_answers": hospital.plan.training.attempts,
        "decisions": [asdict(each) for each in read_decisions(place.root)],
    }  # fmt: skip


def status_text(document: dict[str, Any]) -> str:
    """Put a status into words.

    Parameters
    ----------
    document : dict
        From :func:`status`.

    Returns
    -------
    str
        Lines for a person.
    """
    if document["role"] == "hospital":
        accepted = sum(each["accepted"] for each in document["decisions"])
        refused = len(document["decisions"]) - accepted
        return (
            f"{document['name']}: answered up to exchange {document['answers']} of "
            f"{document['paid_answers']}; runs accepted {accepted}, refused {refused}"
        )
    lines = [f"The coordinator is {'running' if document['running'] else 'not running'}."]
    lines += [f"  {name}  {state}" for name, state in document["hospitals"].items()]
    for each in document["trainings"]:
        end = "finished" if each["finished"] else "failed" if each["failure"] else "not finished"
        lines.append(
            f"{each['training']}  {each['setting']}, epsilon {each['epsilon']:g}: round "
            f"{each['rounds_done']} of {each['rounds']}, {end}"
        )
        lines += [f"  in   {name}" for name in each["hospitals_in"]]
        lines += [f"  out  {name}: {why}" for name, why in each["hospitals_out"].items()]
    return "\n".join(lines)
