"""The coordinator's folder of one training: its plan, its nodes, and how far it has come."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.operate.files import exchange
from neuroveil.errors import FederationError

RUNS_VARIABLE = "NEUROVEIL_FEDERATION_RUNS"
"""Variable by which the coordinator's app finds the folder of all trainings."""

ROUNDS_FILE, RESULT_FILE, FAILURE_FILE = "rounds.json", "result.json", "failure.json"
NODES_FILE = "nodes.json"
_DIGEST = re.compile(r"^(?:sha256:)?([0-9a-f]{64})$")


def run_folder(runs: Path, plan_digest: str) -> Path:
    """Name the folder of a plan's training.

    Parameters
    ----------
    runs : Path
        Folder of all trainings.
    plan_digest : str
        ``sha256:…``.

    Returns
    -------
    Path
        Below ``runs``, whether it exists or not.

    Raises
    ------
    FederationError
        If this is no digest.
    """
    found = _DIGEST.match(plan_digest)
    if found is None:
        raise FederationError(
            "plan", "a digest sha256:…", "something else", "Use `neuroveil federate run`."
        )
    return runs / found.group(1)[:16]


@dataclass(frozen=True)
class Progress:
    """How far a training has come.

    Parameters
    ----------
    rounds : list of dict
        Rounds that counted, as the coordinator's app wrote them.
    attempts : int
        Exchanges that were begun.
    finished : bool
        Whether the final model is there.
    failure : mapping or None
        Why the last try ended, as an error's plain data.
    """

    rounds: list[dict[str, Any]]
    attempts: int
    finished: bool
    failure: Mapping[str, Any] | None


def read_progress(folder: Path) -> Progress:
    """Read how far a training has come.

    Parameters
    ----------
    folder : Path
        From :func:`run_folder`.

    Returns
    -------
    Progress
        Nothing, where it has not begun.

    Raises
    ------
    FederationError
        If a file is damaged.
    """
    said = _read(folder / ROUNDS_FILE) or {}
    rounds, attempts = said.get("rounds", []), said.get("attempts", 0)
    is_sound = isinstance(rounds, list) and all(isinstance(each, dict) for each in rounds)
    if not is_sound or not isinstance(attempts, int):
        raise _damaged(ROUNDS_FILE)
    return Progress(rounds, attempts, (folder / RESULT_FILE).exists(), _read(folder / FAILURE_FILE))


def write_nodes(folder: Path, names: Mapping[int, str]) -> None:
    """Write down which node's key belongs to which hospital.

    Parameters
    ----------
    folder : Path
        From :func:`run_folder`.
    names : mapping of int to str
        Name by node.
    """
    exchange(folder / NODES_FILE, json.dumps({str(node): name for node, name in names.items()}))


def _read(file: Path) -> dict[str, Any] | None:
    """Read a file that is exchanged whole; none where it is not there."""
    try:
        found: dict[str, Any] = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        raise _damaged(file.name) from None
    if not isinstance(found, dict):
        raise _damaged(file.name)
    return found


def _damaged(name: str) -> FederationError:
    return FederationError(
        f"file {name}", "JSON as the coordinator's app writes it", "something else",
        "Restore the folder from a copy.",
    )  # fmt: skip
