"""Where Flower finds the coordinator's app of a deployment. Loaded in Flower's processes only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from neuroveil.deploy.federated.operate.bundle import PLAN_KEY
from neuroveil.deploy.federated.operate.run_folder import RUNS_VARIABLE, run_folder
from neuroveil.deploy.federated.server import make_server_app
from neuroveil.errors import FederationError

if TYPE_CHECKING:
    from flwr.app import Context


def folder_of_run(context: Context) -> Path:
    """Find a run's folder by the digest of its plan, below the folder that the process was given.

    A path among the run's settings would be sent to every hospital.

    Parameters
    ----------
    context : flwr Context
        Of the run.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    FederationError
        If the process was not started by ``neuroveil federate coordinator``.
    """
    runs, digest = os.environ.get(RUNS_VARIABLE), context.run_config.get(PLAN_KEY)
    if not runs or not isinstance(digest, str) or not digest:
        raise FederationError(
            "the coordinator's app", "a folder and a plan", "none",
            "Start it with `neuroveil federate coordinator start` and `neuroveil federate run`.",
        )  # fmt: skip
    return run_folder(Path(runs), digest)


server_app = make_server_app(folder_of_run)
