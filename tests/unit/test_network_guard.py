"""The closed door to the network that tests/conftest.py puts around every test."""

from __future__ import annotations

import socket

import pytest


def test_a_connection_that_leaves_the_machine_is_refused() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as outgoing,
        pytest.raises(PermissionError, match="must not reach the network"),
    ):
        outgoing.connect(("192.0.2.1", 80))  # TEST-NET-1 of RFC 5737: routes nowhere


def test_a_name_that_would_need_a_look_up_is_refused() -> None:
    with pytest.raises(PermissionError, match="must not reach the network"):
        socket.create_connection(("eeg.example", 80), timeout=1)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_stays_open(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection((host, port), timeout=5) as client:
            assert client.getpeername()[1] == port
