"""All attacks on a table, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from neuroveil.audit.table import questions, singling_out
from neuroveil.audit.table.attributes import attack_attributes
from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import AuditFrame, Target
from neuroveil.audit.table.linkage import attack_linkage
from neuroveil.audit.table.membership import attack_membership
from neuroveil.audit.table.reconstruction import attack_reconstruction
from neuroveil.audit.table.singling_out import attack_singling_out
from neuroveil.types.audit import AttackResult

Attack = Callable[[AuditFrame, Target, Effort, Progress | None], AttackResult]


@dataclass(frozen=True)
class TableAttack:
    """An attack with what it needs.

    Parameters
    ----------
    name : str
        Key.
    run : callable
        Takes the frame, the target, the effort and a progress callable.
    obstacle : callable
        Takes the frame and the target; says in words why the attack cannot run on them, or
        gives ``""``.
    """

    name: str
    run: Attack
    obstacle: Callable[[AuditFrame, Target], str]


def _none(frame: AuditFrame, target: Target) -> str:
    return ""


def _needs_rows(frame: AuditFrame, target: Target) -> str:
    return "" if target.releases_rows else "sums of all patients are released, and nobody's row"


TABLE_ATTACKS: tuple[TableAttack, ...] = (
    TableAttack("membership", attack_membership, _none),
    TableAttack("linkage", attack_linkage, _needs_rows),
    TableAttack("reconstruction", attack_reconstruction, _needs_rows),
    TableAttack("attributes", attack_attributes, questions.obstacle),
    TableAttack("singling_out", attack_singling_out, singling_out.obstacle),
)
"""Every attack on a table."""
