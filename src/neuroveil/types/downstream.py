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
