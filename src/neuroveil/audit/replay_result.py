"""What a replay has shown: verdict, figures and a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuroveil.audit.mechanism.laws import AdditiveLaw
from neuroveil.audit.subject import SubjectFacts
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict

ATTACK = "replay"
_ROUNDING = 1e-9  # of the sensitivity: what adding and taking away floats costs


@dataclass(frozen=True)
class Movement:
    """What moved between two neighbouring tables with the same draws.

    Parameters
    ----------
    kind : str
        Kind of neighbours.
    total : float
        Distance of the two releases, in the norm that is clipped (no unit), less what rounding to
        public decimals can have added.
    others : float or None
        Distance of all rows but the protected one, at any stage; none where there are no rows.
    protected : float or None
        Distance of the protected row; none where there are no rows.
    n_others : int
        Other rows that moved.
    same_again : bool
        Whether the first table gave the same release again after the second one.
    same_at_once : bool
        Whether it did so with no other table in between.
    """

    kind: str
    total: float
    others: float | None
    protected: float | None
    n_others: int
    same_again: bool
    same_at_once: bool


@dataclass(frozen=True)
class Replayed:
    """All pairs of a replay.

    Parameters
    ----------
    movements : tuple of Movement
        At least one.
    claimed : float
        Claimed sensitivity, in the norm that is clipped (no unit).
    n_rows : int
        Rows of a table.
    is_additive : bool
        Whether the mechanism adds noise, so that distances of releases are those of rows.
    """

    movements: tuple[Movement, ...]
    claimed: float
    n_rows: int
    is_additive: bool

    @property
    def farthest(self) -> Movement:
        """The pair whose releases lie farthest apart."""
        return max(self.movements, key=lambda movement: movement.total)

    @property
    def others(self) -> Movement | None:
        """The pair with the largest movement of other rows; none where there are no rows."""
        known = [movement for movement in self.movements if movement.others is not None]
        return max(known, key=lambda movement: movement.others or 0.0, default=None)


def replay_result(facts: SubjectFacts, replayed: Replayed) -> AttackResult:
    """Judge a replay.

    Parameters
    ----------
    facts : SubjectFacts
        What is claimed.
    replayed : Replayed
        What moved.

    Returns
    -------
    AttackResult
        With the distances by kind of neighbours.
    """
    verdict, sentence = _judge(facts, replayed)
    return AttackResult(
        attack=ATTACK,
        title="Replay with the same draws",
        question="With the same random draws, what moves when one patient is exchanged?",
        target=facts.name,
        verdict=verdict,
        sentence=sentence,
        figures=_figures(facts, replayed),
        curves=(_curve(replayed),),
        limits=_limits(replayed),
        settings={
            "n_rows": replayed.n_rows, "n_pairs": len(replayed.movements),
            "norm": facts.norm, "noise_is_added": replayed.is_additive,
            "moved_by_kind": _by_kind(replayed),
        },
    )  # fmt: skip


def _judge(facts: SubjectFacts, replayed: Replayed) -> tuple[Verdict, str]:
    movements, farthest, others = replayed.movements, replayed.farthest, replayed.others
    if not all(movement.same_at_once for movement in movements):
        return "not_testable", (
            "The same draws do not give the same release, so nothing can be said about what moves: "
            "there is randomness that the seed does not cover."
        )
    if not all(movement.same_again for movement in movements):
        return "violated", (
            "A release depends on the table before it: with the same draws, the same table gives "
            "another release after a neighbouring one was released."
        )
    moved = 0.0 if others is None else others.others or 0.0
    too_far = farthest.total > replayed.claimed * (1 + _ROUNDING)
    if replayed.is_additive and too_far:
        return "violated", _too_far(facts, replayed, moved)
    if moved > replayed.claimed * _ROUNDING:
        assert others is not None
        text = (
            f"Exchanging one patient moves {others.n_others} other rows, by {moved:.4g} in all "
            f"({others.kind}): the rows are not treated each on its own"
        )
        if not replayed.is_additive:
            return "violated", f"{text}, and the claim for one row does not cover that."
        return "weak", f"{text}, although the table stays within the claimed sensitivity."
    if not replayed.is_additive and others is None:
        return "not_testable", (
            "Noise is not added and the release is not made of rows: distances say nothing here."
        )
    if not replayed.is_additive:
        return "no_attack_succeeded", "Nothing moves but the row of the patient who is exchanged."
    return "no_attack_succeeded", (
        f"Nothing moves but the row of the patient who is exchanged, and that by at most "
        f"{farthest.total:.4g}, where {replayed.claimed:.4g} is claimed."
        if others is not None
        else f"The release moves by at most {farthest.total:.4g}, where {replayed.claimed:.4g} is "
        "claimed."
    )


def _too_far(facts: SubjectFacts, replayed: Replayed, moved: float) -> str:
    farthest = replayed.farthest
    text = (
        f"Exchanging one patient moves the table by {farthest.total:.4g}, where a sensitivity of "
        f"{replayed.claimed:.4g} is claimed ({farthest.kind})"
    )
    if moved > replayed.claimed * _ROUNDING:
        text += f"; {farthest.n_others} rows of other patients move with it"
    epsilon = _epsilon_at(facts, replayed)
    if epsilon is None or epsilon <= facts.epsilon:
        return f"{text}."
    return f"{text}. The noise then supports epsilon {epsilon:.3g}, and not {facts.epsilon:g}."


def _epsilon_at(facts: SubjectFacts, replayed: Replayed) -> float | None:
    """Epsilon that the promised noise supports at the measured movement, where that is known."""
    from neuroveil.privacy.calibration import gaussian_epsilon

    law, distance = facts.law, replayed.farthest.total
    if not isinstance(law, AdditiveLaw) or not replayed.is_additive or distance == 0:
        return None
    if law.family == "gaussian" and facts.norm == "l2":
        return gaussian_epsilon(distance, law.scale, facts.delta) if facts.delta else math.inf
    if law.family == "laplace" and facts.norm == "l1":
        return distance / law.scale
    return None


def _figures(facts: SubjectFacts, replayed: Replayed) -> tuple[AuditFigure, ...]:
    """Distances are exact, up to rounding; they bound what any table could do from below."""
    n, tiny = len(replayed.movements), replayed.claimed * _ROUNDING
    farthest, others = replayed.farthest.total, replayed.others

    def figure(name: str, label: str, value: float, theory: float | None) -> AuditFigure:
        return AuditFigure(
            name, label, value, value, math.inf, 1.0, n, control=0.0, control_low=0.0,
            control_high=0.0, smallest_detectable=tiny, theory=theory,
        )  # fmt: skip

    figures = [figure(
        "moved", "Largest distance of two releases with the same draws", farthest,
        replayed.claimed if replayed.is_additive else None,
    )]  # fmt: skip
    if others is not None and others.others is not None:
        label = "Largest distance of the rows of all other patients"
        figures.append(figure("moved_others", label, others.others, 0.0))
    epsilon = _epsilon_at(facts, replayed)
    if epsilon is not None:
        label = "Epsilon that the promised noise supports at that distance"
        figures.append(AuditFigure(
            "epsilon_supported", label, epsilon, epsilon, math.inf, 1.0, n, theory=facts.epsilon,
        ))  # fmt: skip
    return tuple(figures)


def _curve(replayed: Replayed) -> AuditCurve:
    totals = sorted(movement.total for movement in replayed.movements)
    return AuditCurve(
        "moved", "Distance of the two releases, pair by pair; the control is a table and itself",
        "pair of tables, by distance", f"distance (claimed: {replayed.claimed:.4g})",
        tuple(float(place) for place in range(1, len(totals) + 1)), tuple(totals),
        control=(0.0,) * len(totals),
    )  # fmt: skip


def _limits(replayed: Replayed) -> tuple[str, ...]:
    limits = [
        "Only tables of the kinds that are listed were tried, with "
        f"{replayed.n_rows} rows: another table could move more.",
        "A replay says what the data do to a release. It says nothing about the noise itself.",
        "State that is set once by the first table of a process, and never again, would pass.",
    ]
    if not replayed.is_additive:
        limits.append(
            "Noise is not added here, so the distance of two releases is not compared with a "
            "sensitivity; only the rows of other patients are."
        )
    return tuple(limits)


def _by_kind(replayed: Replayed) -> dict[str, dict[str, float | None]]:
    """Largest movements of every kind of neighbours."""
    kinds: dict[str, dict[str, float | None]] = {}
    for movement in replayed.movements:
        known = kinds.setdefault(movement.kind, {"table": 0.0, "other_rows": movement.others})
        known["table"] = max(known["table"] or 0.0, movement.total)
        if movement.others is not None:
            known["other_rows"] = max(known["other_rows"] or 0.0, movement.others)
    return kinds
