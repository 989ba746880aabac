"""Send a roster or feature rows to a trusted server, and keep its receipt."""

from __future__ import annotations

from neuroveil.deploy.hospital.answers import good
from neuroveil.deploy.hospital.connection import Connection
from neuroveil.deploy.hospital.pseudonymise import RowsToSend
from neuroveil.deploy.hospital.submit import Progress, Submitted, look_around
from neuroveil.deploy.receipt import RECEIPT, holds
from neuroveil.errors import CertificateError

_TRIES = 5
_GO_ON = ("wrong_offset", "incomplete", "content_mismatch")


def send_rows(
    connection: Connection,
    study: str,
    rows: RowsToSend,
    server_key: str | None = None,
    progress: Progress = lambda done, total, what: None,
) -> Submitted:
    """Send one file; what arrived earlier is not sent again.

    Parameters
    ----------
    connection : Connection
        To the server, with the hospital's key.
    study : str
        Name of the study there.
    rows : RowsToSend
        What is sent, and nothing else.
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
        If the server cannot use the rows, or the receipt is not the server's.
    MachineError
        If connection or server fail; the next run goes on from there.
    StudyError
        If the server refuses the request as such.
    """
    warnings, place, n_bytes = look_around(connection), f"/v1/studies/{study}/uploads", 0
    size = len(rows.content)
    state = good(connection.ask("POST", place, rows.announcement))
    for _ in range(_TRIES):
        if state["state"] == "accepted":
            break
        here, chunk = int(state["received"]), int(state["chunk_bytes"])
        while here < size:
            body = rows.content[here : here + chunk]
            answer = connection.ask("PUT", f"{place}/{rows.kind}?offset={here}", body)
            n_bytes += len(body)
            if answer.document.get("error") in _GO_ON:
                break
            here = int(good(answer)["received"])
            progress(here, size, rows.kind)
        else:
            answer = connection.ask("POST", f"{place}/{rows.kind}/complete", slow=True)
            if answer.document.get("error") not in (*_GO_ON, "already_submitted"):
                good(answer)
        state = good(connection.ask("POST", place, rows.announcement))
    receipt = state.get("receipt")
    stated = receipt if isinstance(receipt, dict) else {}
    about = (stated.get("study"), stated.get("kind"), stated.get("digest"))
    if about != (study, rows.kind, rows.digest) or not holds(receipt, RECEIPT, server_key):
        raise CertificateError(
            "receipt", "one that the server signed, about these rows", "another, or none",
            "Compare the server's key with the coordinator, and run the same command again.",
        )  # fmt: skip
    return Submitted(stated, n_bytes, warnings)
