"""What a study says about how its recordings are to be read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuroveil.errors import RecordingError, StudyError, StudyMistake
from neuroveil.recordings.channels import canonical_channel, parse_label
from neuroveil.recordings.units import unit_factor
from neuroveil.types.catalogue import STANDARD_CHANNELS
from neuroveil.types.recording import Montage


@dataclass(frozen=True)
class ReadOptions:
    """How recordings are read. Public settings of the study, the same for every file.

    Parameters
    ----------
    channels : tuple of str
        The montage: canonical names, for example ``"T7"``, or ``"F7-T7"`` if bipolar.
    montage : {"referential", "bipolar"}
        Bipolar channels of a file are used only where this says so.
    unit : str, optional
        Unit of the files that do not state one, for example ``"uV"``. A unit that a file
        does state is used as it stands.
    unit_override : str, optional
        Unit of all files whatever they state, for an export that is known to be wrong.
    sfreq : float, optional
        Sampling rate in Hz of the files that do not state one.
    highpass_hz, lowpass_hz : float, optional
        Filters applied before the files were written, in Hz, whatever the files state.
    file_channels : tuple of str
        Labels of a file's channels in the file's order, for MAT and HDF5 files without
        names.
    role : str
        What an error calls this file, for example ``"recording 3 of 41"``. Never a path or
        a patient key.

    Raises
    ------
    StudyError
        If a name is not canonical or stands twice, a unit is unknown, or a frequency is
        not positive. All mistakes at once.
    """

    channels: tuple[str, ...] = STANDARD_CHANNELS
    montage: Montage = "referential"
    unit: str | None = None
    unit_override: str | None = None
    sfreq: float | None = None
    highpass_hz: float | None = None
    lowpass_hz: float | None = None
    file_channels: tuple[str, ...] = ()
    role: str = "recording"

    def __post_init__(self) -> None:
        mistakes = [*self._montage_mistakes(), *self._number_mistakes()]
        if mistakes:
            raise StudyError(mistakes)

    def refusal(self, expected: str, found: str, remedy: str, code: str) -> RecordingError:
        """Make the error that refuses this file.

        Parameters
        ----------
        expected, found, remedy, code : str
            As in :class:`~neuroveil.errors.RecordingError`.

        Returns
        -------
        RecordingError
            To be raised; names the file by its role only.
        """
        return RecordingError(self.role, expected, found, remedy, code)

    def _montage_mistakes(self) -> list[StudyMistake]:
        """List names that could never be found in a file, or would be found twice."""
        mistakes: list[StudyMistake] = []
        if not self.channels or len(set(self.channels)) != len(self.channels):
            mistakes.append(StudyMistake(
                "montage.channels", "at least one channel, each once",
                f"{len(self.channels)} names, {len(set(self.channels))} different",
                "List every channel once.",
            ))  # fmt: skip
        for name in self.channels:
            kind, canonical = parse_label(name).kind, canonical_channel(name)
            wanted = "eeg" if self.montage == "referential" else "bipolar"
            if kind != wanted:
                mistakes.append(StudyMistake(
                    "montage.channels", f"channels that fit a {self.montage} montage",
                    f"{name!r}",
                    "Use names of the 10-20 and 10-10 systems, or pairs of them for a bipolar "
                    "montage; ear and mastoid electrodes cannot be part of it.",
                ))  # fmt: skip
            elif canonical != name:
                mistakes.append(StudyMistake(
                    "montage.channels", f"the canonical name {canonical!r}", f"{name!r}",
                    f"Write {canonical!r}.",
                ))  # fmt: skip
        return mistakes

    def _number_mistakes(self) -> list[StudyMistake]:
        """List unknown units and frequencies that are not positive numbers."""
        mistakes: list[StudyMistake] = []
        for name in ("unit", "unit_override"):
            unit = getattr(self, name)
            if unit is not None and unit_factor(unit) is None:
                mistakes.append(StudyMistake(
                    f"input.{name}", "'nV', 'uV', 'mV' or 'V'", f"{unit!r}",
                    "Write one of these.",
                ))  # fmt: skip
        for name in ("sfreq", "highpass_hz", "lowpass_hz"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                mistakes.append(StudyMistake(
                    f"input.{name}", "a positive number of Hz", f"{value}",
                    "Correct it, or leave it out.",
                ))  # fmt: skip
        return mistakes
