"""The coordinator's process: Flower's SuperLink with its operator's door locked.

Flower 1.42 serves three interfaces on one port: Fleet for hospitals, Control for the operator,
Runtime for its own worker processes. Of these only Fleet asks who is calling. Whoever reaches
the port could therefore register nodes of his own, start runs (whose server code then runs on
the coordinator's machine) or fetch the work of others. Here Control asks for the operator's
token and Runtime for a secret between the SuperLink and its SuperExec.
"""

from __future__ import annotations

import hmac
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder
from neuroveil.deploy.federated.operate.engine import (
    end_with_parent,
    execute_when,
    require_flower,
)


def main(folder: Path) -> None:
    """Serve until the process is told to stop.

    Parameters
    ----------
    folder : Path
        The coordinator's folder.
    """
    require_flower()
    end_with_parent()
    import logging

    import uvicorn
    from flwr.supercore.http_logging import get_uvicorn_log_config
    from flwr.superlink.cli.flower_superlink import SuperLinkLifespan
    from flwr.superlink.main import create_app

    place = CoordinatorFolder(folder)
    place.next_generation()
    config = _configuration(place)
    listen = place.settings()
    application = create_app(config, SuperLinkLifespan)
    server = uvicorn.Server(uvicorn.Config(
        application, host=listen.host, port=listen.port, access_log=False, workers=1,
        log_config=get_uvicorn_log_config(logging.INFO), server_header=False, proxy_headers=False,
        ssl_certfile=str(place.tls.certificate), ssl_keyfile=str(place.tls.key),
        timeout_graceful_shutdown=5,
    ))  # fmt: skip
    execute_when(
        lambda: server.started, listen.own_address, place.executor_secret, place.tls.authority
    )
    server.run()


def _configuration(place: CoordinatorFolder) -> Any:
    from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME
    from flwr.superlink.config_loader import SuperLinkLifespanConfig

    listen, files = place.settings(), place.tls
    database = str(place.database) if listen.database == "file" else FLWR_IN_MEMORY_DB_NAME
    return SuperLinkLifespanConfig(
        control_address="", health_server_address=None, host=listen.host, port=listen.port,
        insecure=False, certificates=(
            files.authority.read_bytes(), files.certificate.read_bytes(), files.key.read_bytes()
        ),
        superexec_auth_secret=place.executor_secret.read_bytes(),
        authn_plugin=operator_door(place.token()), event_log_plugin=None,
        fleet_event_log_plugin=None, enable_event_log=False, artifact_provider=None,
        enable_supernode_auth=True, fleet_api_type="grpc-rere", fleet_api_address=None,
        simulation=False, ssl_ca_certfile=str(files.authority),
        ssl_certfile=str(files.certificate), ssl_keyfile=str(files.key),
        database=database, isolation="process", runtime_dependency_install=False,
    )  # fmt: skip


def operator_door(token: str) -> Any:
    """Make the check that Flower asks before every operator's call.

    Parameters
    ----------
    token : str
        The operator's token.

    Returns
    -------
    flwr ControlAuthnPlugin
        Accepts this token and nothing else; there is no way to log in for another.
    """
    from flwr.common.constant import ACCESS_TOKEN_KEY, NOOP_ACCOUNT_NAME, NOOP_FLWR_AID
    from flwr.supercore.auth.typing import AccountInfo
    from flwr.supercore.error import ApiErrorCode, FlowerError
    from flwr.superlink.auth_plugin import ControlAuthnPlugin

    def refuse() -> FlowerError:
        return FlowerError(ApiErrorCode.NO_ACCOUNT_AUTH, "There is no log-in here.")

    class OperatorDoor(ControlAuthnPlugin):
        def __init__(self) -> None:
            self._token = token.encode()

        def validate_tokens_in_metadata(
            self, metadata: Sequence[tuple[str, str | bytes]]
        ) -> tuple[bool, Any]:
            given = dict(metadata).get(ACCESS_TOKEN_KEY, "")
            given = given if isinstance(given, bytes) else given.encode()
            if not hmac.compare_digest(given, self._token):
                return False, None
            return True, AccountInfo(flwr_aid=NOOP_FLWR_AID, account_name=NOOP_ACCOUNT_NAME)

        def get_login_details(self) -> None:
            return None

        def get_auth_tokens(self, device_code: str) -> None:
            raise refuse()

        def refresh_tokens(self, metadata: Sequence[tuple[str, str | bytes]]) -> tuple[None, None]:
            raise refuse()

    return OperatorDoor()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
