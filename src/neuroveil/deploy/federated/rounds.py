"""Rounds as a training can have had them: what :mod:`verify` holds a record against."""

from __future__ import annotations

from collections.abc import Iterator

from neuroveil.deploy.federated.plan import TRUSTED_SERVER, FederationPlan
from neuroveil.deploy.federated.progress import RoundRecord

PATIENCE = 2
"""Rounds in a row that make nothing better, after which validation ends a training."""

Rounds = tuple[RoundRecord, ...]


def best_round(plan: FederationPlan, rounds: Rounds) -> int:
    """Find the round whose model is kept, where validation chooses.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    rounds : tuple of RoundRecord
        Rounds that counted.

    Returns
    -------
    int
        The last one with the smallest loss; 0 where the last round's model is kept.
    """
    known = [(each.loss, -each.round) for each in rounds if each.loss is not None]
    if plan.training.stopping != "validation" or not known:
        return 0
    return -min(known)[1]


def round_faults(plan: FederationPlan, rounds: Rounds, attempts: int) -> Iterator[str]:
    """Look for rounds that a plan's training cannot have had.

    Parameters
    ----------
    plan : FederationPlan
        What was agreed.
    rounds : tuple of RoundRecord
        Rounds that counted.
    attempts : int
        Exchanges that were begun.

    Yields
    ------
    str
        A fault in plain English.
    """
    if attempts > plan.training.attempts:
        yield f"{attempts} exchanges, where {plan.training.attempts} were paid for."
    numbers = [each.attempt for each in rounds]
    if [0, *numbers] != sorted({0, *numbers}) or numbers[-1:] != [attempts]:
        yield "Exchanges are not counted one after the other up to the last one."
    if [each.round for each in rounds] != list(range(1, len(rounds) + 1)):
        yield "Rounds are not counted one after the other."
    if not _is_finished(plan, rounds):
        yield "The number of rounds is not that at which the plan's training ends."
    if not all(_is_complete(plan, each) for each in rounds):
        yield "A round does not account for every hospital of the plan, or has too few."
    losses = [each.loss for each in rounds if each.loss is not None]
    if losses and not plan.figures_may_leave:
        yield "Losses on private rows are stated; they should have stayed at the hospitals."
    amounts = [[each.seconds, each.bytes_sent, each.bytes_received] for each in rounds]
    if min([0.0, *losses, *(each for row in amounts for each in row)]) < 0:
        yield "A loss, a time or a number of bytes is negative."
    if plan.setting == TRUSTED_SERVER and any(each for row in amounts for each in row):
        yield "A time or a number of bytes is stated, which a server's training never does."


def _is_finished(plan: FederationPlan, rounds: Rounds) -> bool:
    best = best_round(plan, rounds)
    is_settled = best > 0 and len(rounds) - best == PATIENCE
    return len(rounds) == plan.training.rounds or (
        is_settled and len(rounds) < plan.training.rounds
    )


def _is_complete(plan: FederationPlan, record: RoundRecord) -> bool:
    """Every hospital is either in the round or out of it, and enough are in."""
    names, inside = {seat.name for seat in plan.seats}, set(record.hospitals_in)
    outside = names & set(record.hospitals_out)
    return (
        len(inside) == len(record.hospitals_in) >= plan.minimum_hospitals
        and inside <= names
        and not inside & outside
        and inside | outside == names
    )
