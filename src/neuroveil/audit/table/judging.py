"""When an attack is called a success, and when there were too few patients to tell."""

from __future__ import annotations

from dataclasses import dataclass

from neuroveil.audit.table.frame import FEWEST_PATIENTS, AuditFrame, Target
from neuroveil.types.audit import AuditFigure, Verdict

MARGIN = 0.05
"""An effect within this of chance is not called a success."""


@dataclass(frozen=True)
class Yardstick:
    """What chance and a large effect are for a figure.

    Parameters
    ----------
    chance : float
        Value of guessing.
    large : float
        A value that every useful run would have found.
    """

    chance: float
    large: float


def judge(n_patients: int, figures: tuple[AuditFigure, ...], yardstick: Yardstick) -> Verdict:
    """Say what figures of the same kind mean together.

    An attack succeeds where an interval lies beyond chance by more than :data:`MARGIN`, and
    the figure beyond what the null control reaches.

    Parameters
    ----------
    n_patients : int
        Patients that the figures rest on.
    figures : tuple of AuditFigure
        Each with a control and a smallest detectable value.
    yardstick : Yardstick
        Chance, and a large effect.

    Returns
    -------
    str
        ``weak``, ``no_attack_succeeded`` or ``not_testable``.
    """
    if n_patients < FEWEST_PATIENTS:
        return "not_testable"
    if any(_succeeds(figure, yardstick.chance) for figure in figures):
        return "weak"
    if all(not _could_be_seen(figure, yardstick.large) for figure in figures):
        return "not_testable"
    return "no_attack_succeeded"


def common_limits(frame: AuditFrame, target: Target, n_patients: int) -> tuple[str, ...]:
    """Say what holds for every attack on rows.

    Parameters
    ----------
    frame : AuditFrame
        What the audit looks at.
    target : Target
        What is attacked.
    n_patients : int
        Patients that the figures rest on.

    Returns
    -------
    tuple of str
        Sentences.
    """
    limits = [
        f"The figures describe these {n_patients} patients; the interval says what other "
        "patients like them might give.",
        f"An effect within {MARGIN:g} of chance is not called a success.",
    ]
    if target.claim is not None and target.claim.trust_model == "shuffled":
        limits.append(
            "Rows stand in random order: what is learnt is learnt of the person behind a row, "
            "whoever that is."
        )
    if n_patients < FEWEST_PATIENTS:
        limits.append(f"Fewer than {FEWEST_PATIENTS} patients show nothing about other patients.")
    return tuple(limits)


def _succeeds(figure: AuditFigure, chance: float) -> bool:
    beyond_control = figure.control_high is None or figure.value > figure.control_high
    return figure.low > chance + MARGIN and beyond_control


def _could_be_seen(figure: AuditFigure, large: float) -> bool:
    return figure.smallest_detectable is not None and figure.smallest_detectable <= large
