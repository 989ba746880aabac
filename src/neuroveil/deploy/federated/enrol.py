"""Which hospital is behind which node: claimed once, held against every later claim."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuroveil.deploy.federated.client import COUNTS, SAID
from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.noise import mask_terms
from neuroveil.deploy.federated.plan import FederationPlan
from neuroveil.deploy.federated.strategy import check_count, check_words
from neuroveil.errors import FederationError

if TYPE_CHECKING:
    from flwr.app import Message
    from flwr.serverapp import Grid

NODES_FILE = "nodes.json"
_PAUSE = 1.0

Say = Callable[[str], None]


def known_nodes(folder: Path) -> dict[int, str] | None:
    """Read which node belongs to whom, as the operator registered their keys.

    Parameters
    ----------
    folder : Path
        The coordinator's folder; ``nodes.json`` holds names by node number.

    Returns
    -------
    dict of int to str or None
        None where nothing was registered: then the first claim of a name holds for the run.

    Raises
    ------
    FederationError
        If the file cannot be read.
    """
    file = folder / NODES_FILE
    if not file.exists():
        return None
    try:
        return {int(node): str(name) for node, name in json.loads(file.read_bytes()).items()}
    except (OSError, ValueError, AttributeError):
        raise FederationError(
            "coordinator folder", f"names by node number in {NODES_FILE}", "something else",
            "Register the hospitals again.",
        ) from None  # fmt: skip


class Enrolment:
    """Who takes part, by node.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    registered : mapping of int to str, optional
        From :func:`known_nodes`.
    say : callable
        Takes a line for the log.
    """

    def __init__(
        self, plan: FederationPlan, registered: Mapping[int, str] | None, say: Say
    ) -> None:
        self._plan = plan
        self._registered = None if registered is None else dict(registered)
        self._say = say
        self._claims: dict[int, str] = {}
        self._refused: set[int] = set()

    def present(self, grid: Grid) -> dict[int, str]:
        """Ask new nodes who they are, and list the hospitals that are there now.

        Parameters
        ----------
        grid : flwr Grid
            Flower's transport.

        Returns
        -------
        dict of int to str
            Name by node.
        """
        there = set(grid.get_node_ids())
        new = there - set(self._claims) - self._refused
        if new:
            self._ask(grid, new)
        return {node: name for node, name in self._claims.items() if node in there}

    def wait(self, grid: Grid) -> dict[int, str]:
        """Wait until all hospitals are there, or the time for it is over.

        Parameters
        ----------
        grid : flwr Grid
            Flower's transport.

        Returns
        -------
        dict of int to str
            Name by node; at least as many as a round needs.

        Raises
        ------
        FederationError
            If the time is over and they are too few.
        """
        end = time.monotonic() + self._plan.enrol_seconds
        present = self.present(grid)
        while len(present) < len(self._plan.seats) and time.monotonic() < end:
            time.sleep(_PAUSE)
            present = self.present(grid)
        least = needed(self._plan)
        if len(present) < least:
            raise FederationError(
                "enrolment", f"at least {least} of {len(self._plan.seats)} hospitals within "
                f"{self._plan.enrol_seconds:g} s", f"{len(present)}",
                "Start the missing hospitals and run again; nothing was asked of anybody.",
            )  # fmt: skip
        return present

    def _ask(self, grid: Grid, nodes: set[int]) -> None:
        (app,) = require("flwr.app")
        said = {"plan_digest": self._plan.digest, "attempt": 0}
        messages = [
            app.Message(
                app.RecordDict({SAID: app.ConfigRecord(dict(said))}),
                dst_node_id=node, message_type="query.enrol", group_id="0",
            )
            for node in sorted(nodes)
        ]  # fmt: skip
        for reply in grid.send_and_receive(messages, timeout=self._plan.round_seconds):
            self._take(reply, nodes)

    def _take(self, reply: Message, nodes: set[int]) -> None:
        node = reply.metadata.src_node_id
        try:
            if node not in nodes or reply.has_error():
                raise FederationError("enrolment", "an answer", "none", "")
            said: Mapping[str, Any] = reply.content.config_records.get(SAID) or {}
            name = self._allowed(node, said.get("hospital"))
            check_words(self._plan, name, 0, said)
            counts: Mapping[str, Any] = reply.content.metric_records.get(COUNTS) or {}
            check_count(self._plan, name, counts.get("patients"))
        except FederationError as error:
            self._refused.add(node)
            self._say(f"A node was not enrolled: {error.found} instead of {error.expected}.")
            return
        self._claims[node] = name
        self._say(f"Enrolled: {name}.")

    def _allowed(self, node: int, claim: object) -> str:
        name = self._plan.seat(str(claim)).name
        if self._registered is not None and self._registered.get(node) != name:
            raise FederationError(
                "enrolment", "the name that this node's key was registered with", "another", ""
            )
        if name in self._claims.values():
            raise FederationError("enrolment", "a name that is free", "one that is taken", "")
        return name


def needed(plan: FederationPlan) -> int:
    """Give the number of hospitals that a round needs.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.

    Returns
    -------
    int
        The minimum, or what masks need where that is more.
    """
    if plan.privacy.is_masked:
        return max(plan.minimum_hospitals, mask_terms(plan).threshold)
    return plan.minimum_hospitals
