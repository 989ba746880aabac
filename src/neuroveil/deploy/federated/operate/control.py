"""The operator's calls to the coordinator's SuperLink."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder
from neuroveil.deploy.federated.operate.engine import direct_at_home, require_flower
from neuroveil.deploy.federated.operate.node_key import public_key_bytes
from neuroveil.errors import FederationError


@dataclass(frozen=True)
class NodeState:
    """A hospital's node as the SuperLink knows it.

    Parameters
    ----------
    name : str
        The hospital's name.
    node_id : int
        Flower's number.
    state : str
        ``registered``, ``online`` or ``offline``.
    """

    name: str
    node_id: int
    state: str


@dataclass(frozen=True)
class RunState:
    """A run as the SuperLink knows it.

    Parameters
    ----------
    run_id : int
        Flower's number.
    status : str
        ``pending``, ``starting``, ``running`` or ``finished``.
    outcome : str
        Of a finished run: ``completed``, ``failed`` or ``stopped``.
    details : str
        Flower's words about a failure.
    bytes_sent, bytes_received : int
        By the coordinator, over all hospitals, in bytes.
    """

    run_id: int
    status: str
    outcome: str
    details: str
    bytes_sent: int
    bytes_received: int


class _OperatorToken:
    """Put the operator's token on every request."""

    def __init__(self, token: str) -> None:
        self._token = token

    def intercept(self, context: Any, call_next: Any) -> Any:
        context.request.headers["authorization"] = f"Bearer {self._token}"
        return call_next(context)


class Operator:
    """Calls to one coordinator.

    Parameters
    ----------
    client : flwr ControlHttpClient
        Open connection.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def nodes(self) -> list[NodeState]:
        """List the nodes that may take part.

        Returns
        -------
        list of NodeState
            By name.
        """
        from flwr.proto.control_pb2 import ListNodesRequest

        found = self._client.ListNodes(ListNodesRequest()).nodes_info
        known = [NodeState(each.name, each.node_id, each.status) for each in found]
        return sorted(
            (each for each in known if each.state != "unregistered"), key=lambda each: each.name
        )

    def take_up(self, hospitals: Mapping[str, str]) -> None:
        """Make the SuperLink's nodes those of the register.

        Parameters
        ----------
        hospitals : mapping of str to str
            Public key by name.
        """
        from flwr.proto.control_pb2 import (
            ListNodesRequest,
            RegisterNodeRequest,
            UnregisterNodeRequest,
        )

        wanted = {public_key_bytes(key): name for name, key in hospitals.items()}
        listed = self._client.ListNodes(ListNodesRequest()).nodes_info
        present = {each.public_key: each.node_id for each in listed
                   if each.status != "unregistered"}  # fmt: skip
        for key, node_id in present.items():
            if key not in wanted:
                self._client.UnregisterNode(UnregisterNodeRequest(node_id=node_id))
        for key, name in wanted.items():
            if key not in present:
                self._client.RegisterNode(RegisterNodeRequest(public_key=key, name=name))

    def start(self, bundle: bytes, config: Mapping[str, bool | int | float | str]) -> int:
        """Start a run.

        Parameters
        ----------
        bundle : bytes
            The app.
        config : mapping
            Settings in place of the bundle's own.

        Returns
        -------
        int
            Number of the run.

        Raises
        ------
        FederationError
            If the SuperLink does not take it.
        """
        import hashlib

        from flwr.common.serde import fab_to_proto, user_config_to_proto
        from flwr.proto.control_pb2 import StartRunRequest
        from flwr.supercore.fab import Fab

        fab = Fab(hashlib.sha256(bundle).hexdigest(), bundle, {})
        answer = self._client.StartRun(StartRunRequest(
            fab=fab_to_proto(fab), override_config=user_config_to_proto(dict(config)),
        ))  # fmt: skip
        if not answer.HasField("run_id"):
            raise FederationError(
                "the run", "an app that the SuperLink takes", "one that it does not",
                "See the coordinator's log.",
            )  # fmt: skip
        return int(answer.run_id)

    def stop(self, run_id: int) -> None:
        """Stop a run.

        Parameters
        ----------
        run_id : int
            Its number.
        """
        from flwr.proto.control_pb2 import StopRunRequest

        self._client.StopRun(StopRunRequest(run_id=run_id))

    def run(self, run_id: int) -> RunState:
        """Ask how a run stands.

        Parameters
        ----------
        run_id : int
            Its number.

        Returns
        -------
        RunState
            Now.
        """
        from flwr.proto.control_pb2 import ListRunsRequest

        found = self._client.ListRuns(ListRunsRequest(run_id=run_id)).run_dict[run_id]
        return RunState(
            run_id, found.status.status, found.status.sub_status, found.status.details,
            found.bytes_sent, found.bytes_recv,
        )  # fmt: skip


@contextmanager
def operator(folder: Path) -> Iterator[Operator]:
    """Open the operator's connection to a running coordinator on this machine.

    Parameters
    ----------
    folder : Path
        The coordinator's folder.

    Yields
    ------
    Operator
        Calls.

    Raises
    ------
    FederationError
        If the coordinator does not answer or refuses.
    """
    require_flower()
    os.environ.update(direct_at_home(os.environ))
    import httpx
    from flwr.supercore.control import ControlHttpClient
    from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

    place = CoordinatorFolder(folder)
    address, token = place.settings().own_address, _OperatorToken(place.token())
    try:
        client = ControlHttpClient.from_server_address(
            address, False, place.tls.authority.read_bytes(),
            [token, RuntimeVersionHttpInterceptor(component_name="flwr CLI")],
        )  # fmt: skip
    except (OSError, ValueError):
        raise FederationError(
            "coordinator folder", "the certificate ca.pem that it was made with", "something else",
            "Restore it from a copy: hospitals have the same file.",
        ) from None  # fmt: skip
    try:
        yield Operator(client)
    except httpx.HTTPStatusError as error:
        raise FederationError(
            "the coordinator", "an answer", f"HTTP status {error.response.status_code}",
            "See the coordinator's log.",
        ) from None  # fmt: skip
    except httpx.HTTPError as error:
        raise FederationError(
            "the coordinator", "an answer", type(error).__name__,
            "Start it with `neuroveil federate coordinator start`.",
        ) from None  # fmt: skip
    finally:
        client.close()
