"""Membership: whether a patient's row is behind the release, or somebody else's.

The game of the guarantee itself. Either the patient is in the table, or another row has taken
the place; all is known but which of the two. The score is the exact likelihood ratio given the
public mechanism, so no attack on the same released row tells the two apart better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL, epsilon_cap, smallest_detectable_epsilon
from neuroveil.audit.mechanism.events import Certified, certify, choose_event
from neuroveil.audit.table.frame import (
    FEWEST_DRAWS,
    FEWEST_PATIENTS,
    AuditFrame,
    Claim,
    Effort,
    Progress,
    Target,
)
from neuroveil.audit.table.games import Kind, make_game
from neuroveil.audit.table.rates import (
    POWER_FACTOR,
    Game,
    RateCurve,
    false_alarm_axis,
    interval,
)
from neuroveil.types.audit import AttackResult, AuditCurve, AuditFigure, Verdict
from neuroveil.types.recording import FloatArray

VIOLATION_LEVEL = 0.9999
"""Confidence at which a claim is called violated; bounds are printed at 95 %.

A tight mechanism would exceed its own claim once in forty audits at 95 %.
"""

MARGIN = 0.05
"""An area under the curve within this of one half is not called a success."""

_LARGE_EFFECT = 0.25
_SIDES = 3  # patient, substitute, and a second substitute for the control
_FALSE_ALARMS = ((1e-2, "1e-2"), (1e-3, "1e-3"))


@dataclass(frozen=True, eq=False)
class Played:
    """A game with its null control.

    Parameters
    ----------
    game : Game
        Patient against substitute.
    control : Game
        Substitute against substitute: nobody's membership can be told.
    """

    game: Game
    control: Game


def attack_membership(
    frame: AuditFrame, target: Target, effort: Effort, progress: Progress | None = None
) -> AttackResult:
    """Attack a target by membership, replace-one.

    Parameters
    ----------
    frame : AuditFrame
        The table.
    target : Target
        What is attacked.
    effort : Effort
        How long it may take.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    AttackResult
        Internal.
    """
    kinds = _kinds(target, effort)
    played: dict[Kind, Played] = {}
    for done, kind in enumerate(kinds):
        played[kind] = play(frame, target, kind, effort)
        if progress is not None:
            progress(done + 1, len(kinds) + 1)
    result = _judge(frame, target, played, effort)
    if progress is not None:
        progress(len(kinds) + 1, len(kinds) + 1)
    return result


def play(frame: AuditFrame, target: Target, kind: Kind, effort: Effort) -> Played:
    """Play one kind of game with fresh draws.

    Parameters
    ----------
    frame : AuditFrame
        The table.
    target : Target
        What is attacked.
    kind : Kind
        Who takes the patient's place, and whether it is known which row is whose.
    effort : Effort
        How long it may take.

    Returns
    -------
    Played
        Scores of both sides and of the control.
    """
    n = frame.n_patients
    game = make_game(target, kind)
    source, choices = effort.source("membership"), effort.generator("membership")
    n_trials = effort.draws(effort.n_trials, _SIDES * game.cells_a_trial)
    patients = choices.integers(0, n, size=(_SIDES, n_trials))
    inside = game.scores(patients[0], True, source, choices)
    outside = game.scores(patients[1], False, source, choices)
    again = game.scores(patients[2], False, source, choices)
    return Played(
        Game(inside, outside, patients[0], patients[1], n),
        Game(again, outside, patients[2], patients[1], n),
    )


def _kinds(target: Target, effort: Effort) -> tuple[Kind, ...]:
    """The game of the claim comes first; the other view of the rows where it is affordable."""
    known = target.claim is None or target.claim.trust_model != "shuffled"
    kinds = [Kind("another", known), Kind("farthest", known)]
    if target.releases_rows:
        view = Kind("another", not known)
        if _SIDES * make_game(target, view).cells_a_trial * FEWEST_DRAWS <= effort.cells:
            kinds.append(view)
    return tuple(kinds)


def _judge(
    frame: AuditFrame, target: Target, played: dict[Kind, Played], effort: Effort
) -> AttackResult:
    typical, worst = (kind for kind in list(played)[:2])
    generator = effort.generator("membership, bootstrap")
    curves = played[typical].game.bootstrap(effort.n_bootstraps, generator)
    nulls = played[typical].control.bootstrap(effort.n_bootstraps, generator)
    auc = _area(played[typical], curves, nulls, "auc", _who(typical, target))
    figures = [auc, *_low_alarm_figures(played[typical], curves)]
    figures.append(_plain_area(played[worst], effort, "auc_farthest", _who(worst, target)))
    for kind in list(played)[2:]:
        name = "auc_row_known" if kind.row_known else "auc_row_unknown"
        figures.append(_plain_area(played[kind], effort, name, _who(kind, target)))
    bound = _epsilon(played[worst], target.claim)
    figures.append(bound)
    verdict = _verdict(frame, _is_violated(played[worst], target.claim), auc)
    return AttackResult(
        attack="membership",
        title="Membership",
        question="Can somebody who knows a patient's row tell whether it is in the table?",
        target=target.name,
        verdict=verdict,
        sentence=_sentence(target, auc, bound, verdict),
        figures=tuple(figures),
        curves=(_roc(played[typical], curves),),
        limits=_limits(frame, played, bound, target),
        settings={
            "mechanism": target.channel.name,
            "trials_a_side": {_key(kind): each.game.inside.size for kind, each in played.items()},
            "bootstrap_tables": effort.n_bootstraps,
            "margin": MARGIN,
            "violation_level": VIOLATION_LEVEL,
            "seed": effort.seed,
            "claimed_epsilon": target.claim.epsilon if target.claim else None,
            "claimed_delta": target.claim.delta if target.claim else None,
            "largest_auc_of_the_claim": target.claim.largest_auc if target.claim else None,
        },
    )


def _area(
    played: Played, curves: list[RateCurve], nulls: list[RateCurve], name: str, who: str
) -> AuditFigure:
    areas = np.array([curve.area for curve in curves])
    null_areas = np.array([curve.area for curve in nulls])
    low, high = interval(areas)
    control_low, control_high = interval(null_areas)
    spread = float(null_areas.std(ddof=1)) if null_areas.size > 1 else 0.5
    return AuditFigure(
        name=name,
        label=f"Area under the curve, {who}",
        value=played.game.curve().area,
        low=low, high=high, level=LEVEL,
        n=played.game.n_patients,
        control=played.control.curve().area,
        control_low=control_low, control_high=control_high,
        smallest_detectable=min(1.0, 0.5 + max(MARGIN, POWER_FACTOR * spread)),
    )  # fmt: skip


def _plain_area(played: Played, effort: Effort, name: str, who: str) -> AuditFigure:
    generator = effort.generator(f"membership, {name}")
    curves = played.game.bootstrap(effort.n_bootstraps, generator)
    nulls = played.control.bootstrap(effort.n_bootstraps, generator)
    return _area(played, curves, nulls, name, who)


def _low_alarm_figures(played: Played, curves: list[RateCurve]) -> list[AuditFigure]:
    curve, control, figures = played.game.curve(), played.control.curve(), []
    for rate, text in _FALSE_ALARMS:
        value, realised = curve.at(rate)
        low, high = interval(np.array([each.at(rate)[0] for each in curves]))
        alarm_low, alarm_high = interval(np.array([each.at(rate)[1] for each in curves]))
        n = played.game.n_patients
        figures += [
            AuditFigure(
                f"tpr_at_fpr_{text}", f"Members found at {100 * rate:g} % false alarms",
                value, low, high, LEVEL, n, control=control.at(rate)[0],
            ),
            AuditFigure(
                f"realised_fpr_{text}", f"False alarms really had at {100 * rate:g} %",
                realised, alarm_low, alarm_high, LEVEL, n, theory=rate,
            ),
        ]  # fmt: skip
    return figures


def _epsilon(played: Played, claim: Claim | None) -> AuditFigure:
    delta = claim.delta if claim else 0.0
    certified, control = _certified(played.game, delta), _certified(played.control, delta)
    detectable = None
    if claim is not None:
        detectable = smallest_detectable_epsilon(claim.epsilon, delta, certified.n_trials)
    return AuditFigure(
        name="epsilon_lower_bound",
        label="Lower bound of epsilon, against the most different row",
        value=certified.bound, low=certified.bound, high=float("inf"), level=LEVEL,
        n=certified.n_trials, control=control.bound,
        smallest_detectable=detectable,
    )  # fmt: skip


def _is_violated(played: Played, claim: Claim | None) -> bool:
    if claim is None:
        return False
    return _certified(played.game, claim.delta, VIOLATION_LEVEL).bound > claim.epsilon


def _certified(game: Game, delta: float, level: float = LEVEL) -> Certified:
    """Choose an event on one half of the trials, and count it on the other."""
    half = game.inside.size // 2
    event = choose_event(game.inside[:half], game.outside[:half], delta, level)
    return certify(event, game.inside[half:], game.outside[half:], delta, level)


def _verdict(frame: AuditFrame, is_violated: bool, auc: AuditFigure) -> Verdict:
    if is_violated:
        return "violated"
    assert auc.smallest_detectable is not None  # every area has one
    blind = auc.smallest_detectable > 0.5 + _LARGE_EFFECT
    if frame.n_patients < FEWEST_PATIENTS or blind:
        return "not_testable"
    return "weak" if auc.low > 0.5 + MARGIN else "no_attack_succeeded"


def _sentence(target: Target, auc: AuditFigure, bound: AuditFigure, verdict: Verdict) -> str:
    guess = (
        f"Shown {target.label}, somebody who knows a patient's row and that of one other person "
        f"tells which of them is in it in {100 * auc.value:.0f} of 100 cases, where guessing "
        "gives 50."
    )
    if target.claim is None:
        return guess
    claim = f"epsilon = {target.claim.epsilon:g}"
    if verdict == "violated":
        return (
            f"{guess} The claim of {claim} does not hold: what was told apart proves at least "
            f"epsilon = {bound.value:.2f}."
        )
    return (
        f"{guess} What was told apart proves at least epsilon = {bound.value:.2f}, which does "
        f"not contradict the claim of {claim}."
    )


def _limits(
    frame: AuditFrame, played: dict[Kind, Played], bound: AuditFigure, target: Target
) -> tuple[str, ...]:
    cap = epsilon_cap(bound.n, target.claim.delta if target.claim else 0.0)
    limits = [
        f"With {bound.n} certifying trials a side no bound above epsilon = {cap:.1f} can be shown.",
        f"The figures describe these {frame.n_patients} patients; the interval says what other "
        "patients like them might give.",
        f"An area within {MARGIN:g} of one half is not called a success, however surely it was "
        "measured.",
    ]
    if frame.n_patients < FEWEST_PATIENTS:
        limits.append(f"Fewer than {FEWEST_PATIENTS} patients show nothing about other patients.")
    if target.claim is not None and bound.smallest_detectable == float("inf"):
        limits.append(
            f"A violation of epsilon = {target.claim.epsilon:g} could not have been shown with so "
            "few trials."
        )
    fewest = min(each.game.inside.size for each in played.values())
    if fewest < 1 / _FALSE_ALARMS[-1][0]:
        limits.append(
            f"{fewest} trials say nothing about false alarm rates below {1 / fewest:.1g}."
        )
    return tuple(limits)


def _roc(played: Played, curves: list[RateCurve]) -> AuditCurve:
    axis = false_alarm_axis(played.game.outside.size)
    sampled = np.array([curve.sampled(axis) for curve in curves])
    band = (
        np.percentile(sampled, [2.5, 97.5], axis=0)
        if len(curves)
        else np.full((2, axis.size), np.nan)
    )
    return AuditCurve(
        "roc", "Members found against false alarms", "false positive rate",
        "true positive rate", _floats(axis), _floats(played.game.curve().sampled(axis)),
        _floats(band[0]), _floats(band[1]), _floats(played.control.curve().sampled(axis)),
    )  # fmt: skip


def _who(kind: Kind, target: Target) -> str:
    place = {"another": "another patient", "farthest": "the most different row"}[kind.substitute]
    if not target.releases_rows:
        return f"against {place}, all other rows known"
    row = "which row is whose is known" if kind.row_known else "all rows in random order"
    return f"against {place}, {row}"


def _key(kind: Kind) -> str:
    return f"{kind.substitute}, {'row known' if kind.row_known else 'row unknown'}"


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.tolist())
