"""Sections about recordings: where they are, which channels, how they are cleaned."""

from __future__ import annotations

from typing import Literal

from neuroveil.errors import StudyMistake
from neuroveil.study.section import (
    Fraction,
    Names,
    PositiveFloat,
    Section,
    Unit,
    list_mistakes,
    nearest,
)
from neuroveil.types.catalogue import FEATURE_NAMES, STANDARD_CHANNELS


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
    highpass_hz: PositiveFloat | None = None
    lowpass_hz: PositiveFloat | None = None
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
        return list_mistakes("montage.channels", self.channels)


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
        return unknown + list_mistakes("features.names", self.names)
