"""``[linkage]``: which keys of the roster are one person."""

from __future__ import annotations

from typing import Literal

from neuroveil.errors import StudyMistake
from neuroveil.study.section import Names, Section, Text

Policy = Literal["pool", "keep_longest", "keep_newest", "hospital_order"]


class LinkageSettings(Section):
    """Who stands on the roster twice, and what becomes of it before anything is protected.

    The people file is the outcome of linkage, as ``neuroveil link resolve`` writes it: roster
    keys and numbers of people. It lies inside the trusted environment and is never published.
    Its size, not the roster's, is the n of a release. Rows that may be one person, of which
    nobody has decided it, are refused, or put together as if they were: nobody has two rows.
    """

    people: Text
    policy: Policy = "pool"
    column: Text | None = None
    order: Names = ()
    undecided: Literal["refuse", "together"] = "refuse"

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        found = []
        if (self.policy == "pool") != (self.column is None):
            found.append(StudyMistake(
                "linkage.column",
                "a column of the people file, and none for policy = 'pool'",
                "one" if self.column else "none",
                "Name the column that holds seconds, dates or hospitals.",
            ))  # fmt: skip
        if (self.policy == "hospital_order") != bool(self.order):
            found.append(StudyMistake(
                "linkage.order", "hospitals, first choice first, for 'hospital_order' only",
                f"{len(self.order)} entries", "List every hospital once.",
            ))  # fmt: skip
        if len(set(self.order)) != len(self.order):
            found.append(StudyMistake(
                "linkage.order", "each hospital once", "one that stands twice", "Remove one."
            ))  # fmt: skip
        return found
