"""Pages of the audit of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.report.audit import AuditHeading, audit_pages
from neuroveil.report.text import norm, number
from neuroveil.types.audit import AttackResult


@dataclass(frozen=True)
class ClaimWords:
    """What a mechanism claims, for the head of its pages.

    Parameters
    ----------
    name : str
        Name of what was audited.
    epsilon, delta : float
        Claim for one patient under replace-one.
    dimension : int
        Columns of a row.
    clip_norm : float
        Largest norm of a row (no unit).
    norm : str
        ``"l2"`` or ``"l1"``.
    """

    name: str
    epsilon: float
    delta: float
    dimension: int
    clip_norm: float
    norm: str


def mechanism_pages(claim: ClaimWords, results: tuple[AttackResult, ...]) -> dict[str, str]:
    """Draw the pages of the audit of a mechanism. Internal.

    Parameters
    ----------
    claim : ClaimWords
        What was claimed.
    results : tuple of AttackResult
        At least one.

    Returns
    -------
    dict of str to str
        HTML by file name, as of :func:`~neuroveil.report.audit.audit_pages`.

    Raises
    ------
    ChainError
        If there is no result.
    """
    heading = AuditHeading(
        title="Audit of a mechanism",
        subtitle=f"{claim.name}: is the claim of privacy kept by what really runs?",
        facts=(
            ("claimed ε, for one patient", number(claim.epsilon)),
            ("claimed δ", number(claim.delta)),
            ("columns", number(claim.dimension)),
            (f"largest {norm(claim.norm)} norm of a row", number(claim.clip_norm)),
            ("attacks", number(len(results))),
        ),
    )
    return audit_pages(heading, results)
