"""The section about what a classifier should tell apart; read by `neuroveil evaluate` only."""

from __future__ import annotations

from typing import Literal

from neuroveil.errors import StudyMistake
from neuroveil.study.section import Names, Section, Text


class EvaluationSettings(Section):
    """Which roster column is the label, and what makes a patient positive."""

    label: Text | None = None
    rule: Literal["values", "keywords"] = "values"
    positive: Names | None = None
    terms: Names | None = None
    neutral_terms: Names | None = None

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        found = []
        if self.label is not None and self.rule == "values" and not self.positive:
            found.append(StudyMistake(
                "evaluation.positive", "at least one value, since rule = 'values'", "none",
                "List the values that make a patient positive, or set rule = 'keywords' for "
                "free text.",
            ))  # fmt: skip
        if self.rule == "keywords" and self.positive:
            found.append(StudyMistake(
                "evaluation.positive", "nothing, since rule = 'keywords'", "values",
                "Key words are listed under `terms`; remove `positive`.",
            ))  # fmt: skip
        if self.rule == "values" and (self.terms or self.neutral_terms):
            found.append(StudyMistake(
                "evaluation.terms", "nothing, since rule = 'values'", "terms",
                "Set rule = 'keywords' to look for terms in free text.",
            ))  # fmt: skip
        return found
