"""The planner's entry: a question in, a plan out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.evaluate.planning.coverage import coverage_of
from neuroveil.evaluate.planning.drops import list_drops
from neuroveil.evaluate.planning.forecast import forecast_option
from neuroveil.evaluate.planning.needs import need_of
from neuroveil.evaluate.planning.options import Option, offered_options
from neuroveil.evaluate.planning.price import price_of_dimension
from neuroveil.evaluate.planning.question import PlanQuestion
from neuroveil.privacy.prediction import attenuated_auc
from neuroveil.privacy.validate import largest_delta
from neuroveil.types.planning import Drops, Need, OptionForecast, Plan

Progress = Callable[[int, int, str], None]
"""Called with (done, total, what)."""


@dataclass(frozen=True)
class PlanWishes:
    """What a plan should hold besides its forecasts.

    Parameters
    ----------
    target : float, optional
        Correlation for which the needed epsilon and number of patients are searched.
    drops : bool
        Whether to forecast what leaving out channels and features would change.
    sizes : mapping of str to int
        Further numbers of columns to price, by label.
    own_size : str
        Label of the question's own number of columns.

    Raises
    ------
    StudyError
        If the target is not between 0 and 1.
    """

    target: float | None = None
    drops: bool = True
    sizes: dict[str, int] = field(default_factory=dict)
    own_size: str = "these columns"

    def __post_init__(self) -> None:
        if self.target is not None and not 0 < self.target < 1:
            raise StudyError([StudyMistake(
                "plan.target", "a correlation between 0 and 1", f"{self.target:g}",
                "0.5 is half way; 0.9 keeps nearly all.",
            )])  # fmt: skip


def plan_release(
    question: PlanQuestion,
    wishes: PlanWishes = PlanWishes(),
    progress: Progress = lambda done, total, what: None,
) -> Plan:
    """Plan: forecast every release that is allowed, at every epsilon.

    Parameters
    ----------
    question : PlanQuestion
        Public numbers.
    wishes : PlanWishes
        What else the plan should hold.
    progress : callable
        Called with (done, total, what).

    Returns
    -------
    Plan
        It may be published: no private value was looked at.

    Raises
    ------
    ChainError
        If a release cannot be calibrated.
    """
    options = offered_options(question)
    forecasts = _forecasts(options, question, progress)
    focus = max(question.epsilons)
    sizes = {wishes.own_size: question.dimension, **wishes.sizes}
    return Plan(
        n_patients=question.n_patients,
        n_columns=question.dimension,
        clip_norm=question.clip_norm,
        delta=question.delta,
        trust_model=question.trust_model,
        effect_size=question.effect_size,
        auc_before=attenuated_auc(question.effect_size),
        coverage=coverage_of(question),
        forecasts=forecasts,
        price=tuple(price_of_dimension(name, d, question, focus) for name, d in sizes.items()),
        needs=_needs(options, question, wishes.target, progress),
        drops=_drops(forecasts, options, question, progress) if wishes.drops else None,
        notes=_notes(question),
    )


def _forecasts(
    options: tuple[Option, ...], question: PlanQuestion, progress: Progress
) -> tuple[OptionForecast, ...]:
    total = len(options) * len(question.epsilons)
    forecasts: list[OptionForecast] = []
    for epsilon in question.epsilons:
        here = []
        for option in options:
            here.append(forecast_option(option, question, epsilon))
            progress(len(forecasts) + len(here), total, "forecasting")
        # What is left of patients and what is left of a cohort cannot be ranked together.
        here.sort(key=lambda forecast: (forecast.rows is None, -forecast.score))
        forecasts += here
    return tuple(forecasts)


def _needs(
    options: tuple[Option, ...], question: PlanQuestion, target: float | None, progress: Progress
) -> tuple[Need, ...]:
    if target is None:
        return ()
    # Of each mechanism the strongest form, which is the last one listed.
    strongest = {(option.mechanism, option.trust_model): option for option in options}
    found = []
    for option in strongest.values():
        found.append(need_of(option, question, target, max(question.epsilons)))
        progress(len(found), len(strongest), "searching what is needed")
    return tuple(found)


def _drops(
    forecasts: tuple[OptionForecast, ...],
    options: tuple[Option, ...],
    question: PlanQuestion,
    progress: Progress,
) -> Drops | None:
    """For the release of rows that should leave most at the largest epsilon."""
    epsilon = max(question.epsilons)
    best = next(each for each in forecasts if each.epsilon == epsilon and each.rows is not None)
    key = (best.mechanism, best.form, best.trust_model)
    option = next(each for each in options if key == (each.mechanism, each.form, each.trust_model))
    listed = list_drops(
        option.settings(question, epsilon), question,
        lambda done, total: progress(done, total, "leaving out one at a time"),
    )  # fmt: skip
    return Drops(best.label, epsilon, listed) if listed else None


def _notes(question: PlanQuestion) -> tuple[str, ...]:
    notes = [
        "Forecasts are averages over cohorts that are drawn like the people of the public "
        "reference. A single cohort, and one that differs from them, keeps more or less than this.",
    ]
    limit = largest_delta(question.n_patients)
    if question.delta > limit:
        notes.append(
            f"delta = {question.delta:g} is above {limit:.3g}, so a release to "
            f"{question.n_patients} patients would ask for a reason in writing."
        )
    return tuple(notes)
