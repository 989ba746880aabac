"""From a roster column to two classes. The column's values stay where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuroveil.evaluate.downstream.keywords import KeywordRule, Reason, label_reports
from neuroveil.types.sharing import LabelCounts

_UNKNOWN = frozenset({"", "n/a", "na", "nan", "unknown", "?", "none"})

DIFFERS_FROM_PAPER = "negation_ignored_by_the_paper"


@dataclass(frozen=True, repr=False)
class PatientLabels:
    """One class a patient, or none. Private.

    Parameters
    ----------
    values : tuple of bool or None
        True for the positive class; ``None`` for patients that are left out.
    reasons : tuple of Reason or None
        Why a person should look at a patient's report, where one should.
    column, rule : str
        Column of the roster, and what makes a patient positive, in words.
    extra : mapping of str to int
        Further counts for the review list.
    """

    values: tuple[bool | None, ...]
    reasons: tuple[Reason | None, ...]
    column: str
    rule: str
    extra: Mapping[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> LabelCounts:
        """How many patients are in which class. Internal."""
        review: dict[str, int] = {}
        for reason in self.reasons:
            if reason is not None:
                review[reason] = review.get(reason, 0) + 1
        return LabelCounts(
            column=self.column,
            rule=self.rule,
            n_positive=sum(value is True for value in self.values),
            n_negative=sum(value is False for value in self.values),
            n_left_out=sum(value is None for value in self.values),
            review={**dict(sorted(review.items())), **self.extra},
        )


def labels_by_value(values: Sequence[str], positive: Sequence[str], column: str) -> PatientLabels:
    """Call patients positive whose value is one of a list.

    Parameters
    ----------
    values : sequence of str
        One entry a patient, as it stands in the roster. Private.
    positive : sequence of str
        Values of the positive class.
    column : str
        Name of the column, for the record.

    Returns
    -------
    PatientLabels
        Empty and unknown values are left out; all others are negative.
    """
    found = tuple(
        None if value.strip().casefold() in _UNKNOWN else value.strip() in positive
        for value in values
    )
    rule = f"positive: {', '.join(positive)}; all other known values negative"
    return PatientLabels(found, (None,) * len(found), column, rule)


def labels_by_keyword(reports: Sequence[str], rule: KeywordRule, column: str) -> PatientLabels:
    """Call patients positive whose report affirms a term.

    Parameters
    ----------
    reports : sequence of str
        Free text, one a patient. Private.
    rule : KeywordRule
        Terms.
    column : str
        Name of the column, for the record.

    Returns
    -------
    PatientLabels
        Reports without text or with uncertain terms only are left out.
    """
    found = label_reports(reports, rule)
    words = f"positive: a report that affirms one of {', '.join(map(repr, rule.terms))}"
    extra = {DIFFERS_FROM_PAPER: found.n_differs_from_paper} if found.n_differs_from_paper else {}
    return PatientLabels(found.labels, found.reasons, column, words, extra)
