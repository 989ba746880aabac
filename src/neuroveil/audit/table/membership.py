"""Membership: whether a patient's row is behind the release, or somebody else's.

The game of the guarantee itself. Either the patient is in the table, or another row has taken
the place; all is known but which of the two. The score is the exact likelihood ratio given the
public mechanism, so no attack on the same released row tells the two apart better.
"""

from __future__ import annotations

from neuroveil.audit.mechanism.estimators import epsilon_cap
from neuroveil.audit.table.effort import FEWEST_DRAWS, Effort, Progress
from neuroveil.audit.table.frame import FEWEST_PATIENTS, AuditFrame, Claim, Target
from neuroveil.audit.table.games import Kind, make_game
from neuroveil.audit.table.membership_figures import (
    FALSE_ALARMS,
    MARGIN,
    SIDES,
    VIOLATION_LEVEL,
    Played,
    area_figure,
    certify_bound,
    epsilon_figure,
    low_alarm_figures,
    plain_area,
    play,
    roc_curve,
)
from neuroveil.types.audit import AttackResult, AuditFigure, Verdict

_LARGE_EFFECT = 0.25


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
    for number, kind in enumerate(kinds):
        part = None if progress is None else _part_of(progress, number, len(kinds))
        played[kind] = play(frame, target, kind, effort, part)
    return _judge(frame, target, played, effort)


def _part_of(progress: Progress, number: int, n_games: int) -> Progress:
    """Tell the progress of one game as a part of all."""
    return lambda done, total: progress(number * total + done, n_games * total)


def _kinds(target: Target, effort: Effort) -> tuple[Kind, ...]:
    """The game of the claim comes first; the other view of the rows where it is affordable."""
    known = target.claim is None or target.claim.trust_model != "shuffled"
    kinds = [Kind("another", known), Kind("farthest", known)]
    if target.releases_rows:
        view = Kind("another", not known)
        if SIDES * make_game(target, view).cells_a_trial * FEWEST_DRAWS <= effort.cells:
            kinds.append(view)
    return tuple(kinds)


def _judge(
    frame: AuditFrame, target: Target, played: dict[Kind, Played], effort: Effort
) -> AttackResult:
    typical, worst = (kind for kind in list(played)[:2])
    generator = effort.generator("membership, bootstrap")
    curves = played[typical].game.bootstrap(effort.n_bootstraps, generator)
    nulls = played[typical].control.bootstrap(effort.n_bootstraps, generator)
    auc = area_figure(played[typical], curves, nulls, "auc", _who(typical, target))
    figures = [auc, *low_alarm_figures(played[typical], curves, nulls)]
    figures.append(plain_area(played[worst], effort, "auc_farthest", _who(worst, target)))
    for kind in list(played)[2:]:
        name = "auc_row_known" if kind.row_known else "auc_row_unknown"
        figures.append(plain_area(played[kind], effort, name, _who(kind, target)))
    bound = epsilon_figure(played[worst], target.claim)
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
        curves=(roc_curve(played[typical], curves),),
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


def _is_violated(played: Played, claim: Claim | None) -> bool:
    if claim is None:
        return False
    return certify_bound(played.game, claim.delta, VIOLATION_LEVEL).bound > claim.epsilon


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
    if bound.value > target.claim.epsilon:
        return (
            f"{guess} A bound of epsilon = {bound.value:.2f} lies above the claim of {claim}, as "
            "it does in one sound audit in twenty at most. Audit again with more trials."
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
    if fewest < 1 / FALSE_ALARMS[-1][0]:
        limits.append(
            f"{fewest} trials say nothing about false alarm rates below {1 / fewest:.1g}."
        )
    return tuple(limits)


def _who(kind: Kind, target: Target) -> str:
    place = {"another": "another patient", "farthest": "the most different row"}[kind.substitute]
    if not target.releases_rows:
        return f"against {place}, all other rows known"
    row = "which row is whose is known" if kind.row_known else "all rows in random order"
    return f"against {place}, {row}"


def _key(kind: Kind) -> str:
    return f"{kind.substitute}, {'row known' if kind.row_known else 'row unknown'}"
