"""Flower's messages without processes: the real apps, strategy and masks, in one process.

For planning and comparing, where a round takes milliseconds instead of half a minute. What is
passed on is a copy, so that nobody sees another's objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from neuroveil.deploy.federated.client import make_client_app
from neuroveil.deploy.federated.flower import require
from neuroveil.deploy.federated.progress import RunState
from neuroveil.deploy.federated.server import Told, run_rounds

if TYPE_CHECKING:
    from flwr.app import Context, Message

_app, _serverapp, _identity = require("flwr.app", "flwr.serverapp", "flwr.supercore.task_identity")
_RUN, _COORDINATOR, _FIRST_NODE = 1, 1, 1001

Fails = Callable[[int, "Message"], bool]


class InProcessGrid(_serverapp.Grid):  # type: ignore[misc, name-defined]
    """Hand messages to hospitals in this process.

    Parameters
    ----------
    folders : mapping of int to Path
        Folder of the hospital behind each node.
    fails : callable, optional
        Takes node and message; true where the hospital is to fail instead of answering.
    """

    def __init__(self, folders: Mapping[int, Path], fails: Fails | None = None) -> None:
        self._contexts = {node: context_of(node, {"folder": str(folder)})
                          for node, folder in folders.items()}  # fmt: skip
        self._client = make_client_app(lambda context: Path(str(context.node_config["folder"])))
        self._fails = fails
        # Every message says which run and task it comes from; Flower's processes set this.
        task = _identity.TaskIdentity
        task.task_id, task.run_id, task.node_id = 1, _RUN, _COORDINATOR
        self._waiting: dict[str, Message] = {}

    def set_run(self, run: Any) -> None:
        """Not needed in one process.

        Parameters
        ----------
        run : flwr Run
            Ignored.
        """

    @property
    def run(self) -> Any:
        """None: there is one run only."""
        return None

    def create_message(self, *args: Any, **kwargs: Any) -> Message:
        """Make a message.

        Parameters
        ----------
        *args, **kwargs
            As for ``flwr.app.Message``.

        Returns
        -------
        flwr.app.Message
            The message.
        """
        message: Message = _app.Message(*args, **kwargs)
        return message

    def get_node_ids(self) -> Iterable[int]:
        """List nodes.

        Returns
        -------
        iterable of int
            Their numbers.
        """
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Hand messages over and keep what is answered.

        Parameters
        ----------
        messages : iterable of flwr Message
            What to send.

        Returns
        -------
        iterable of str
            Numbers of the messages.
        """
        numbers = []
        for message in messages:
            number = str(uuid4())
            message.metadata.__dict__["_message_id"] = number
            self._waiting[number] = self._answer(message)
            numbers.append(number)
        return numbers

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Fetch answers.

        Parameters
        ----------
        message_ids : iterable of str
            From :meth:`push_messages`.

        Returns
        -------
        iterable of flwr Message
            Answers that were not fetched before.
        """
        return [self._waiting.pop(each) for each in list(message_ids) if each in self._waiting]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Hand messages over and give the answers.

        Parameters
        ----------
        messages : iterable of flwr Message
            What to send.
        timeout : float, optional
            Not needed: answers are there at once.

        Returns
        -------
        iterable of flwr Message
            One answer a message.
        """
        return self.pull_messages(self.push_messages(messages))

    def _answer(self, message: Message) -> Message:
        node = message.metadata.dst_node_id
        delivered = deepcopy(message)
        try:
            if self._fails is not None and self._fails(node, delivered):
                raise RuntimeError("made to fail")
            reply = deepcopy(self._client(delivered, self._contexts[node]))
        except Exception:  # as Flower's node does with whatever an app raises
            reply = _app.Message(_app.Error(2, "the app failed"), reply_to=message)
        reply.metadata.__dict__["_message_id"] = str(uuid4())
        return reply


def context_of(node: int, config: Mapping[str, Any]) -> Context:
    """Make a context as Flower gives it to an app.

    Parameters
    ----------
    node : int
        Number of the node; 0 for the coordinator.
    config : mapping
        Configuration of the node.

    Returns
    -------
    flwr.app.Context
        With an empty state.
    """
    context: Context = _app.Context(
        run_id=_RUN, node_id=node, node_config=dict(config), state=_app.RecordDict(), run_config={}
    )
    return context


def run_in_process(
    folder: Path,
    hospitals: Mapping[str, Path],
    fails: Fails | None = None,
    told: Told | None = None,
) -> RunState:
    """Run all rounds of a coordinator's folder in this process.

    Parameters
    ----------
    folder : Path
        The coordinator's.
    hospitals : mapping of str to Path
        Each hospital's folder.
    fails : callable, optional
        See :class:`InProcessGrid`.
    told : callable, optional
        Called with the state after every round.

    Returns
    -------
    RunState
        After the last round.

    Raises
    ------
    FederationError
        If too few hospitals answer.
    """
    nodes = dict(enumerate(hospitals.values(), start=_FIRST_NODE))
    return run_rounds(InProcessGrid(nodes, fails), context_of(0, {}), folder, told)
