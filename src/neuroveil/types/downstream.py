"""How well a classifier does on rows: results that ``evaluate`` measures and ``report`` draws.

Everything here rests on private rows and on private labels. It is internal.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from neuroveil.errors import RecordingError


@dataclass(frozen=True)
class ConfusionMatrix:
    """How many patients of each class were called what.

    Parameters
    ----------
    true_negative, false_positive, false_negative, true_positive : int
        Counts of patients. Positive is the class of interest, such as epilepsy.

    Raises
    ------
    RecordingError
        If a count is negative, or there is no patient at all.
    """

    true_negative: int
    false_positive: int
    false_negative: int
    true_positive: int

    def __post_init__(self) -> None:
        counts = (
            self.true_negative, self.false_positive, self.false_negative, self.true_positive,
        )  # fmt: skip
        if min(counts) < 0 or not any(counts):
            raise RecordingError(
                "confusion matrix", "four counts, not all zero", "others",
                "Count at least one patient.",
            )  # fmt: skip

    @property
    def n_patients(self) -> int:
        """All patients."""
        return self.n_positive + self.n_negative

    @property
    def n_positive(self) -> int:
        """Patients of the positive class."""
        return self.false_negative + self.true_positive

    @property
    def n_negative(self) -> int:
        """Patients of the negative class."""
        return self.true_negative + self.false_positive

    @property
    def accuracy(self) -> float:
        """Share of patients that were called right."""
        return (self.true_negative + self.true_positive) / self.n_patients

    @property
    def precision(self) -> float | None:
        """Share of positive calls that were right; not defined without a positive call."""
        return _share(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float | None:
        """Share of positive patients that were called positive (sensitivity)."""
        return _share(self.true_positive, self.n_positive)

    @property
    def specificity(self) -> float | None:
        """Share of negative patients that were called negative."""
        return _share(self.true_negative, self.n_negative)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of recall and specificity; 0.5 is what guessing reaches."""
        recall, specificity = self.recall, self.specificity
        return None if recall is None or specificity is None else (recall + specificity) / 2

    @property
    def f1(self) -> float | None:
        """F1 score of the positive class: 2 TP / (2 TP + FP + FN)."""
        called = 2 * self.true_positive + self.false_positive + self.false_negative
        return _share(2 * self.true_positive, called)

    def figures(self) -> dict[str, float | None]:
        """Give all figures by name.

        Returns
        -------
        dict of str to float or None
            Keys ``accuracy``, ``precision``, ``recall``, ``specificity``,
            ``balanced_accuracy`` and ``f1``; ``None`` where a figure is not defined.
        """
        names = ("accuracy", "precision", "recall", "specificity", "balanced_accuracy", "f1")
        return {name: getattr(self, name) for name in names}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True)
