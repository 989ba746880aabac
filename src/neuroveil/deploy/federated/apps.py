"""The two Flower apps, for bundles that name entry points. Loaded inside Flower processes only.

A hospital's node says where its folder is (``hospital-folder`` in its node configuration); the
coordinator's run says it in ``coordinator-folder``, or in the environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from neuroveil.deploy.federated.client import make_client_app
from neuroveil.deploy.federated.server import make_server_app
from neuroveil.errors import FederationError

if TYPE_CHECKING:
    from flwr.app import Context

HOSPITAL_FOLDER, COORDINATOR_FOLDER = "hospital-folder", "coordinator-folder"
FOLDER_VARIABLE = "NEUROVEIL_FEDERATION_FOLDER"


def hospital_folder(context: Context) -> Path:
    """Find a hospital's folder from the configuration of its own node.

    Parameters
    ----------
    context : flwr Context
        Of the node.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    FederationError
        If the node does not say where it is.
    """
    return _folder(
        context.node_config.get(HOSPITAL_FOLDER), f"node configuration {HOSPITAL_FOLDER}"
    )


def coordinator_folder(context: Context) -> Path:
    """Find the coordinator's folder from the settings of the run, or from the environment.

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
        If neither says where it is.
    """
    named = context.run_config.get(COORDINATOR_FOLDER) or os.environ.get(FOLDER_VARIABLE)
    return _folder(named, f"run setting {COORDINATOR_FOLDER}")


def _folder(named: object, where: str) -> Path:
    if not isinstance(named, str) or not named:
        raise FederationError(
            where, "the folder that `neuroveil federate` made", "nothing",
            "Start the process with `neuroveil federate`, which sets it.",
        )  # fmt: skip
    return Path(named)


client_app = make_client_app(hospital_folder)
server_app = make_server_app(coordinator_folder)
