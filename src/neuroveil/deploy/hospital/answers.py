"""What a server's answer means for the person who asked."""

from __future__ import annotations

from typing import Any

from neuroveil.deploy.hospital.connection import Answer
from neuroveil.errors import CertificateError, MachineError, StudyError, StudyMistake

_PRIVACY = {
    "broken_certificate", "incompatible", "examination_failed", "malformed_rows", "too_few",
    "not_releasable", "broken_audit_log",
}  # fmt: skip
_LATER = {"too_many_uploads", "slow_request", "no_room", "database_unavailable", "internal_error"}


def good(answer: Answer) -> dict[str, Any]:
    """Give a good answer's document; turn a refusal into an error with the server's words.

    Parameters
    ----------
    answer : Answer
        From the server.

    Returns
    -------
    dict
        Its document.

    Raises
    ------
    CertificateError
        If the server refuses on grounds of privacy.
    MachineError
        If another try may be answered better.
    StudyError
        If it refuses the request as such.
    """
    document = answer.document
    if answer.status < 400 and document:
        return document
    code = str(document.get("error", f"HTTP {answer.status}"))
    expected, found, remedy = (
        _printable(document.get(name, other))
        for name, other in (
            ("expected", "an answer"), ("found", code), ("remedy", "Tell the coordinator."),
        )
    )  # fmt: skip
    where = f"server ({_printable(code)[:40]})"
    if code in _PRIVACY:
        raise CertificateError(where, expected, found, remedy)
    if code in _LATER or answer.status >= 500:
        raise MachineError(where, expected, found, remedy)
    raise StudyError([StudyMistake(where, expected, found, remedy)])


def _printable(text: object) -> str:
    """Words of a server for a terminal: no control characters, no pages of them."""
    return "".join(each for each in str(text) if each.isprintable())[:500]
