"""Flower's transport, with everything that passes counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flwr.app import Message
    from flwr.serverapp import Grid


class CountingGrid:
    """Pass everything on, and count bytes of content in both directions.

    Parameters
    ----------
    grid : flwr Grid
        Flower's transport.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self.sent = 0
        self.received = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> list[Message]:
        """Send messages and wait for replies.

        Parameters
        ----------
        messages : iterable of flwr Message
            What to send.
        timeout : float, optional
            How long to wait, in seconds.

        Returns
        -------
        list of flwr Message
            What came in time.
        """
        outgoing = list(messages)
        self.sent += sum(map(_bytes_of, outgoing))
        replies = list(self._grid.send_and_receive(outgoing, timeout=timeout))
        self.received += sum(map(_bytes_of, replies))
        return replies


def _bytes_of(message: Message) -> int:
    """Content alone; Flower's own count stumbles over lists of bytes."""
    if not message.has_content():
        return 0
    return sum(
        len(name) + _size(value)
        for record in message.content.values()
        for name, value in record.items()
    )


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value.data) if hasattr(value, "data") else 8
