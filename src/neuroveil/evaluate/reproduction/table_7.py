"""The paper's Table 7 and what belongs to it, number by number beside ours."""

from __future__ import annotations

from collections.abc import Mapping

from neuroveil.evaluate.downstream.scores import wilson
from neuroveil.evaluate.reproduction import printed, verdicts
from neuroveil.types.reproduction import ClassifierFigures, ReproducedTable

_KINDS = ("original", "gaussian", "paper_laplace")


def table_7(classifiers: Mapping[str, ClassifierFigures]) -> ReproducedTable:
    """Give Table 7 and the confusion matrices of Figures 9 to 11.

    Parameters
    ----------
    classifiers : mapping of str to ClassifierFigures
        Ours, by kind of rows.

    Returns
    -------
    ReproducedTable
        By repeated draws of noise and starting weights.
    """
    comparisons = []
    for name in _KINDS:
        ours = classifiers[name]
        for number in (*printed.table_7(name), *printed.counts(name)):
            key = number.quantity
            mean = ours.counts.get(key) or ours.scores.get(key)
            if name == "original":
                comparisons.append(verdicts.needs_their_data(number, mean, ours.n_draws))
            else:
                comparisons.append(verdicts.by_range(number, mean, ours.ranges[key], ours.n_draws))
    notes = (
        "The band is the range of our draws; a further draw of ours leaves it with a chance of at "
        f"most 2/{classifiers['original'].n_draws + 1}.",
        "The rows are ours, not the paper's: what a classifier reaches without protection depends "
        "on the patients. Under the paper's noise little of them is left, so that a comparison "
        "means something there.",
    )
    return ReproducedTable("Table 7", "The paper's classifier, one patient left out at a time",
                           tuple(comparisons), notes)  # fmt: skip


def table_7_arithmetic() -> ReproducedTable:
    """Give what follows from the confusion matrices that the paper prints.

    Returns
    -------
    ReproducedTable
        Scores of Table 7, and the Wilson intervals of Section 4.3.1.
    """
    comparisons = []
    for name in _KINDS:
        matrix = printed.CONFUSION[name]
        for number in printed.table_7(name):
            score = matrix.figures()[number.quantity]
            assert score is not None  # the paper's matrices define all scores
            comparisons.append(verdicts.by_theory(number, score))
        right = matrix.true_negative + matrix.true_positive
        ends = [
            end
            for share in (
                wilson(right, matrix.n_patients),
                wilson(matrix.true_positive, matrix.n_positive),
                wilson(matrix.true_negative, matrix.n_negative),
            )
            for end in (share.low, share.high)
        ]
        for number, end in zip(printed.wilson_intervals(name), ends, strict=True):
            comparisons.append(verdicts.by_theory(number, end))
    return ReproducedTable(
        "Table 7, arithmetic", "What follows from the confusion matrices that the paper prints",
        tuple(comparisons),
    )  # fmt: skip
