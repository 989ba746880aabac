"""Send a release: announce it, send what is missing in chunks, have it verified, keep a receipt."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuroveil.deploy.hospital.answers import good
from neuroveil.deploy.hospital.connection import Address, Connection
from neuroveil.deploy.hospital.preview import Preview, announcement
from neuroveil.deploy.manifest import ManifestFile
from neuroveil.deploy.receipt import RECEIPT, holds
from neuroveil.deploy.tls import WARN_BELOW_DAYS
from neuroveil.deploy.wire import CLOCK_WINDOW_SECONDS
from neuroveil.errors import CertificateError
from neuroveil.keys import SiteKey

Progress = Callable[[int, int, str], None]

_TRIES = 5


@dataclass(frozen=True)
class Submitted:
    """What came of a submission.

    Parameters
    ----------
    receipt : dict
        Signed by the server.
    n_bytes : int
        Bytes of files that were sent by this run; 0 where all was there already.
    warnings : tuple of str
        What somebody should look after soon.
    """

    receipt: dict[str, Any]
    n_bytes: int
    warnings: tuple[str, ...]


def submit(
    folder: Path,
    shown: Preview,
    connection: Connection,
    server_key: str | None = None,
    progress: Progress = lambda done, total, what: None,
) -> Submitted:
    """Send a release folder; what arrived earlier is not sent again.

    Parameters
    ----------
    folder : Path
        A release folder.
    shown : Preview
        What is to be sent of it, and nothing else.
    connection : Connection
        To the server.
    server_key : str, optional
        The key that has to have signed the receipt, 64 hexadecimal digits.
    progress : callable
        Called with (bytes done, bytes in all, what).

    Returns
    -------
    Submitted
        With the receipt.

    Raises
    ------
    CertificateError
        If the server finds that the release does not hold or does not fit, or the receipt is
        not the server's.
    MachineError
        If connection or server fail; the next run goes on from there.
    StudyError
        If the server refuses the request as such.
    """
    manifest, warnings = shown.manifest, look_around(connection)
    path = f"/v1/submissions/{manifest.content_id}"
    state = good(connection.ask("POST", "/v1/submissions", announcement(manifest)))
    upload = _Upload(connection, path)
    for _ in range(_TRIES):
        if state["state"] != "receiving":
            break
        for file in manifest.files:
            upload.send(folder / file.name, file, state, progress)
        answer = connection.ask("POST", f"{path}/complete", slow=True)
        is_open = answer.document.get("error") in ("incomplete", "content_mismatch")
        state = good(connection.ask("GET", path) if is_open else answer)
    receipt = state.get("receipt")
    is_about_this = isinstance(receipt, dict) and receipt.get("content_id") == manifest.content_id
    if not is_about_this or not holds(receipt, RECEIPT, server_key):
        raise CertificateError(
            "receipt", "one that the server signed, about this release", "another, or none",
            "Compare the server's key with the coordinator, and run the same command again.",
        )  # fmt: skip
    assert isinstance(receipt, dict)
    return Submitted(receipt, upload.n_bytes, warnings)


def connect(url: str, ca_file: Path | None, key: SiteKey) -> Connection:
    """Get ready to talk to a server; nothing is sent yet.

    Parameters
    ----------
    url : str
        ``https://HOST:PORT``.
    ca_file : Path, optional
        Certificates of the server's authority.
    key : SiteKey
        The hospital's key.

    Returns
    -------
    Connection
        Not yet open.
    """
    return Connection(Address(url, ca_file), key)


class _Upload:
    """Sends the files of one submission and counts their bytes."""

    def __init__(self, connection: Connection, path: str) -> None:
        self._connection, self._path = connection, path
        self._surprises = 0
        self.n_bytes = 0

    def send(
        self, source: Path, file: ManifestFile, state: dict[str, Any], progress: Progress
    ) -> None:
        """Send what the server does not have of one file."""
        here, chunk_bytes = int(state["received"][file.name]), int(state["chunk_bytes"])
        if file.size == 0:
            self._send_chunk(file, 0, b"")
        with source.open("rb") as stream:
            while here < file.size:
                stream.seek(here)
                here = self._send_chunk(file, here, stream.read(min(chunk_bytes, file.size - here)))
                progress(here, file.size, file.name)

    def _send_chunk(self, file: ManifestFile, offset: int, chunk: bytes) -> int:
        target = f"{self._path}/files/{file.name}?offset={offset}"
        answer = self._connection.ask("PUT", target, chunk)
        self.n_bytes += len(chunk)
        if answer.document.get("error") == "wrong_offset" and self._surprises < _TRIES:
            self._surprises += 1  # an answer to us was lost, or another process sends, too
            return int(answer.document["received"])
        return int(good(answer)["received"])


def look_around(connection: Connection) -> tuple[str, ...]:
    """Warn of clocks and certificates before they stop anything.

    Parameters
    ----------
    connection : Connection
        To the server.

    Returns
    -------
    tuple of str
        What somebody should look after soon.
    """
    start = time.time()
    answer = good(connection.ask("GET", "/healthz"))
    middle, warnings = (start + time.time()) / 2, []
    try:
        # The server tells its time to the second, rounded down.
        skew = middle - datetime.datetime.fromisoformat(str(answer.get("time"))).timestamp() - 0.5
    except ValueError:
        skew = 0.0
    if abs(skew) > CLOCK_WINDOW_SECONDS / 3:
        warnings.append(
            f"This machine's clock and the server's are {abs(skew):.0f} s apart; beyond "
            f"{CLOCK_WINDOW_SECONDS:.0f} s requests are refused. Set the clock (NTP)."
        )
    days = connection.server_days_left()
    if days < WARN_BELOW_DAYS:
        warnings.append(f"The server's certificate ends in {days:.0f} days. Tell the coordinator.")
    return tuple(warnings)
