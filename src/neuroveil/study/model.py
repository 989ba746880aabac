"""The study's sections as strict, frozen models.

Every section checks its own cross-field rules in ``mistakes``; the loader gathers the
mistakes of all sections, so that a person sees them all at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator

from neuroveil.errors import StudyMistake
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS

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
    """Carries the mistakes of one section through pydantic's own error collection."""

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


def _list_mistakes(where: str, values: tuple[str, ...]) -> list[StudyMistake]:
    if values and len(set(values)) == len(values):
        return []
    found = "a name that stands twice" if values else "an empty list"
    return [StudyMistake(where, "at least one name, each once", found, "Correct the list.")]


class InputSettings(Section):
    """Where recordings and patients come from.

    Patients come from the roster: a BIDS ``participants.tsv``, a manifest, a file-name
    pattern, or an explicit list; never from a recording's header.
    """

    layout: Literal["bids", "manifest", "pattern"] = "bids"
    folder: str = "."
    manifest: str | None = None
    pattern: str | None = None
    participants: str | None = None
    patients: Names | None = None
    sessions: Names | None = None
    unit: Unit | None = None
    unit_override: Unit | None = None
    file_channels: Names = ()
    sfreq_hz: PositiveFloat | None = None
    population: Literal["adults", "children", "elderly", "sleep", "mixed"] | None = None

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        found = []
        needs = {"manifest": ("manifest", self.manifest), "pattern": ("pattern", self.pattern)}
        for layout, (field, value) in needs.items():
            if self.layout == layout and value is None:
                found.append(StudyMistake(
                    f"input.{field}", f"a value, since layout = {layout!r}", "nothing",
                    f"Add `{field} = ...` to [input], or choose another layout.",
                ))  # fmt: skip
            if self.layout != layout and value is not None:
                found.append(StudyMistake(
                    f"input.{field}", f"nothing, since layout = {self.layout!r}", "a value",
                    f"Remove `{field}`, or set layout = {layout!r}.",
                ))  # fmt: skip
        if self.pattern is not None and "{patient}" not in self.pattern:
            found.append(StudyMistake(
                "input.pattern", "a pattern with {patient} in it", "one without",
                'Write it like "{patient}_{session}.edf".',
            ))  # fmt: skip
        return found


class MontageSettings(Section):
    """Which channels are released, in which order."""

    channels: Names = STANDARD_CHANNELS
    kind: Literal["referential", "bipolar"] = "referential"

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        return _list_mistakes("montage.channels", self.channels)


class RejectionOptions(Section):
    """When a window or a channel is left out; counts stay in the internal report."""

    enabled: bool = True
    amplitude_uv: PositiveFloat | None = None
    flat_uv: PositiveFloat | None = None
    clipping_fraction: Fraction | None = None
    bad_channel_fraction: Fraction | None = None
    bad_window_fraction: Fraction | None = None


class SignalOptions(Section):
    """How signals are cleaned before features are taken."""

    preset: Literal["harmonised", "paper"] = "harmonised"
    line_frequency_hz: Literal[50, 60] = 50
    highpass_hz: PositiveFloat | None = None
    lowpass_hz: PositiveFloat | None = None
    eog_regression: bool = True
    rejection: RejectionOptions = RejectionOptions()


class FeatureSettings(Section):
    """Which features of the catalogue are released."""

    names: Names = FEATURE_NAMES

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        unknown = [
            StudyMistake(
                f"features.names.{position + 1}", "a feature of the catalogue", repr(name),
                nearest(name, FEATURE_NAMES),
            )
            for position, name in enumerate(self.names)
            if name not in FEATURE_NAMES
        ]  # fmt: skip
        return unknown + _list_mistakes("features.names", self.names)


class ReferenceSettings(Section):
    """Where centre and spread of every column come from."""

    scaling: Literal["public_reference", "private_statistics"] = "public_reference"
    name: str | None = None
    acknowledge_no_guarantee: bool = False

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        if self.scaling == "private_statistics" and not self.acknowledge_no_guarantee:
            return [StudyMistake(
                "reference.acknowledge_no_guarantee", "true, since scaling = 'private_statistics'",
                "false",
                "Scaling with the cohort's own median and spread voids the end-to-end "
                "guarantee. Use scaling = 'public_reference', or acknowledge it.",
            )]  # fmt: skip
        return []


class BudgetSettings(Section):
    """What may be spent on these patients over all releases, ever."""

    epsilon: PositiveFloat
    delta: Delta


class PrivacySettings(Section):
    """The promise."""

    unit: Literal["patient"] = "patient"
    adjacency: Literal["replace_one"] = "replace_one"
    trust_model: Literal["local"] = "local"
    epsilon: PositiveFloat | None = None
    delta: Delta | None = None
    delta_justification: Text | None = None
    mechanism: Literal["gaussian", "laplace", "paper_laplace"] = "gaussian"
    norm: Literal["l2", "l1"] = "l2"
    clip_norm: PositiveFloat = 2.0
    ledger: str = "ledger.sqlite"
    budget: BudgetSettings | None = None

    @property
    def row_delta(self) -> float:
        """Delta of the row release: as set, else 1e-5 for gaussian and 0 for laplace."""
        if self.delta is not None:
            return self.delta
        return 1e-5 if self.mechanism == "gaussian" else 0.0

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        found = []
        if self.mechanism == "gaussian" and self.delta == 0:
            found.append(StudyMistake(
                "privacy.delta", "more than 0 for the gaussian mechanism", "0",
                "Set delta = 1e-5, or use mechanism = 'laplace' for pure epsilon.",
            ))  # fmt: skip
        if self.mechanism != "gaussian" and self.delta not in (None, 0):
            found.append(StudyMistake(
                "privacy.delta", f"0 for {self.mechanism}", "more than 0",
                "Leave delta out: this mechanism's claim is pure epsilon.",
            ))  # fmt: skip
        if self.mechanism != "laplace" and self.norm == "l1":
            found.append(StudyMistake(
                "privacy.norm", f"'l2' for {self.mechanism}", "'l1'",
                "Only laplace works with a direct L1 clip.",
            ))  # fmt: skip
        return found


