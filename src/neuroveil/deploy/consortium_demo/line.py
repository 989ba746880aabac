"""A line to the server that breaks: a proxy that lets some bytes through and then no more."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

_HEAD_MOST = 65536
_PIECE = 4096


class BreakingLine(threading.Thread):
    """A proxy for one HTTPS connection (CONNECT) on this machine.

    Parameters
    ----------
    n_bytes : int
        How many bytes it carries to the server before it carries nothing more.
    """

    def __init__(self, n_bytes: int) -> None:
        super().__init__(daemon=True)
        self._left = n_bytes
        self._door = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self.is_broken = threading.Event()

    @property
    def url(self) -> str:
        """What ``HTTPS_PROXY`` has to be."""
        return f"http://127.0.0.1:{self._door.getsockname()[1]}"

    def run(self) -> None:
        """Carry until it breaks or is closed."""
        with suppress(OSError):
            client, _ = self._door.accept()
            self._ends.append(client)
            head = b""
            while b"\r\n\r\n" not in head and len(head) < _HEAD_MOST:
                head += client.recv(_PIECE)
            port = int(head.split()[1].rpartition(b":")[2])
            server = socket.create_connection(("127.0.0.1", port))
            self._ends.append(server)
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            threading.Thread(target=self._back, args=(server, client), daemon=True).start()
            while self._left > 0:
                piece = client.recv(min(_PIECE, self._left))
                if not piece:
                    return
                server.sendall(piece)
                self._left -= len(piece)
            self.is_broken.set()

    def close(self) -> None:
        """Hang up on both sides."""
        for end in (self._door, *self._ends):
            with suppress(OSError):  # shut down first: closing alone wakes nobody who reads
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    @staticmethod
    def _back(server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := server.recv(_PIECE):
                client.sendall(piece)
