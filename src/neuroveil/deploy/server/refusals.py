"""Everything that the server refuses, each with a code that is counted and an HTTP status."""

from __future__ import annotations

from typing import Any

from neuroveil.errors import NeuroveilError

STATUS: dict[str, int] = {
    "no_signature": 401,
    "unknown_key": 401,
    "bad_signature": 401,
    "clock_skew": 401,
    "replayed_request": 401,
    "wrong_password": 401,
    "wrong_certificate": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "slow_request": 408,
    "wrong_offset": 409,
    "content_mismatch": 409,
    "already_submitted": 409,
    "wrong_state": 409,
    "incomplete": 409,
    "broken_audit_log": 409,
    "too_large": 413,
    "encoded_body": 415,
    "bad_request": 422,
    "broken_certificate": 422,
    "incompatible": 422,
    "malformed_rows": 422,
    "too_few": 422,
    "not_releasable": 422,
    "examination_failed": 422,
    "too_many_uploads": 429,
    "internal_error": 500,
    "database_unavailable": 503,
    "too_many_connections": 503,
    "busy": 503,
    "no_room": 507,
}
"""HTTP status by code. Codes are stable: they stand in metrics and in the audit log."""


class Refusal(NeuroveilError):
    """A request that is refused.

    Parameters
    ----------
    code : str
        One of :data:`STATUS`.
    expected, found, remedy : str
        As in :class:`~neuroveil.errors.NeuroveilError`; nothing of the request's content.
    extra : dict, optional
        More for the answer: an offset to go on from, names of broken links.
    """

    exit_code = 5  # on the command line: a database that does not answer

    def __init__(
        self,
        code: str,
        expected: str,
        found: str,
        remedy: str,
        extra: dict[str, Any] | None = None,
    ) -> None:
        super().__init__("request", expected, found, remedy)
        self.code = code
        self.extra = extra or {}

    @property
    def status(self) -> int:
        """HTTP status of the answer."""
        return STATUS[self.code]

    def as_dict(self) -> dict[str, object]:
        """Give the refusal as the answer's body.

        Returns
        -------
        dict
            Keys ``error`` (the code), ``expected``, ``found``, ``remedy``, and the extra ones.
        """
        words = {"expected": self.expected, "found": self.found, "remedy": self.remedy}
        return {"error": self.code, **words, **self.extra}


def own_mistake() -> Refusal:
    """Give the answer to a request that the server itself failed on.

    Returns
    -------
    Refusal
        Code ``internal_error``; it tells nothing of the error, which may repeat what was sent.
    """
    return Refusal(
        "internal_error", "an answer", "a mistake of the server",
        "Nothing was lost. Tell the coordinator.",
    )  # fmt: skip
