"""Pages of an audit: an overview, and one page an attack. Internal, like all its results.

They draw any :class:`~neuroveil.types.audit.AttackResult`, on a table or on a mechanism: the
finding in a sentence, every figure with its interval and its null control, curves with their
bands, and what the run could not have seen.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from neuroveil.errors import ChainError
from neuroveil.report.rendering import render
from neuroveil.report.text import number, percent
from neuroveil.types.audit import AttackResult, AuditFigure, Verdict, overall_verdict

OVERVIEW = "index.html"
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_DIGITS = 4

VERDICT_WORDS: Mapping[Verdict, str] = {
    "violated": "The claim is violated",
    "weak": "An attack succeeds beyond chance",
    "no_attack_succeeded": "No attack succeeded",
    "not_testable": "Not testable with what there was",
}
"""What each verdict says to a reader."""

_MEANINGS: Mapping[Verdict, str] = {
    "violated": "At least one measured bound lies above what was claimed. The claim is wrong, "
    "whatever its proof says.",
    "weak": "Nothing lies above the claim, but at least one attack does better than guessing. "
    "That is what the claimed epsilon allows; it is for you to say whether it is too much.",
    "no_attack_succeeded": "Nothing was found. This is not a proof of safety: each attack says "
    "below what it could have seen and what not.",
    "not_testable": "With so few patients or trials even a large leak could have stayed unseen. "
    "This says nothing in favour of the claim.",
}


@dataclass(frozen=True)
class AuditHeading:
    """What an audit was about, for the head of its pages.

    Parameters
    ----------
    title, subtitle : str
        Of the overview.
    facts : tuple of (str, str)
        Public facts by name: the claim, the number of patients or trials.
    """

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...] = ()


def audit_pages(heading: AuditHeading, results: tuple[AttackResult, ...]) -> dict[str, str]:
    """Draw the pages of an audit.

    Results of the same attack on several targets stand on one page, in their order, so that
    the effect of a defence can be seen.

    Parameters
    ----------
    heading : AuditHeading
        What the audit was about.
    results : tuple of AttackResult
        At least one.

    Returns
    -------
    dict of str to str
        HTML by file name: :data:`OVERVIEW`, and one page an attack. Each is one file that asks
        for nothing from outside, marked internal; the same bytes for the same input.

    Raises
    ------
    ChainError
        If there is no result, or the key of an attack cannot be a file name.
    """
    by_attack = _by_attack(results)
    common = {"heading": heading, "version": version("neuroveil"), "words": VERDICT_WORDS}
    pages = {OVERVIEW: render("audit.html.j2", {**common, **_overview(results, by_attack)})}
    for attack, found in by_attack.items():
        verdict = overall_verdict(found)
        parts = {"attack": found[0], "sections": list(_sections(found)), "verdict": verdict}
        pages[f"{attack}.html"] = render("attack.html.j2", {**common, **parts})
    return pages


def _by_attack(results: tuple[AttackResult, ...]) -> dict[str, tuple[AttackResult, ...]]:
    grouped: dict[str, tuple[AttackResult, ...]] = {}
    for result in results:
        if not _FILE_NAME.fullmatch(result.attack) or f"{result.attack}.html" == OVERVIEW:
            raise ChainError(
                "attack", "a key of lower-case letters, digits, - and _", "another",
                "Give the attack a key that can name a file.",
            )  # fmt: skip
        grouped[result.attack] = (*grouped.get(result.attack, ()), result)
    return grouped


def _overview(
    results: tuple[AttackResult, ...], by_attack: Mapping[str, tuple[AttackResult, ...]]
) -> dict[str, Any]:
    verdict = overall_verdict(results)
    return {
        "verdict": verdict,
        "meaning": _MEANINGS[verdict],
        "attacks": list(by_attack.items()),
    }


def _sections(results: tuple[AttackResult, ...]) -> Iterator[dict[str, Any]]:
    """Prepare one section of an attack's page for each target."""
    from markupsafe import Markup

    from neuroveil.report.audit_charts import curve_chart

    for place, result in enumerate(results, start=1):
        yield {
            "result": result,
            "identifier": f"target-{place}",
            "figures": [_figure_row(figure) for figure in result.figures],
            "charts": [
                {
                    "svg": Markup(curve_chart(curve, f"curve-{place}-{number_of_curve}")),
                    "label": curve.label,
                }
                for number_of_curve, curve in enumerate(result.curves, start=1)
            ],
            "settings": [(name, _setting(value)) for name, value in result.settings.items()],
        }  # fmt: skip


def _figure_row(figure: AuditFigure) -> dict[str, str]:
    unit = f" {figure.unit}" if figure.unit else ""
    return {
        "label": figure.label,
        "value": f"{_number(figure.value)}{unit}",
        "interval": _interval(figure.low, figure.high),
        "level": "exact" if figure.level == 1 else percent(figure.level),
        "n": number(figure.n),
        "control": _control(figure),
        "smallest": _number(figure.smallest_detectable),
        "theory": _number(figure.theory),
    }


def _number(value: float | None) -> str:
    """A figure with as many digits as mean something, in words where there is none."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return number(value, _DIGITS)


def _interval(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "–"
    if math.isinf(high):
        return f"at least {_number(low)}"
    if math.isinf(low):
        return f"at most {_number(high)}"
    return f"{_number(low)} to {_number(high)}"


def _control(figure: AuditFigure) -> str:
    if figure.control is None:
        return "–"
    text = _number(figure.control)
    if figure.control_low is None or figure.control_high is None:
        return text
    if figure.control in {figure.control_low, figure.control_high}:
        return text  # a bound is its own interval
    return f"{text} ({_interval(figure.control_low, figure.control_high)})"


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