class LabelSettings(Section):
    """What happens to one roster column such as diagnosis, age or sex."""

    column: Text
    policy: Literal["left_out", "randomised_response", "unprotected"] = "left_out"
    categories: Names | None = None
    bins: Annotated[tuple[float, ...], Strict(False)] | None = None
    epsilon: PositiveFloat | None = None
    acknowledge_unprotected: bool = False

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        if self.policy == "left_out":
            return []
        where = f"labels.{self.column}"
        found = []
        if (self.categories is None) == (self.bins is None):
            found.append(StudyMistake(
                where, "either `categories` or `bins`", "both or none",
                "List the possible values in public, before looking at the patients.",
            ))  # fmt: skip
        if len(self.category_names) < 2 or len(set(self.category_names)) < len(self.category_names):
            found.append(StudyMistake(
                where, "at least two different categories", f"{len(self.category_names)}",
                "List every possible value once (for `bins`, at least three rising edges).",
            ))  # fmt: skip
        if self.bins is not None and list(self.bins) != sorted(set(self.bins)):
            found.append(StudyMistake(
                f"{where}.bins", "rising edges", "others", "Sort the edges, each once.",
            ))  # fmt: skip
        if self.policy == "randomised_response" and self.epsilon is None:
            found.append(StudyMistake(
                f"{where}.epsilon", "a positive number", "nothing",
                "Say what this label may spend; it is charged on top of the rows.",
            ))  # fmt: skip
        if self.policy == "unprotected" and not self.acknowledge_unprotected:
            found.append(StudyMistake(
                f"{where}.acknowledge_unprotected", "true, since policy = 'unprotected'", "false",
                "This column would leave the hospital as it is. Choose "
                "'randomised_response', or acknowledge it.",
            ))  # fmt: skip
        return found

    @property
    def category_names(self) -> tuple[str, ...]:
        """All values that the released column can have, in public order."""
        if self.categories is not None:
            return self.categories
        edges = self.bins or ()
        return tuple(f"[{low:g}, {high:g})" for low, high in pairwise(edges))

    def categorise(self, value: str) -> str | None:
        """Put one roster value into its public category.

        Parameters
        ----------
        value : str
            The cell as it stands in the roster.

        Returns
        -------
        str or None
            The category, or None where the value fits none.
        """
        text = value.strip()
        if self.categories is not None:
            return text if text in self.categories else None
        try:
            number = float(text)
        except ValueError:
            return None
        edges = self.bins or ()
        pairs = pairwise(edges)
        for name, (low, high) in zip(self.category_names, pairs, strict=True):
            if low <= number < high:
                return name
        return None


class OutputSettings(Section):
    """Where results go; the two folders never meet."""

    internal: str = "internal"
    release: str = "release"

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one field.

        Returns
        -------
        list of StudyMistake
            Empty where the section is consistent.
        """
        internal, release = Path(self.internal), Path(self.release)
        if internal == release or internal in release.parents or release in internal.parents:
            return [StudyMistake(
                "output", "two folders, neither inside the other", "folders that meet",
                "Internal results hold patient rows and must not travel with a release.",
            )]  # fmt: skip
        return []


class Study(Section):
    """A whole study, checked.

    The section names are the study file's, in the order of the chain.
    """

    input: InputSettings = InputSettings()
    montage: MontageSettings = MontageSettings()
    signal: SignalOptions = SignalOptions()
    features: FeatureSettings = FeatureSettings()
    reference: ReferenceSettings = ReferenceSettings()
    privacy: PrivacySettings = PrivacySettings()
    labels: Annotated[tuple[LabelSettings, ...], Strict(False)] = ()
    output: OutputSettings = OutputSettings()
    root: Path = Field(default=Path(), exclude=True)
    overrides: tuple[str, ...] = Field(default=(), exclude=True)

    def mistakes(self) -> list[StudyMistake]:
        """List violated rules that involve more than one section.

        Returns
        -------
        list of StudyMistake
            Empty where the study is consistent.
        """
        columns = [label.column for label in self.labels]
        if len(set(columns)) == len(columns):
            return []
        return [StudyMistake(
            "labels", "each column once", "a column that stands twice",
            "A label that is released twice is spent twice: keep one block a column.",
        )]  # fmt: skip

    def path(self, relative: str) -> Path:
        """Resolve a path of the study file.

        Parameters
        ----------
        relative : str
            As written in the study; relative to the study file's folder.

        Returns
        -------
        Path
            The resolved path.
        """
        return (self.root / relative).resolve()
