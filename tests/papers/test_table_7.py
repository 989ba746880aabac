"""The figures and intervals that the paper prints for its three confusion matrices (Table 7)."""

from __future__ import annotations

import pytest

from neuroveil.evaluate.downstream.scores import wilson
from neuroveil.types.downstream import ConfusionMatrix

# accuracy, precision, recall, specificity, balanced accuracy, F1
TABLE_7 = {
    "original": (ConfusionMatrix(9, 3, 2, 3), (0.706, 0.500, 0.600, 0.750, 0.675, 0.545)),
    "gaussian": (ConfusionMatrix(0, 12, 0, 5), (0.294, 0.294, 1.000, 0.000, 0.500, 0.455)),
    "laplace": (ConfusionMatrix(1, 11, 2, 3), (0.235, 0.214, 0.600, 0.083, 0.342, 0.316)),
}
# accuracy, recall, specificity (section 4.3.1)
WILSON = {
    "original": ((0.469, 0.867), (0.231, 0.882), (0.468, 0.911)),
    "gaussian": ((0.133, 0.531), (0.566, 1.000), (0.000, 0.242)),
    "laplace": ((0.096, 0.473), (0.231, 0.882), (0.015, 0.354)),
}


@pytest.mark.parametrize("table", TABLE_7)
def test_figures_follow_from_the_confusion_matrix(table: str) -> None:
    counted, printed = TABLE_7[table]
    assert tuple(counted.figures().values()) == pytest.approx(printed, abs=0.0005)


@pytest.mark.parametrize("table", WILSON)
def test_wilson_intervals_are_those_that_the_paper_prints(table: str) -> None:
    counted, _ = TABLE_7[table]
    right = counted.true_negative + counted.true_positive
    ours = (
        wilson(right, counted.n_patients),
        wilson(counted.true_positive, counted.n_positive),
        wilson(counted.true_negative, counted.n_negative),
    )
    for interval, printed in zip(ours, WILSON[table], strict=True):
        assert (interval.low, interval.high) == pytest.approx(printed, abs=0.0005)


def test_calling_everybody_negative_is_as_accurate_as_the_papers_classifier() -> None:
    nobody = ConfusionMatrix(12, 0, 5, 0)
    assert nobody.accuracy == TABLE_7["original"][0].accuracy
    assert nobody.balanced_accuracy == 0.5
