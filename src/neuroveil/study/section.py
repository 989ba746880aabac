"""What all sections of a study have in common: strictness, and mistakes with places."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator

from neuroveil.errors import StudyMistake

PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Delta = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]
Fraction = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]
Unit = Literal["V", "mV", "uV", "nV"]
Names = Annotated[tuple[Text, ...], Strict(False)]  # a TOML array is a list


def nearest(value: object, options: Iterable[str]) -> str:
    """Suggest the option that was probably meant.

    Parameters
    ----------
    value : object
        What was written.
    options : iterable of str
        What could have been written.

    Returns
    -------
    str
        A remedy in one sentence.
    """
    options = list(options)
    close = difflib.get_close_matches(str(value), options, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Choose one of: {', '.join(options)}."


class SectionMistakes(ValueError):
    """Carries the mistakes of one section through pydantic's own error collection.

    Parameters
    ----------
    mistakes : list of StudyMistake
        At least one.
    """

    def __init__(self, mistakes: list[StudyMistake]) -> None:
        self.mistakes = mistakes
        super().__init__(f"{len(mistakes)} mistakes")


class Section(BaseModel):
    """Base of all sections: nothing unknown, nothing coerced, nothing changed later."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        return []

    @model_validator(mode="after")
    def _check(self) -> Section:
        mistakes = self.mistakes()
        if mistakes:
            raise SectionMistakes(mistakes)
        return self


def list_mistakes(where: str, values: tuple[str, ...]) -> list[StudyMistake]:
    """List what is wrong with a list of names.

    Parameters
    ----------
    where : str
        Dotted name of the list.
    values : tuple of str
        The names.

    Returns
    -------
    list of StudyMistake
        Empty where there is at least one name, each once.
    """
    if values and len(set(values)) == len(values):
        return []
    found = "a name that stands twice" if values else "an empty list"
    return [StudyMistake(where, "at least one name, each once", found, "Correct the list.")]
