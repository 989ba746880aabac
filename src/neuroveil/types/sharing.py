"""Ways of sharing a cohort, side by side: which of them leaves most for a classifier. Internal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from neuroveil.types.downstream import ConfusionMatrix, Difference, Figure, Performance

Trust = Literal["nobody", "shuffler", "curator", "everybody"]
"""Who has to be trusted with clear rows."""


@dataclass(frozen=True)
class WayFacts:
    """What a way of sharing is. Public.

    Parameters
    ----------
    key : str
        Short name, such as ``"private_training"``.
    label : str
        Name for a reader.
    detail : str
        How it is done, in a sentence.
    trust : {"nobody", "shuffler", "curator", "everybody"}
        Who has to be trusted with clear rows; everybody where nothing is protected.
    epsilon, delta : float, optional
        Guarantee for one patient; none where nothing is protected.
    covers_labels : bool
        Whether the guarantee is for row and label together.
    """

    key: str
    label: str
    detail: str
    trust: Trust
    epsilon: float | None
    delta: float | None
    covers_labels: bool

    @property
    def is_complete(self) -> bool:
        """Whether everything that is shared of a patient is under the guarantee."""
        return self.epsilon is not None and self.covers_labels


@dataclass(frozen=True)
class Control:
    """The same procedure with labels that were permuted: what chance gives.

    Parameters
    ----------
    auc, balanced_accuracy : Figure
        Near 0.5.
    """

    auc: Figure
    balanced_accuracy: Figure


@dataclass(frozen=True)
class Check:
    """One way of judging a classifier, with its control and the unprotected table beside it.

    Parameters
    ----------
    performance : Performance
        How well patients were judged.
    control : Control
        The same with permuted labels.
    difference : Difference, optional
        To the unprotected table; none for the unprotected table itself.
    """

    performance: Performance
    control: Control
    difference: Difference | None

    @property
    def is_told_from_guessing(self) -> bool:
        """Whether the interval of the area lies above one half."""
        return self.performance.auc.low > 0.5


@dataclass(frozen=True)
class PaperCheck:
    """The protocol of the paper over repeated rounds: leave one out, threshold chosen on all.

    Parameters
    ----------
    accuracy, balanced_accuracy, f1 : Figure
        Optimistic: the threshold has seen the labels that it is judged by.
    thresholds : tuple of float
        Smallest and largest threshold that was chosen.
    """

    accuracy: Figure
    balanced_accuracy: Figure
    f1: Figure
    thresholds: tuple[float, float]


@dataclass(frozen=True)
class WayResult:
    """What a classifier makes of one way of sharing.

    Parameters
    ----------
    way : WayFacts
        The way.
    model, model_label : str
        Key of the classifier, and its name for a reader.
    in_table : Check, optional
        People in the shared table, judged by their shared rows, as in the paper; none where
        no rows are shared.
    new_people : Check
        People whose own row stays clear, judged by what was learned from what is shared.
    paper : PaperCheck, optional
        The protocol of the paper, for its classifier.
    """

    way: WayFacts
    model: str
    model_label: str
    in_table: Check | None
    new_people: Check
    paper: PaperCheck | None


@dataclass(frozen=True)
class LabelCounts:
    """How patients were put into classes. Internal: counts of a private label.

    Parameters
    ----------
    column : str
        Column of the roster.
    rule : str
        What makes a patient positive, in words.
    n_positive, n_negative, n_left_out : int
        Patients of both classes, and patients without a usable label.
    review : mapping of str to int
        How many patients need a look by a person, by reason.
    """

    column: str
    rule: str
    n_positive: int
    n_negative: int
    n_left_out: int
    review: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SharingTable:
    """All ways of sharing one cohort at one guarantee, side by side. Internal.

    Parameters
    ----------
    labels : LabelCounts
        The classes.
    n_patients, n_features : int
        Patients with a label, and columns.
    epsilon, delta : float
        The guarantee that all protected ways are held to.
    n_rounds : int
        Rounds, each with its own noise, folds and starting weights.
    seed : int
        Seed of all of it.
    majority : ConfusionMatrix
        Control: everybody is called what most are.
    results : tuple of WayResult
        One entry a way and classifier.
    has_public_scaling : bool
        Whether rows were scaled with public constants; with the cohort's own there is no
        end-to-end guarantee at all.
    draws_scaling : bool
        Whether the study draws its constants under its budget when it releases. Rows here are
        scaled with the public ones all the same.
    """

    INTERNAL: ClassVar[bool] = True

    labels: LabelCounts
    n_patients: int
    n_features: int
    epsilon: float
    delta: float
    n_rounds: int
    seed: int
    majority: ConfusionMatrix
    results: tuple[WayResult, ...]
    has_public_scaling: bool = True
    draws_scaling: bool = False

    @property
    def ranked(self) -> tuple[WayResult, ...]:
        """The best classifier of each way, by its area for new people, largest first."""
        best: dict[str, WayResult] = {}
        for result in self.results:
            known = best.get(result.way.key)
            if known is None or _area(result) > _area(known):
                best[result.way.key] = result
        return tuple(sorted(best.values(), key=_area, reverse=True))

    @property
    def verdict(self) -> str:
        """Which way leaves most, in words, and whether that means anything."""
        complete = [result for result in self.ranked if result.way.is_complete]
        unprotected = next((result for result in self.ranked if result.way.epsilon is None), None)
        sentences = []
        if not self.has_public_scaling:
            sentences.append(
                "Rows are scaled with the cohort's own statistics, so that none of these "
                "guarantees holds from end to end."
            )
        if self.draws_scaling:
            sentences.append(
                "Rows are scaled with the public constants here. A release of this study draws "
                "constants of its own, for a price beside this epsilon, and leaves something else."
            )
        if unprotected is not None and not unprotected.new_people.is_told_from_guessing:
            sentences.append(
                "Not even the unprotected table is seen to tell these classes apart better than "
                "guessing, so nothing can be said about what protection takes away."
            )
        if complete:
            first = complete[0]
            area = first.new_people.performance.auc
            words = f"{first.way.label} ({area.mean:.2f}, {area.low:.2f} to {area.high:.2f})"
            if first.new_people.is_told_from_guessing:
                sentences.append(f"Under one guarantee for row and label most is left by {words}.")
            else:
                sentences.append(
                    "Under one guarantee for row and label no way is told from guessing; the "
                    f"largest area is that of {words}."
                )
        return " ".join(sentences)

    def to_json(self) -> dict[str, Any]:
        """Give the table as plain data, marked internal.

        Returns
        -------
        dict
            The fields by name, the verdict, and ``"internal": True``.
        """
        document = asdict(self)
        for result, plain in zip(self.results, document["results"], strict=True):
            for name in ("in_table", "new_people"):
                check: Check | None = getattr(result, name)
                if check is not None:
                    plain[name]["told_from_guessing"] = check.is_told_from_guessing
                    plain[name]["gap"] = check.performance.gap
                if check is not None and check.difference is not None:
                    plain[name]["difference"]["sentence"] = check.difference.sentence
        return {"internal": self.INTERNAL, **document, "verdict": self.verdict}


def _area(result: WayResult) -> float:
    return result.new_people.performance.auc.mean
