"""From rounds of predictions to the figures of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neuroveil.evaluate.downstream.intervals import (
    auc_figure,
    balanced_figure,
    f1_figure,
    proportion_figure,
)
from neuroveil.evaluate.downstream.nested import Judged
from neuroveil.evaluate.downstream.paper import PROTECTED_GRID
from neuroveil.evaluate.downstream.ranking import Ranking, rank_within_folds
from neuroveil.evaluate.downstream.scores import Labels, best_threshold, confusion
from neuroveil.types.downstream import (
    Calibration,
    CalibrationBin,
    ConfusionMatrix,
    Figure,
    Performance,
)
from neuroveil.types.recording import FloatArray

_N_BINS = 5


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """One round of predictions with the labels that they are judged by. Private.

    Parameters
    ----------
    judged : Judged
        Predictions.
    folds : ndarray of int64, shape (n,)
        In which fold each patient was judged.
    labels : ndarray of bool, shape (n,)
        What is taken for the truth: the labels, or in the control labels that were permuted.
    """

    judged: Judged
    folds: np.ndarray
    labels: Labels

    @property
    def ranking(self) -> Ranking:
        """How the round ranks patients."""
        return rank_within_folds(self.judged.probabilities, self.folds, self.labels)


def measure(rounds: Sequence[Seen]) -> Performance:
    """Sum up rounds of predictions.

    Parameters
    ----------
    rounds : sequence of Seen
        At least two, each with its own folds, noise and seeds, on the same patients.

    Returns
    -------
    Performance
        Means with intervals over patients and rounds.
    """
    n_positive = int(rounds[0].labels.sum())
    n_negative = rounds[0].labels.size - n_positive
    counted = [confusion(seen.labels, seen.judged.called) for seen in rounds]
    peeked = [_peeked(seen) for seen in rounds]
    recall = proportion_figure(_over(counted, "recall"), n_positive)
    specificity = proportion_figure(_over(counted, "specificity"), n_negative)
    return Performance(
        auc=auc_figure(np.array([seen.ranking.auc for seen in rounds]), n_positive, n_negative),
        accuracy=accuracy_over(counted),
        balanced_accuracy=balanced_accuracy_over(counted),
        recall=recall,
        specificity=specificity,
        f1=f1_over(counted),
        precision=_precision(counted),
        peeked_balanced_accuracy=balanced_accuracy_over(peeked),
        peeked_f1=f1_over(peeked),
        calibration=calibrate(rounds),
    )


def calibrate(rounds: Sequence[Seen]) -> Calibration:
    """Compare predicted probabilities with what was the case.

    Parameters
    ----------
    rounds : sequence of Seen
        Rounds on the same patients.

    Returns
    -------
    Calibration
        Means over the rounds.
    """
    likely = np.concatenate([seen.judged.probabilities for seen in rounds])
    truth = np.concatenate([seen.labels for seen in rounds]).astype(np.float64)
    place = np.minimum((likely * _N_BINS).astype(int), _N_BINS - 1)
    bins = tuple(
        CalibrationBin(
            n=float((place == number).sum()) / len(rounds),
            predicted=float(likely[place == number].mean()),
            observed=float(truth[place == number].mean()),
        )
        for number in range(_N_BINS)
        if bool((place == number).any())
    )
    n, prevalence = truth.size / len(rounds), float(truth.mean())
    return Calibration(
        brier=float(np.square(likely - truth).mean()),
        brier_prevalence=prevalence * (1 - prevalence),
        mean_predicted=float(likely.mean()),
        prevalence=prevalence,
        error=sum(each.n / n * abs(each.predicted - each.observed) for each in bins),
        bins=bins,
    )


def _peeked(seen: Seen) -> ConfusionMatrix:
    """Count with the threshold that is best on these very patients."""
    threshold = best_threshold(seen.judged.probabilities, seen.labels, PROTECTED_GRID)
    return confusion(seen.labels, seen.judged.probabilities >= threshold)


def accuracy_over(counted: Sequence[ConfusionMatrix]) -> Figure:
    """Sum accuracy up over rounds.

    Parameters
    ----------
    counted : sequence of ConfusionMatrix
        One entry a round, on the same patients; at least two.

    Returns
    -------
    Figure
        With its interval.
    """
    return proportion_figure(_over(counted, "accuracy"), counted[0].n_patients)


def _over(counted: Sequence[ConfusionMatrix], name: str) -> FloatArray:
    return np.array([getattr(each, name) for each in counted], dtype=np.float64)


def balanced_accuracy_over(counted: Sequence[ConfusionMatrix]) -> Figure:
    """Sum balanced accuracy up over rounds.

    Parameters
    ----------
    counted : sequence of ConfusionMatrix
        One entry a round, on the same patients; at least two.

    Returns
    -------
    Figure
        With its interval.
    """
    first = counted[0]
    recall = proportion_figure(_over(counted, "recall"), first.n_positive)
    specificity = proportion_figure(_over(counted, "specificity"), first.n_negative)
    return balanced_figure(_over(counted, "balanced_accuracy"), recall, specificity)


def f1_over(counted: Sequence[ConfusionMatrix]) -> Figure:
    """Sum F1 scores up over rounds.

    Parameters
    ----------
    counted : sequence of ConfusionMatrix
        One entry a round, on the same patients; at least two.

    Returns
    -------
    Figure
        With its interval.
    """
    relevant = float(np.mean([each.n_patients - each.true_negative for each in counted]))
    return f1_figure(_over(counted, "f1"), relevant)


def _precision(counted: Sequence[ConfusionMatrix]) -> Figure | None:
    called = [each.true_positive + each.false_positive for each in counted]
    if min(called) == 0:
        return None
    return proportion_figure(_over(counted, "precision"), float(np.mean(called)))
