"""A hospital's process: Flower's SuperNode with the site's guard in its connection."""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.operate.engine import (
    end_with_parent,
    execute_when,
    require_flower,
)
from neuroveil.deploy.federated.operate.guard import SiteGuard, guarded
from neuroveil.deploy.federated.operate.hospital import HospitalFolder


def main(folder: Path) -> None:
    """Work for the coordinator until the process is told to stop.

    Parameters
    ----------
    folder : Path
        The hospital's folder.
    """
    require_flower()
    end_with_parent()
    import logging

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key
    from flwr.supercore import log
    from flwr.supercore.object_store import ObjectStoreFactory
    from flwr.supernode import start_client_internal as engine
    from flwr.supernode.nodestate import NodeStateFactory

    from neuroveil.deploy.federated.apps import HOSPITAL_FOLDER

    place = HospitalFolder(folder)
    settings = place.settings()
    seat = Path(settings.seat)
    guard = SiteGuard(folder, seat, lambda line: log(logging.WARNING, line))
    _put_in(engine, guard, settings.heartbeat_seconds)
    key = load_ssh_private_key(place.private_key.read_bytes(), None)
    assert isinstance(key, EllipticCurvePrivateKey)  # made so; Flower refuses others, too
    state = NodeStateFactory(objectstore_factory=ObjectStoreFactory())
    address = _serve_runtime(state, place.executor_secret.read_bytes())
    execute_when(lambda: True, address, place.executor_secret, None)
    engine.start_client_internal(
        state_factory=state, server_address=settings.coordinator,
        node_config={HOSPITAL_FOLDER: str(seat)}, insecure=False,
        root_certificates=str(place.authority),
        authentication_keys=(key, key.public_key()), isolation="process",
        runtime_api_address=address, trusted_entities=guard.trusted_entities,
        runtime_dependency_install=False,
    )  # fmt: skip


def _put_in(engine: Any, guard: SiteGuard, heartbeat_seconds: int) -> None:
    """Let Flower's node connect through the guard, with the site's own heartbeat."""
    from flwr.supercore import heartbeat
    from flwr.supernode import fleet_http_connection

    engine.http_request_response = guarded(engine.http_request_response, guard)
    for module in (heartbeat, fleet_http_connection):
        vars(module)["HEARTBEAT_DEFAULT_INTERVAL"] = heartbeat_seconds


def _serve_runtime(state: Any, secret: bytes) -> str:
    """Serve this machine's own interface, on a port that the system chooses."""
    import uvicorn
    from flwr.supercore.exit import add_exit_handler
    from flwr.supernode.main import create_app

    application = create_app(state_factory=state, superexec_auth_secret=secret)
    server = uvicorn.Server(uvicorn.Config(
        application, log_level="warning", access_log=False, server_header=False, workers=1
    ))  # fmt: skip
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while thread.is_alive() and not server.started:
        time.sleep(0.05)

    def stop() -> None:
        server.should_exit = True

    add_exit_handler(stop)
    return f"127.0.0.1:{listener.getsockname()[1]}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
