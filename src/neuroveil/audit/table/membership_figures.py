"""Figures of membership: games with their control, areas, rates at few false alarms, bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuroveil.audit.mechanism.estimators import LEVEL, smallest_detectable_epsilon
from neuroveil.audit.mechanism.events import Certified, certify, choose_event
from neuroveil.audit.table.effort import Effort, Progress
from neuroveil.audit.table.frame import AuditFrame, Claim, Target
from neuroveil.audit.table.games import Kind, make_game, other_patients
from neuroveil.audit.table.rates import (
    CurveSample,
    Game,
    false_alarm_axis,
    interval,
    smallest_rate,
)
from neuroveil.types.audit import AuditCurve, AuditFigure
from neuroveil.types.recording import FloatArray

MARGIN = 0.05
"""An area under the curve within this of one half is not called a success."""

FALSE_ALARMS = ((1e-2, "1e-2"), (1e-3, "1e-3"))
"""False alarm rates at which members found are counted, with their names."""

VIOLATION_LEVEL = 0.9999
"""Confidence at which a claim is called violated; bounds are printed at 95 %.

A tight mechanism would exceed its own claim once in forty audits at 95 %.
"""

SIDES = 3
"""Patient, substitute, and a second substitute for the control."""

_PARTS = 10  # of each side, between which progress is told


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


def play(
    frame: AuditFrame,
    target: Target,
    kind: Kind,
    effort: Effort,
    progress: Progress | None = None,
) -> Played:
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
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    Played
        Scores of both sides and of the control.
    """
    n = frame.n_patients
    game = make_game(target, kind)
    source, choices = effort.source("membership"), effort.generator("membership")
    n_trials = effort.draws(effort.n_trials, SIDES * game.cells_a_trial)
    patients = choices.integers(0, n, size=(SIDES, n_trials))
    which, pairs = patients, kind.substitute == "another"
    if pairs:
        which = other_patients(patients.ravel(), n, choices).reshape(patients.shape)
    parts = np.array_split(np.arange(n_trials), min(_PARTS, n_trials))
    steps = [(side, part) for side in range(SIDES) for part in parts]
    scores = []
    for done, (side, part) in enumerate(steps, start=1):
        scores.append(game.scores(patients[side, part], which[side, part], side == 0, source))
        if progress is not None:
            progress(done, len(steps))
    inside, outside, again = np.split(np.concatenate(scores), SIDES)
    return Played(
        Game(inside, outside, patients[0], patients[1], n, (which[0], which[1]) if pairs else None),
        Game(again, outside, patients[2], patients[1], n, (which[2], which[1]) if pairs else None),
    )


def area_figure(
    played: Played, curves: list[CurveSample], nulls: list[CurveSample], name: str, who: str
) -> AuditFigure:
    """Give the area under the curve with its interval, control and smallest effect.

    Parameters
    ----------
    played : Played
        The game.
    curves, nulls : list of CurveSample
        Bootstrap tables of the game and of its control.
    name : str
        Key of the figure.
    who : str
        Who plays, in words.

    Returns
    -------
    AuditFigure
        Internal.
    """
    areas = np.array([curve.area for curve in curves])
    null_areas = np.array([curve.area for curve in nulls])
    low, high = interval(areas)
    control_low, control_high = interval(null_areas)
    return AuditFigure(
        name=name,
        label=f"Area under the curve, {who}",
        value=played.game.curve().area,
        low=low, high=high, level=LEVEL,
        n=played.game.n_patients,
        control=played.control.curve().area,
        control_low=control_low, control_high=control_high,
        smallest_detectable=smallest_rate(null_areas, 0.5, MARGIN),
    )  # fmt: skip


def plain_area(played: Played, effort: Effort, name: str, who: str) -> AuditFigure:
    """Give the area of a game of which nothing else is shown.

    Parameters
    ----------
    played : Played
        The game.
    effort : Effort
        Number of bootstrap tables.
    name : str
        Key of the figure.
    who : str
        Who plays, in words.

    Returns
    -------
    AuditFigure
        Internal.
    """
    generator = effort.generator(f"membership, {name}")
    curves = played.game.bootstrap(effort.n_bootstraps, generator)
    nulls = played.control.bootstrap(effort.n_bootstraps, generator)
    return area_figure(played, curves, nulls, name, who)


