"""What every site of a project must set alike before encodings can be compared.

A linkage schema is public. It says which columns of a patient list are used, how they are read,
and how they become bits; the keys are what is secret. Its digest goes with every encoding, so
that two sites with different schemas find out before they compare anything.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, Strict

from neuroveil.errors import StudyError, StudyMistake
from neuroveil.linkage.identifiers import (
    ENCODING_VERSION,
    Check,
    IdentifierRules,
)
from neuroveil.study.section import Section, Text
from neuroveil.study.validation import read_toml, validated

Kind = Literal["name", "full_name", "date", "postcode", "text", "number", "category"]
Hardening = Literal["xor_fold", "rule_90", "diffusion", "sliding_xor", "blip"]
Length = Literal[256, 512, 1024, 2048, 4096]
Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


class IdentifierSection(Section):
    """``[identifier]``: how patient numbers are read; see :class:`IdentifierRules`.

    Parameters
    ----------
    column : str
        Column of the patient list.
    scheme, pattern, check, check_digits : str
        As in :class:`~neuroveil.linkage.identifiers.IdentifierRules`.
    test_people : bool
        As there.
    as_of_year : int
        As there.
    """

    column: Text
    scheme: Text
    pattern: str = ""
    check: Check = "none"
    check_digits: Literal["refuse", "accept"] = "refuse"
    test_people: bool = False
    as_of_year: Annotated[int, Field(ge=1950, le=2150)] = 2025

    def mistakes(self) -> list[StudyMistake]:
        """List rules that do not fit together.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        try:
            self.rules()
        except StudyError as error:
            return list(error.mistakes)
        return []

    def rules(self) -> IdentifierRules:
        """Give the rules as the encoder takes them.

        Returns
        -------
        IdentifierRules
            Checked rules.
        """
        return IdentifierRules(
            self.scheme, self.pattern, self.check, self.check_digits, self.test_people,
            self.as_of_year,
        )  # fmt: skip


class FieldSection(Section):
    """``[[field]]``: one column that becomes bits.

    Parameters
    ----------
    name : str
        Name of the field, the same at every site.
    column : str
        Column of the patient list; empty for the field's name.
    kind : str
        How values are read: ``name``, ``full_name`` (order does not matter), ``date``,
        ``postcode``, ``text``, ``number`` or ``category``.
    weight : float
        How many bits a piece of the field sets, relative to the others: more for fields that
        tell people apart and seldom change.
    typical_grams : float
        How many pieces a value has on average. It sets the number of bits, from public or
        simulated lists, never from the list at hand.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    column: str = ""
    kind: Kind
    weight: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] = 1.0
    typical_grams: Annotated[float, Field(ge=1, le=200, allow_inf_nan=False)] = 8.0


class EncodingSection(Section):
    """``[encoding]``: how pieces of fields become bits.

    Parameters
    ----------
    length : int
        Bits of an encoding before folding.
    fill : float
        Share of bits that a typical record sets; 0.25 to 0.35 hides most at no cost.
    salt_field : str
        Field whose value salts every other one, such as the year of birth: it must be one that
        never changes and is never misspelt, since records that differ in it no longer look
        alike at all. Empty for none.
    date_order : {"dmy", "mdy"}
        What ``01/02/1970`` means in this site's file.
    hardening : tuple of str
        What is done to the bits afterwards, in this order.
    blip_flip : float
        Probability with which ``blip`` flips a bit.
    """

    length: Length = 1024
    fill: Annotated[float, Field(ge=0.05, le=0.5)] = 0.3
    salt_field: str = ""
    date_order: Literal["dmy", "mdy"] = "dmy"
    hardening: Annotated[tuple[Hardening, ...], Strict(False)] = ()
    blip_flip: Annotated[float, Field(gt=0, lt=0.5)] = 0.02


class MatchingSection(Section):
    """``[matching]``: what counts as the same person.

    Parameters
    ----------
    threshold : float
        Dice similarity from which two records are the same person.
    review_from : float
        Similarity from which a person should look at a pair; at most the threshold.
    learned_on : str
        Which pairs the thresholds come from, in words. They move with the hardening, so they
        belong to the schema.
    """

    threshold: Share = 0.8
    review_from: Share = 0.7
    learned_on: str = "not learned: default values"

    def mistakes(self) -> list[StudyMistake]:
        """List rules that do not fit together.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        if self.review_from <= self.threshold:
            return []
        return [StudyMistake(
            "matching.review_from", "at most matching.threshold", "more", "Exchange the two."
        )]  # fmt: skip


class LinkageSchema(Section):
    """A whole schema.

    Parameters
    ----------
    name : str
        Name of the project.
    identifier : IdentifierSection, optional
        How patient numbers are read, where the sites share a kind of number.
    field : tuple of FieldSection
        What approximate linkage compares; may be empty.
    encoding : EncodingSection
        How fields become bits.
    matching : MatchingSection
        What counts as the same person.
    """

    name: Text
    identifier: IdentifierSection | None = None
    field: Annotated[tuple[FieldSection, ...], Strict(False)] = ()
    encoding: EncodingSection = EncodingSection()
    matching: MatchingSection = MatchingSection()

    def mistakes(self) -> list[StudyMistake]:
        """List rules that do not fit together.

        Returns
        -------
        list of StudyMistake
            Empty where the schema is consistent.
        """
        found = []
        names = [each.name for each in self.field]
        if len(set(names)) != len(names):
            found.append(StudyMistake(
                "field.name", "each name once", "one that stands twice", "Rename a field."
            ))  # fmt: skip
        if self.identifier is None and not self.field:
            found.append(StudyMistake(
                "identifier", "an [identifier], at least one [[field]], or both", "neither",
                "Say what patients are known by.",
            ))  # fmt: skip
        salt = self.encoding.salt_field
        if salt and salt not in names:
            found.append(StudyMistake(
                "encoding.salt_field", "the name of a field", "another", "Add the field."
            ))  # fmt: skip
        if len(set(self.encoding.hardening)) != len(self.encoding.hardening):
            found.append(StudyMistake(
                "encoding.hardening", "each step once", "one that stands twice", "Leave one out."
            ))  # fmt: skip
        return found

    @property
    def digest(self) -> str:
        """SHA-256 over what must be alike at every site: all but columns, order and thresholds."""
        document = self.model_dump(mode="json")
        for field in document["field"]:
            field.pop("column")
        if document["identifier"]:
            document["identifier"].pop("column")
        document["encoding"].pop("date_order")
        document.pop("matching")
        document["encoding_version"] = ENCODING_VERSION
        text = json.dumps(document, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def load_schema(path: Path) -> LinkageSchema:
    """Read a linkage schema.

    Parameters
    ----------
    path : Path
        A TOML file.

    Returns
    -------
    LinkageSchema
        Checked settings.

    Raises
    ------
    StudyError
        With every mistake that was found.
    """
    document = read_toml(path, "linkage schema", "Write one with `neuroveil link init`.")
    return validated(LinkageSchema, document)
