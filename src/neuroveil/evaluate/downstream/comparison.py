"""From units of work to the table of all ways of sharing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from neuroveil.evaluate.downstream.central_way import CentralWay
from neuroveil.evaluate.downstream.models import MODELS
from neuroveil.evaluate.downstream.performance import (
    Seen,
    accuracy_over,
    balanced_accuracy_over,
    f1_over,
    measure,
)
from neuroveil.evaluate.downstream.ranking import paired_difference
from neuroveil.evaluate.downstream.scores import Labels
from neuroveil.evaluate.downstream.units import OWN_MODEL, Done, Unit, models_of
from neuroveil.evaluate.downstream.ways import Way
from neuroveil.types.downstream import Difference
from neuroveil.types.sharing import Check, Control, PaperCheck, WayResult

COMPARED_WITH = "logistic"
"""Classifier of the unprotected table that ways without rows are compared with."""

Outcomes = Mapping[tuple[str, str], Sequence[Done]]
"""Finished units by way and classifier, in the order of their rounds."""


def list_units(
    ways: Sequence[Way], models: tuple[str, ...], n_rounds: int, seed: int
) -> list[Unit]:
    """List everything that is to be done.

    Parameters
    ----------
    ways : sequence of Way
        Ways of sharing.
    models : tuple of str
        Classifiers for shared rows.
    n_rounds : int
        Rounds, at least 2.
    seed : int
        Seed of the whole comparison.

    Returns
    -------
    list of Unit
        Way by way.
    """
    return [
        Unit(way, model, number, seed)
        for way in ways
        for model in models_of(way, models)
        for number in range(n_rounds)
    ]


def compare(ways: Iterable[Way], outcomes: Outcomes, labels: Labels) -> tuple[WayResult, ...]:
    """Sum up finished units, way by way and classifier by classifier.

    Parameters
    ----------
    ways : iterable of Way
        Ways of sharing.
    outcomes : mapping of (str, str) to sequence of Done
        Finished units by way and classifier, in the order of their rounds.
    labels : ndarray of bool, shape (n,)
        True for the positive class.

    Returns
    -------
    tuple of WayResult
        In the order of the ways. Internal.
    """
    results = []
    for way in ways:
        for (key, model), done in outcomes.items():
            if key == way.facts.key:
                other = _unprotected(outcomes, key, model)
                results.append(_result(way, model, done, other, labels))
    return tuple(results)


def _unprotected(outcomes: Outcomes, key: str, model: str) -> Sequence[Done] | None:
    """The same classifier on the unprotected table, where that was done."""
    if key == "unprotected":
        return None
    wanted = COMPARED_WITH if model == OWN_MODEL else model
    known = {name: done for (way, name), done in outcomes.items() if way == "unprotected"}
    return known.get(wanted) or next(iter(known.values()), None)


def _result(
    way: Way, model: str, done: Sequence[Done], other: Sequence[Done] | None, labels: Labels
) -> WayResult:
    is_central = isinstance(way, CentralWay)
    label = "its own classifier" if is_central else MODELS[model].label
    return WayResult(
        way=way.facts,
        model=model,
        model_label=label,
        in_table=None if is_central else _check(done, other, labels, "on_shared"),
        new_people=_check(done, other, labels, "on_clear"),
        paper=_paper(done),
    )


def _check(done: Sequence[Done], other: Sequence[Done] | None, labels: Labels, side: str) -> Check:
    rounds = _seen(done, labels, side)
    control = measure([
        Seen(getattr(each.control, side), each.control.folds, each.control_labels)
        for each in done
    ])  # fmt: skip
    return Check(
        measure(rounds),
        Control(control.auc, control.balanced_accuracy),
        _difference(rounds, other, labels, side),
    )


def _seen(done: Sequence[Done], labels: Labels, side: str) -> list[Seen]:
    return [Seen(getattr(each.actual, side), each.actual.folds, labels) for each in done]


def _difference(
    rounds: list[Seen], other: Sequence[Done] | None, labels: Labels, side: str
) -> Difference | None:
    if other is None:
        return None
    unprotected = _seen(other, labels, side)
    return paired_difference(
        [each.ranking for each in rounds], [each.ranking for each in unprotected], labels
    )


def _paper(done: Sequence[Done]) -> PaperCheck | None:
    found = [each.paper for each in done if each.paper is not None]
    if len(found) < len(done):
        return None
    counted = [each for _, each in found]
    thresholds = [threshold for threshold, _ in found]
    return PaperCheck(
        accuracy=accuracy_over(counted),
        balanced_accuracy=balanced_accuracy_over(counted),
        f1=f1_over(counted),
        thresholds=(min(thresholds), max(thresholds)),
    )
