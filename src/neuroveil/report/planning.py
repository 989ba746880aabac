"""A plan in words and as a figure. Public: a plan rests on public numbers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuroveil.report.drawing import BLUE, GREY, INK, RED, drawing, inline, legend_above
from neuroveil.report.text import number
from neuroveil.types.planning import OptionForecast, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_USELESS, _FAIR = 0.3, 0.7
_STRONGEST = ("public_basis", "shrunk", "plain")
_STYLES = {
    "privunit": (BLUE, "-"), "gaussian": (RED, "-"), "laplace": (GREY, "-"),
    "shuffled privunit": (BLUE, "--"), "mean_covariance": (INK, ":"),
}  # fmt: skip
_HEIGHT_INCHES = 3.4


def plan_words(plan: Plan) -> tuple[str, ...]:
    """Say what a plan found, for somebody who does not read tables.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    tuple of str
        Sentences, the most important first.
    """
    words = [sentence for epsilon in plan.epsilons for sentence in _at(plan, epsilon)]
    if plan.drops is not None:
        words.append(_drop_words(plan))
    return (*plan.coverage.sentences, *words, *plan.notes)


def _at(plan: Plan, epsilon: float) -> tuple[str, ...]:
    best = plan.best(epsilon)
    assert best.rows is not None
    rows, attack = best.rows, best.attack
    judgement = "keep most of what is individual"
    if best.score < _USELESS:
        judgement = "are too noisy to be of use for single patients"
    elif best.score < _FAIR:
        judgement = "keep a part of what is individual"
    trust = "" if best.trust_model == "local" else " (somebody trusted has to shuffle them)"
    sentences = [
        f"At epsilon = {number(epsilon)}, {best.label}{trust} {judgement}: they should correlate "
        f"{best.score:.2f} with each patient's own. Two groups that the original tells apart with "
        f"an area under the curve of {plan.auc_before:.2f} (d' = {number(plan.effect_size)}) would "
        f"be told apart with {rows.auc_pattern:.2f} by the strongest public pattern, and with "
        f"{rows.auc_column:.2f} by a typical column. An attacker who knows everything but one row "
        f"has an advantage of at most {number(attack.advantage, 4)}, and moves from a belief of "
        f"{number(attack.prior)} to at most {number(attack.posterior, 5)}{_exception(best)}."
    ]
    for other in plan.forecasts:
        kept = other.moments and other.moments.covariance_correlation
        if other.epsilon == epsilon and kept is not None:
            sentences.append(
                f"At epsilon = {number(epsilon)}, the {other.label} should have covariances that "
                f"correlate {kept:.2f} with the cohort's; a synthetic table drawn from them is as "
                "good, and about nobody in particular. Whoever computes it sees all rows."
            )
    return tuple(sentences)


def _exception(forecast: OptionForecast) -> str:
    exception = forecast.attack.posterior_exception
    return f", except with a probability of {number(exception, 2)}" if exception else ""


def _drop_words(plan: Plan) -> str:
    assert plan.drops is not None
    best = plan.drops.listed[0]
    gain = best.all_after - best.all_before
    start = f"For {plan.drops.label} at epsilon = {number(plan.drops.epsilon)}, "
    if gain <= 0:
        return (
            f"{start}no channel and no feature is worth leaving out: over all columns, each one "
            "takes more along than the others gain."
        )
    return (
        f"{start}leaving out the {best.kind} {best.name} would gain most: the other columns should "
        f"correlate {best.kept_after:.3f} instead of {best.kept_before:.3f} with their values "
        f"before clipping, and all columns together {best.all_after:.3f} instead of "
        f"{best.all_before:.3f}, with its own estimated from the others ({best.recovered:.2f})."
    )


def plan_figure(plan: Plan) -> str:
    """Draw what each mechanism should leave over epsilon, in its strongest form.

    Parameters
    ----------
    plan : Plan
        With one epsilon or more.

    Returns
    -------
    str
        An ``<svg>`` element with title and description.
    """
    from matplotlib.ticker import NullLocator

    curves = _curves(plan)
    with drawing(_HEIGHT_INCHES) as (figure, axes):
        for name, points in curves.items():
            _draw(axes, name, points)
        axes.set(xscale="log", ylim=(0, 1), xlabel="epsilon", ylabel="correlation with the truth")
        epsilons = sorted(plan.epsilons)
        axes.set_xticks(epsilons, [number(epsilon) for epsilon in epsilons])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.axhline(_USELESS, color=GREY, linewidth=0.8, linestyle=":")
        legend_above(axes)
        shown = "; ".join(
            f"{name} " + ", ".join(f"{value:.2f} at {number(e)}" for e, value in points)
            for name, points in curves.items()
        )
        return inline(
            figure, "plan", "What each way of sharing should leave",
            f"Forecast correlation for {plan.n_patients} patients and {plan.n_columns} columns, of "
            f"each patient's values, and for mean and covariance of covariance entries: {shown}.",
        )  # fmt: skip


def _curves(plan: Plan) -> dict[str, list[tuple[float, float]]]:
    """The strongest form of each mechanism that the plan has, and the plain Gaussian."""
    present = {forecast.form for forecast in plan.forecasts}
    strongest = next((form for form in _STRONGEST if form in present), "plain")
    curves: dict[str, list[tuple[float, float]]] = {}
    for forecast in sorted(plan.forecasts, key=lambda each: each.epsilon):
        name = _mechanism(forecast)
        is_paper = forecast.form == "plain" and forecast.mechanism == "gaussian"
        if is_paper and strongest != "plain":
            curves.setdefault("gaussian, plain", []).append((forecast.epsilon, forecast.score))
        elif forecast.form in (strongest, "aggregate"):
            curves.setdefault(name, []).append((forecast.epsilon, forecast.score))
    return curves


def _mechanism(forecast: OptionForecast) -> str:
    if forecast.trust_model == "shuffled":
        return f"shuffled {forecast.mechanism}"
    return forecast.mechanism


def _draw(axes: Axes, name: str, points: list[tuple[float, float]]) -> None:
    colour, line = _STYLES.get(name, (RED, "--"))
    label = "covariances (central)" if name == "mean_covariance" else name
    x, y = zip(*points, strict=True)
    axes.plot(x, y, line, color=colour, marker="o", markersize=4, linewidth=1.6, label=label)
