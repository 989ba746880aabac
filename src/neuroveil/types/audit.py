"""What attacks found: results that ``audit`` measures and ``report`` draws.

Everything here is internal. An attack on a table is scored with private rows, and even an
attack on a mechanism alone says how well a hospital's own check went.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, get_args

from neuroveil.errors import ChainError

Verdict = Literal["violated", "weak", "no_attack_succeeded", "not_testable"]
"""What an attack says of a claim.

``violated``: a bound lies above what was claimed. ``weak``: the claim holds, but an attack
succeeds beyond chance. ``no_attack_succeeded``: nothing was found, and the result says what
would have been. ``not_testable``: this run could not have seen even a large effect.
"""

YARDSTICKS: tuple[str, ...] = ("unprotected", "paper")
"""Targets that are attacked to have something to compare with; nobody is about to share them."""

_SEVEREST_FIRST: tuple[Verdict, ...] = ("violated", "weak", "no_attack_succeeded", "not_testable")


@dataclass(frozen=True)
class AuditFigure:
    """One measured figure of an attack, with everything needed to judge it.

    Parameters
    ----------
    name : str
        Key, such as ``"auc"`` or ``"epsilon_lower_bound"``.
    label : str
        Name for a reader.
    value : float
        The point estimate, or the bound itself where the figure is a bound.
    low, high : float
        Confidence interval; one-sided bounds have an infinite or natural other end.
    level : float
        Confidence of the interval, such as 0.95.
    n : int
        How many patients or trials it rests on.
    unit : str
        Unit, or ``""`` where there is none.
    control : float, optional
        The same figure of the null control that ran beside it.
    control_low, control_high : float, optional
        Interval of the control.
    smallest_detectable : float, optional
        The smallest value that this run would have told from chance.
    theory : float, optional
        What mathematics says the figure should be, where that is known.
    """

    name: str
    label: str
    value: float
    low: float
    high: float
    level: float
    n: int
    unit: str = ""
    control: float | None = None
    control_low: float | None = None
    control_high: float | None = None
    smallest_detectable: float | None = None
    theory: float | None = None


@dataclass(frozen=True)
class AuditCurve:
    """A curve for a page: points with a band and a control.

    Parameters
    ----------
    name, label : str
        Key, and name for a reader.
    x_label, y_label : str
        Axes, with units.
    x, y : tuple of float
        The points.
    low, high : tuple of float
        The band; empty for none.
    control : tuple of float
        The null control at the same x; empty for none.

    Raises
    ------
    ChainError
        If a part has another number of points than x.
    """

    name: str
    label: str
    x_label: str
    y_label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    control: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        n_points = len(self.x)
        for name in ("y", "low", "high", "control"):
            found = len(getattr(self, name))
            if found != n_points and not (found == 0 and name != "y"):
                raise ChainError(
                    f"audit curve {self.label}", f"{n_points} points in {name}", str(found),
                    "Give one value a point of x, or none at all for a band or a control.",
                )  # fmt: skip


@dataclass(frozen=True)
class AttackResult:
    """What one attack found.

    Parameters
    ----------
    attack : str
        Key, such as ``"membership"`` or ``"linkage"``.
    title, question : str
        Name for a reader, and the question that it answers, as a sentence.
    target : str
        What was attacked: ``"release"``, ``"unprotected"``, ``"paper"``, or a mechanism's name.
    verdict : str
        One of the four values of :data:`Verdict`.
    sentence : str
        The finding, in a sentence for a clinician.
    figures : tuple of AuditFigure
        Measured figures.
    curves : tuple of AuditCurve
        Curves to draw.
    limits : tuple of str
        What this run could not have seen, in sentences.
    settings : mapping
        Settings of the attack, as plain data: trials, seeds, thresholds. No private values.

    Raises
    ------
    ChainError
        If the verdict is none of the four.
    """

    INTERNAL: ClassVar[bool] = True

    attack: str
    title: str
    question: str
    target: str
    verdict: Verdict
    sentence: str
    figures: tuple[AuditFigure, ...] = ()
    curves: tuple[AuditCurve, ...] = ()
    limits: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.verdict not in get_args(Verdict):
            raise ChainError(
                f"verdict of {self.attack}", f"one of {', '.join(get_args(Verdict))}",
                repr(self.verdict), "Use one of the four values.",
            )  # fmt: skip

    def figure(self, name: str) -> AuditFigure:
        """Give one figure by name.

        Parameters
        ----------
        name : str
            Its key.

        Returns
        -------
        AuditFigure
            The figure.

        Raises
        ------
        KeyError
            If the attack has no such figure.
        """
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """Give the result as plain data, marked internal.

        Returns
        -------
        dict
            The fields by name, and ``"internal": True``. JSON has no infinite numbers: open
            ends of intervals and figures that are not defined become None.
        """
        plain: dict[str, Any] = _finite(asdict(self))
        return {"internal": self.INTERNAL, **plain}


def _finite(value: Any) -> Any:
    """Replace numbers that JSON does not have by None, at any depth."""
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def overall_verdict(results: tuple[AttackResult, ...]) -> Verdict:
    """Sum up several attacks: the severest verdict counts.

    One attack that was not testable does not hide another that found nothing: the sum is
    ``not_testable`` only where all of them were. Results on :data:`YARDSTICKS` do not count
    beside others.

    Parameters
    ----------
    results : tuple of AttackResult
        At least one.

    Returns
    -------
    str
        One of the four values of :data:`Verdict`.

    Raises
    ------
    ChainError
        If there is no result.
    """
    judged = [result for result in results if result.target not in YARDSTICKS] or results
    found = {result.verdict for result in judged}
    for verdict in _SEVEREST_FIRST:
        if verdict in found:
            return verdict
    raise ChainError("audit", "at least one attack", "none", "Run an attack.")