def low_alarm_figures(
    played: Played, curves: list[CurveSample], nulls: list[CurveSample]
) -> list[AuditFigure]:
    """Give members found at few false alarms, and the false alarms that ties really leave.

    Parameters
    ----------
    played : Played
        The game.
    curves, nulls : list of CurveSample
        Bootstrap tables of the game and of its control.

    Returns
    -------
    list of AuditFigure
        Two for each rate in :data:`FALSE_ALARMS`.
    """
    curve, control = played.game.curve(), played.control.curve()
    figures: list[AuditFigure] = []
    for rate, text in FALSE_ALARMS:
        value, realised = curve.at(rate)
        low, high = interval(np.array([each.at(rate)[0] for each in curves]))
        alarm_low, alarm_high = interval(np.array([each.at(rate)[1] for each in curves]))
        null = np.array([each.at(rate)[0] for each in nulls])
        control_low, control_high = interval(null)
        n = played.game.n_patients
        figures += [
            AuditFigure(
                f"tpr_at_fpr_{text}", f"Members found at {100 * rate:g} % false alarms",
                value, low, high, LEVEL, n, control=control.at(rate)[0],
                control_low=control_low, control_high=control_high,
                smallest_detectable=smallest_rate(null, rate),
            ),
            AuditFigure(
                f"realised_fpr_{text}", f"False alarms really had at {100 * rate:g} %",
                realised, alarm_low, alarm_high, LEVEL, n, theory=rate,
            ),
        ]  # fmt: skip
    return figures


def epsilon_figure(played: Played, claim: Claim | None) -> AuditFigure:
    """Give the lower bound of epsilon that a game certifies.

    Parameters
    ----------
    played : Played
        The game; its trials are independent.
    claim : Claim or None
        What is claimed.

    Returns
    -------
    AuditFigure
        Internal.
    """
    delta = claim.delta if claim else 0.0
    certified, control = certify_bound(played.game, delta), certify_bound(played.control, delta)
    detectable = None
    if claim is not None:
        detectable = smallest_detectable_epsilon(
            claim.epsilon, delta, certified.n_trials, VIOLATION_LEVEL
        )
    return AuditFigure(
        name="epsilon_lower_bound",
        label="Lower bound of epsilon, against the most different row",
        value=certified.bound, low=certified.bound, high=float("inf"), level=LEVEL,
        n=certified.n_trials, control=control.bound,
        smallest_detectable=detectable,
    )  # fmt: skip


def certify_bound(game: Game, delta: float, level: float = LEVEL) -> Certified:
    """Choose an event on one half of the trials, and count it on the other.

    Parameters
    ----------
    game : Game
        Independent trials, as many on both sides.
    delta : float
        Delta of the claim.
    level : float
        Confidence of the bound.

    Returns
    -------
    Certified
        The bound with its counts.
    """
    half = game.inside.size // 2
    event = choose_event(game.inside[:half], game.outside[:half], delta, level)
    return certify(event, game.inside[half:], game.outside[half:], delta, level)


def roc_curve(played: Played, curves: list[CurveSample]) -> AuditCurve:
    """Give members found against false alarms, with a band and the control.

    Parameters
    ----------
    played : Played
        The game.
    curves : list of CurveSample
        Bootstrap tables.

    Returns
    -------
    AuditCurve
        On a logarithmic axis of false alarms.
    """
    axis = false_alarm_axis(played.game.outside.size)
    actual, control = played.game.curve().sample(axis), played.control.curve().sample(axis)
    sampled = np.array([curve.sampled(axis) for curve in curves or [actual]])
    band = np.percentile(sampled, [2.5, 97.5], axis=0)
    return AuditCurve(
        "roc", "Members found against false alarms", "false positive rate",
        "true positive rate", _floats(axis), _floats(actual.true_positive),
        _floats(band[0]), _floats(band[1]), _floats(control.true_positive),
    )  # fmt: skip


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.tolist())