class Proportion:
    """A share of patients with its 95 % interval.

    Parameters
    ----------
    value : float
        The share that was seen, from 0 to 1.
    low, high : float
        Two-sided 95 % Wilson score interval.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class DownstreamResult:
    """One run of the protocol of the paper. Internal.

    Its threshold was chosen on the very patients that it is judged on, so its figures are
    better than a new patient would see; they are there to be compared with the paper's.

    Parameters
    ----------
    n_patients, n_positive : int
        Patients, and those of the positive class.
    n_features : int
        Columns that the classifier saw.
    seed : int
        Seed of the classifier's starting weights.
    threshold : float
        Chosen threshold: a probability at or above it is called positive.
    confusion : ConfusionMatrix
        At that threshold.
    accuracy, recall, specificity : Proportion
        With Wilson intervals, which treat the threshold as if it had been fixed before.
    majority : ConfusionMatrix
        Control: everybody is called what most patients are.
    """

    INTERNAL: ClassVar[bool] = True

    n_patients: int
    n_positive: int
    n_features: int
    seed: int
    threshold: float
    confusion: ConfusionMatrix
    accuracy: Proportion
    recall: Proportion
    specificity: Proportion
    majority: ConfusionMatrix

    def to_json(self) -> dict[str, Any]:
        """Give the result as plain data, marked internal.

        Returns
        -------
        dict
            The fields by name, the figures of both confusion matrices, and
            ``"internal": True``.
        """
        return {
            "internal": self.INTERNAL,
            **asdict(self),
            "figures": self.confusion.figures(),
            "majority_figures": self.majority.figures(),
        }


@dataclass(frozen=True)
class Figure:
    """A figure of a classifier over repeated rounds, each with its own noise, seed and folds.

    Parameters
    ----------
    mean : float
        Mean over the rounds.
    low, high : float
        95 % interval that carries both that there are few patients and that there are few
        rounds.
    one_round : float
        Standard deviation over the rounds: by how much one release, one training and one
        dealing of folds differ from the mean.
    """

    mean: float
    low: float
    high: float
    one_round: float


@dataclass(frozen=True)
class CalibrationBin:
    """Patients with a similar predicted probability.

    Parameters
    ----------
    n : float
        Patients in the bin, mean over the rounds.
    predicted, observed : float
        Mean predicted probability, and share of positive patients.
    """

    n: float
    predicted: float
    observed: float


@dataclass(frozen=True)
class Calibration:
    """Whether predicted probabilities mean what they say.

    Parameters
    ----------
    brier : float
        Mean squared difference of probability and outcome; 0 is perfect.
    brier_prevalence : float
        The same for somebody who always names the share of positive patients.
    mean_predicted, prevalence : float
        Mean predicted probability, and share of positive patients.
    error : float
        Expected calibration error: mean distance of predicted and observed over the bins.
    bins : tuple of CalibrationBin
        By predicted probability, from 0 to 1 in fifths; without empty ones.
    """

    brier: float
    brier_prevalence: float
    mean_predicted: float
    prevalence: float
    error: float
    bins: tuple[CalibrationBin, ...]


@dataclass(frozen=True)
class Performance:
    """How well patients were judged by models that had not seen them.

    Parameters
    ----------
    auc : Figure
        Probability that a positive patient is ranked above a negative one of the same fold.
    accuracy, balanced_accuracy, recall, specificity : Figure
        At thresholds that were chosen in the training part of each fold.
    f1 : Figure
        F1 score of the positive class, at the same thresholds.
    precision : Figure, optional
        Not defined where some round has no positive call.
    peeked_balanced_accuracy, peeked_f1 : Figure
        The same predictions with the threshold chosen on the test patients' own labels, as
        the paper does it: optimistic.
    calibration : Calibration
        Of the probabilities.
    """

    auc: Figure
    accuracy: Figure
    balanced_accuracy: Figure
    recall: Figure
    specificity: Figure
    f1: Figure
    precision: Figure | None
    peeked_balanced_accuracy: Figure
    peeked_f1: Figure
    calibration: Calibration

    @property
    def gap(self) -> float:
        """By how much the optimistic choice of threshold flatters the F1 score."""
        return self.peeked_f1.mean - self.f1.mean


@dataclass(frozen=True)
class Difference:
    """AUC of what is shared less AUC of the unprotected table, patient by patient.

    Parameters
    ----------
    mean, low, high : float
        Difference and its 95 % interval, paired over the same patients, folds and seeds.
    """

    mean: float
    low: float
    high: float

    @property
    def is_told_from_chance(self) -> bool:
        """Whether the interval leaves 0 out."""
        return not self.low <= 0 <= self.high

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        figures = f"{self.mean:+.2f} in AUC, 95 % interval {self.low:+.2f} to {self.high:+.2f}"
        if self.is_told_from_chance:
            words = "worse" if self.mean < 0 else "better"
            return f"It is {words} than the unprotected table, beyond chance ({figures})."
        return f"The difference to the unprotected table cannot be told from chance ({figures})."
