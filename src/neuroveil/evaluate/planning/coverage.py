"""Where the public reference says nothing about the columns of a study."""

from __future__ import annotations

from neuroveil.evaluate.planning.question import PlanQuestion
from neuroveil.types.planning import Coverage
from neuroveil.types.scaling import Scaling


def coverage_of(question: PlanQuestion) -> Coverage:
    """Say how far the public reference covers the columns.

    Parameters
    ----------
    question : PlanQuestion
        Public numbers.

    Returns
    -------
    Coverage
        With a sentence for everything that a plan cannot know.
    """
    scaling = question.scaling
    outside = [c for c, is_out in zip(scaling.columns, scaling.fallback, strict=True) if is_out]
    inside = [c for c, is_out in zip(scaling.columns, scaling.fallback, strict=True) if not is_out]
    covered = {c.channel for c in inside}, {c.feature for c in inside}
    channels = tuple(dict.fromkeys(c.channel for c in outside if c.channel not in covered[0]))
    features = tuple(dict.fromkeys(c.feature for c in outside if c.feature not in covered[1]))
    return Coverage(
        scaling.name, len(scaling.columns), len(outside), channels, features,
        _sentences(question, scaling, len(outside)),
    )  # fmt: skip


def _sentences(question: PlanQuestion, scaling: Scaling, n_outside: int) -> tuple[str, ...]:
    if question.model is None:
        private = (
            "The columns are scaled with the cohort's own statistics, which nothing pays for: no "
            "end-to-end guarantee is left, and what is said of attackers holds only for what "
            "comes after scaling.",
        )
        return (
            *(private if scaling.fitted_on == "private" else ()),
            "There is no public covariance for these columns, so rows are taken to fill the "
            "clipping norm and columns to have nothing in common; shrinkage and public components "
            "cannot be planned.",
        )
    if not n_outside:
        return ()
    everything = n_outside == len(scaling.columns)
    which = "any of the" if everything else f"{n_outside} of the"
    effect = (
        "They are scaled with rough general constants, and the plan takes them to have spread 1 "
        "and nothing in common with other columns. Forecasts for them are assumptions."
    )
    return (
        f"The public reference {scaling.name!r} does not cover {which} {len(scaling.columns)} "
        f"columns. {effect}",
        "Public components need a reference that covers every column, so releases in them are "
        "left out of this plan. Leave these columns out, or build a reference that covers them "
        "with `neuroveil reference build`.",
    )
