"""What last bits have shown: verdict, figures and a curve."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from neuroveil.audit.bits_events import ZERO, Event, Found
from neuroveil.audit.mechanism.estimators import clopper_pearson, epsilon_cap, verdict_level
from neuroveil.audit.subject import SubjectFacts
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict

ATTACK = "last_bits"


def bits_result(facts: SubjectFacts, found: Found) -> AttackResult:
    """Judge what was found about last bits.

    Parameters
    ----------
    facts : SubjectFacts
        What is claimed.
    found : Found
        The most telling event with its control.

    Returns
    -------
    AttackResult
        With the certified lower bound of epsilon.
    """
    event, n_counted = found.event, found.n_trials - found.n_trials // 2
    bound, null = (found.bound(each, facts.delta, found.level) for each in (event, found.null))
    cap = epsilon_cap(n_counted, facts.delta, found.level)
    hits, others, n = event.counts()
    sure = verdict_level(found.level)
    sure_cap = epsilon_cap(n_counted, facts.delta, sure)
    verdict = _verdict(facts, found.bound(event, facts.delta, sure), sure_cap)
    rows = ("zeros", "the other row") if event.of_first else ("the other row", "zeros")
    figures = (
        AuditFigure(
            "epsilon_lower_bound", "Lower bound of epsilon from last bits", bound, bound, math.inf,
            found.level, n_counted, control=null, control_low=null, control_high=math.inf,
        ),
        AuditFigure("epsilon_cap", "Largest bound that these trials could certify", cap, cap, cap,
                    found.level, n_counted),
        *(
            _share(name, f"Share of releases of {row} in which {event.words()}", count, n, found)
            for name, row, count in zip(("share", "share_other"), rows, (hits, others), strict=True)
        ),
    )  # fmt: skip
    return AttackResult(
        attack=ATTACK,
        title="Last bits",
        question="Do the last bits of released numbers tell which row was released?",
        target=facts.name,
        verdict=verdict,
        sentence=_sentence(facts, event, verdict, (bound, sure_cap)),
        figures=figures,
        curves=(_curve(found),),
        limits=_limits(facts, cap),
        settings={
            "n_trials": found.n_trials, "level": found.level, "pair": event.played.pair.name,
            "event": event.words(), "delta": facts.delta,
        },
    )  # fmt: skip


def _verdict(facts: SubjectFacts, bound: float, cap: float) -> Verdict:
    if bound > facts.epsilon:
        return "violated"
    return "not_testable" if cap <= facts.epsilon else "no_attack_succeeded"


def _sentence(
    facts: SubjectFacts, event: Event, verdict: Verdict, numbers: tuple[float, float]
) -> str:
    bound, cap = numbers
    if verdict == "violated":
        return (
            f"The last bits give the row away: {event.words()} is so much more frequent for one "
            f"row that epsilon is at least {bound:.2f}, where {facts.epsilon:g} is claimed."
        )
    if verdict == "not_testable":
        return (
            f"So many trials can call a claim violated up to epsilon {cap:.2f}, which is no more "
            f"than the claimed {facts.epsilon:g}: a leak through last bits would not be seen."
        )
    if bound > facts.epsilon:
        return (
            f"Last bits differ between two rows by what epsilon {bound:.2f} allows. That is more "
            f"than the claimed {facts.epsilon:g}, and chance explains it once in a thousand runs "
            "or more often: run it again with more trials."
        )
    if bound > 0:
        return (
            f"Last bits differ between two rows by what epsilon {bound:.2f} allows, within the "
            f"claimed {facts.epsilon:g}."
        )
    return "The last bits look alike whichever row is released."


def _limits(facts: SubjectFacts, cap: float) -> tuple[str, ...]:
    return (
        f"A bound above {cap:.2f} could not have been certified with so many trials.",
        "Only the lowest bit that is set was looked at, in one value or over all columns: a trace "
        "that lies in other bits, or in several values together, would not be seen here.",
        f"The event is chosen for delta = {facts.delta:g}; rarer events are part of the claim.",
    )


def _share(name: str, label: str, hits: int, n: int, found: Found) -> AuditFigure:
    low, high = clopper_pearson(np.array([float(hits)]), n, found.level)
    return AuditFigure(name, label, hits / n, float(low[0]), float(high[0]), found.level, n)


def _curve(found: Found) -> AuditCurve:
    """Difference of shares between both rows, bit by bit, with the control beside it."""
    event = found.event
    halves = [
        each.half(event.feature, held_out=True)
        for each in (event.played.first, event.played.second, found.null.played.first,
                     found.null.played.second)
    ]  # fmt: skip
    pooled = np.concatenate(halves[:2])
    pooled = pooled[pooled != ZERO]
    if not pooled.size:
        pooled = np.zeros(1, dtype=np.int16)
    middle = event.exponent if event.exponent != ZERO else int(np.median(pooled))
    bits = np.arange(max(int(pooled.min()), middle - 20), min(int(pooled.max()), middle + 20) + 1)
    shares = [np.searchsorted(np.sort(half), bits, "right") / len(half) for half in halves]
    difference = shares[0] - shares[1]
    spread = [np.sqrt(share * (1 - share) / len(half))
              for share, half in zip(shares[:2], halves[:2], strict=True)]  # fmt: skip
    band = 1.96 * np.hypot(*spread)
    return AuditCurve(
        "last_bits", "Difference between the two rows, bit by bit",
        "exponent k", "difference of the shares with a bit of 2^k or finer",
        _floats(bits), _floats(difference), _floats(difference - band),
        _floats(difference + band), _floats(shares[2] - shares[3]),
    )  # fmt: skip


def _floats(values: npt.NDArray[np.generic]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
