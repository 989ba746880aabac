"""Start a coordinator or a hospital's node, and keep it running."""

from __future__ import annotations

import socket
from pathlib import Path

from neuroveil.deploy.federated.flower import require_installed
from neuroveil.deploy.federated.hospital import open_hospital
from neuroveil.deploy.federated.operate.control import operator
from neuroveil.deploy.federated.operate.coordinator import CoordinatorFolder
from neuroveil.deploy.federated.operate.engine import require_flower, silent_environment
from neuroveil.deploy.federated.operate.files import read_file, read_secret
from neuroveil.deploy.federated.operate.hospital import HospitalFolder
from neuroveil.deploy.federated.operate.policy import load_policy, plan_objections
from neuroveil.deploy.federated.operate.run_folder import RUNS_VARIABLE
from neuroveil.deploy.federated.operate.supervise import Say, Service, supervise
from neuroveil.deploy.tls import WARN_BELOW_DAYS, days_left
from neuroveil.errors import ChainError, FederationError, StudyError, StudyMistake

_NODE_RESTARTS = 10
_PACKAGE = "neuroveil.deploy.federated.operate"


def start_coordinator(folder: Path, say: Say) -> None:
    """Run a coordinator until this process is told to stop.

    Parameters
    ----------
    folder : Path
        The coordinator's folder.
    say : callable
        Takes a line for the operator.

    Raises
    ------
    StudyError
        If its settings or files cannot be used, or its port is taken.
    FederationError
        If a package of the extras is missing, or the service does not stay up.
    """
    require_installed()
    require_flower()
    place = CoordinatorFolder(folder.resolve())
    listen = place.settings()
    place.token(), place.hospitals(), read_secret(place.executor_secret, "a secret")
    read_secret(place.tls.key, "the server's private key")
    _require_free(listen.host, listen.port)
    days = days_left(read_file(place.tls.certificate, "the server's certificate"))
    if days < WARN_BELOW_DAYS:
        say(f"The server's certificate ends in {days:.0f} days.")
    environment = {**silent_environment(place.flower_home), RUNS_VARIABLE: str(place.runs)}
    service = Service("SuperLink", f"{_PACKAGE}.superlink", place.root, environment, place.log)
    say(f"The coordinator listens on {listen.host}, port {listen.port}.")
    supervise(service, say, _Register(place, say).take_up)


class _Register:
    """Hand the list of hospitals to the SuperLink when it changed, or the SuperLink is new."""

    def __init__(self, place: CoordinatorFolder, say: Say) -> None:
        self._place, self._say = place, say
        self._known: tuple[str, dict[str, str]] | None = None

    def take_up(self) -> None:
        wanted = self._place.hospitals()
        state = (self._place.generation(), wanted)
        if state == self._known:
            return
        try:
            with operator(self._place.root) as calls:
                calls.take_up(wanted)
        except FederationError:
            return  # not up yet: asked again in a second
        self._known = state
        self._say(f"{len(wanted)} hospitals may take part.")


def _require_free(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise StudyError([StudyMistake(
            "port", "an address and port that are free", error.strerror or "none",
            "Stop the program that uses it, or choose another port in coordinator.toml.",
        )]) from None  # fmt: skip


def start_hospital(folder: Path, say: Say) -> None:
    """Run a hospital's node until this process is told to stop.

    Parameters
    ----------
    folder : Path
        The hospital's folder.
    say : callable
        Takes a line for the operator.

    Raises
    ------
    StudyError
        If its settings or files cannot be used.
    ChainError
        If the hospital's own plan does not meet its own policy.
    FederationError
        If a package of the extras is missing, the rows cannot be opened, or the node does not
        stay up: the coordinator may not know its key.
    """
    require_installed()
    require_flower()
    place = HospitalFolder(folder.resolve())
    settings = place.settings()
    read_secret(place.private_key, "the node's private key")
    read_secret(place.executor_secret, "a secret")
    read_file(place.authority, "the certificate of the coordinator's authority")
    hospital = open_hospital(Path(settings.seat))
    reasons = plan_objections(load_policy(place.root), hospital.plan, hospital.n_patients)
    if reasons:
        raise ChainError(
            "policy.toml", "a plan that the policy allows", "; ".join(reasons),
            "Agree on another plan, or change the policy if the hospital wants that.",
        )  # fmt: skip
    environment = silent_environment(place.flower_home)
    service = Service("SuperNode", f"{_PACKAGE}.supernode", place.root, environment, place.log)
    say(f"The node works for the coordinator at {settings.coordinator}.")
    # A node that was killed is let in again only when its last heartbeat has lapsed.
    supervise(service, say, lambda: None, restarts=_NODE_RESTARTS)
