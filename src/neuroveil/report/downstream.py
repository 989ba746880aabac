"""The internal page of an evaluation: classifiers, ways of sharing, and the signal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from neuroveil.report.drawing import BLUE, GREY, drawing, inline, legend_above, plain_text
from neuroveil.report.rendering import render
from neuroveil.report.signal_charts import band_maps, mean_spectrum
from neuroveil.report.text import number
from neuroveil.types.sharing import Check, SharingTable, WayFacts, WayResult
from neuroveil.types.signal_view import SignalView

TRUSTED = {
    "nobody": "nobody", "shuffler": "whoever shuffles", "curator": "a curator",
    "everybody": "everybody",
}  # fmt: skip
"""Who has to be trusted, for a reader."""

REVIEW = {
    "negated": "every term is negated: called negative",
    "uncertain": "no term is certain: left out",
    "contradictory": "some terms are affirmed and others negated: called positive",
    "neutral_term_only": "only a neutral term: called negative",
    "empty": "no text: left out",
    "negation_ignored_by_the_paper": "positive by the paper's rule, which ignores negation, and "
    "not positive here",
}
"""Why a person should look at reports, for a reader."""

_LONGEST_LINE = 34
_ROW_INCHES = 0.34


def evaluation_report(table: SharingTable, view: SignalView | None) -> str:
    """Draw the internal page of an evaluation.

    Parameters
    ----------
    table : SharingTable
        Ways of sharing, side by side. Internal.
    view : SignalView or None
        What the study's own release does to features. Internal.

    Returns
    -------
    str
        HTML, marked internal; the same bytes for the same input.
    """
    from markupsafe import Markup

    maps, spectrum = (
        (None, None) if view is None else (band_maps(view), mean_spectrum(view.spectrum))
    )
    review = [(REVIEW.get(reason, reason), n) for reason, n in table.labels.review.items()]
    parts: dict[str, Any] = {
        "table": table,
        "ranked": table.ranked,
        "guarantee": guarantee,
        "trusted": TRUSTED,
        "review": review,
        "areas": Markup(area_chart(table.ranked)),
        "checks": [_check_rows(result) for result in table.results],
        "view": view,
        "maps": Markup(maps) if maps else None,
        "spectrum": Markup(spectrum) if spectrum else None,
        "heading": f"ε = {number(table.epsilon)}, δ = {number(table.delta)}",
    }
    return render("evaluation.html.j2", parts)


def guarantee(way: WayFacts) -> str:
    """Say in a few words what is promised.

    Parameters
    ----------
    way : WayFacts
        The way.

    Returns
    -------
    str
        Epsilon and delta, and for what.
    """
    if way.epsilon is None:
        return "none"
    spent = f"ε = {number(way.epsilon)}"
    if way.delta:
        spent += f", δ = {number(way.delta)}"
    return f"{spent}, {'row and label' if way.covers_labels else 'row only'}"


def area_chart(results: Sequence[WayResult]) -> str:
    """Draw the area under the curve of every way beside its control.

    Parameters
    ----------
    results : sequence of WayResult
        One entry a way.

    Returns
    -------
    str
        An ``<svg>`` element with title and description.
    """
    with drawing(len(results) * _ROW_INCHES + 0.9) as (figure, axes):
        for shift, colour, label, figures in (
            (0.16, GREY, "control: labels permuted",
             [result.new_people.control.auc for result in results]),
            (-0.16, BLUE, "measured",
             [result.new_people.performance.auc for result in results]),
        ):  # fmt: skip
            axes.errorbar(
                [each.mean for each in figures],
                [place + shift for place in range(len(figures))],
                xerr=[
                    [each.mean - each.low for each in figures],
                    [each.high - each.mean for each in figures],
                ],
                fmt="o", color=colour, markersize=4, linewidth=1.6, label=label,
            )  # fmt: skip
        axes.axvline(0.5, color=GREY, linewidth=0.8)
        names = [plain_text(_in_lines(result.way.label)) for result in results]
        axes.set_yticks(range(len(names)), names)
        axes.set(xlim=(0, 1), ylim=(len(names) - 0.5, -0.5), xlabel="AUC, new people")
        axes.tick_params(axis="y", length=0)
        legend_above(axes)
        shown = "; ".join(
            f"{result.way.label} {number(result.new_people.performance.auc.mean, 2)}"
            for result in results
        )
        return inline(
            figure, "areas", "Area under the curve by way of sharing",
            f"With 95 % intervals over patients and rounds: {shown}.",
        )  # fmt: skip


def _check_rows(result: WayResult) -> dict[str, Any]:
    """Both checks of a way and classifier, as rows of a table."""
    checks: list[tuple[str, Check]] = []
    if result.in_table is not None:
        checks.append(("people in the table", result.in_table))
    checks.append(("new people", result.new_people))
    return {"result": result, "rows": [(who, _row(check)) for who, check in checks]}


def _row(check: Check) -> dict[str, Any]:
    measured = check.performance
    return {
        "auc": measured.auc, "control": check.control.auc,
        "balanced": measured.balanced_accuracy, "recall": measured.recall,
        "specificity": measured.specificity, "f1": measured.f1, "peeked": measured.peeked_f1,
        "gap": measured.gap, "calibration": measured.calibration,
        "difference": None if check.difference is None else check.difference.sentence,
    }  # fmt: skip


def _in_lines(name: str) -> str:
    """A name as it stands beside a chart; two lines of it fit into a row."""
    return textwrap.fill(name, _LONGEST_LINE)
