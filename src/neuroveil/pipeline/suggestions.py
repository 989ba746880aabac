"""Settings that would make more recordings usable, tried out on a few of them.

A suggestion comes from what files are and say: units, filters, labels. What to set is for
the person who knows how the files were made; nothing is set by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neuroveil.errors import MachineError, RecordingError
from neuroveil.recordings import ReadOptions, RecordingSummary, bipolar_channels, inspect_recording

N_TRIED = 5
"""Recordings that a setting is tried on before it is suggested."""

_UNITS = ("uV", "mV", "V", "nV")


@dataclass(frozen=True)
class Suggestion:
    """A setting of the study to consider.

    Parameters
    ----------
    setting : str
        Dotted name, for example ``"input.unit"``.
    value : object
        What to set, or None where only a person can know it.
    why : str
        One sentence.
    n_recordings : int
        Recordings that it concerns.
    """

    setting: str
    value: object
    why: str
    n_recordings: int

    def line(self) -> str:
        """Write the setting as in a study file.

        Returns
        -------
        str
            For example ``input.unit = "uV"``.
        """
        return f"{self.setting} = {'...' if self.value is None else _toml(self.value)}"


def suggest_settings(
    refused: dict[str, list[Path]],
    usable: Sequence[tuple[Path, RecordingSummary]],
    options: ReadOptions,
) -> tuple[Suggestion, ...]:
    """Suggest settings from what was found in all recordings.

    Parameters
    ----------
    refused : dict of str to list of Path
        Recordings that cannot be used, by the code of their problem.
    usable : sequence of (Path, RecordingSummary)
        The others, and what they are.
    options : ReadOptions
        How they were read.

    Returns
    -------
    tuple of Suggestion
        Those that concern most recordings first.
    """
    found: list[Suggestion] = []
    fine, summaries = [path for path, _ in usable], [summary for _, summary in usable]
    for code, setting in (("unit_unknown", "unit"), ("implausible_amplitude", "unit_override")):
        found += _unit(setting, refused.get(code, []), fine, options)
    found += _bipolar(refused.get("bipolar_file", []), len(usable), options)
    found += _unknown(refused)
    found += _filters(summaries, options)
    found += _never_there(summaries, options)
    return tuple(sorted(found, key=lambda s: -s.n_recordings))


def _some(paths: Sequence[Path]) -> list[Path]:
    """A few of many, spread evenly."""
    step = max(1, len(paths) // N_TRIED)
    return list(paths[::step][:N_TRIED])


def _works(path: Path, options: ReadOptions) -> bool:
    """Whether a recording can be used with other settings."""
    try:
        inspect_recording(path, options)
    except (RecordingError, MachineError, OSError, MemoryError):
        return False
    return True


def _unit(
    setting: str, paths: list[Path], fine: list[Path], options: ReadOptions
) -> list[Suggestion]:
    """Find the units in which these recordings can be EEG and those that were fine still are."""
    if not paths:
        return []
    some = [*_some(paths), *_some(fine)]
    changed = {
        unit: replace(options, unit=unit)
        if setting == "unit"
        else replace(options, unit_override=unit)
        for unit in _UNITS
    }
    fitting = [unit for unit in _UNITS if all(_works(path, changed[unit]) for path in some)]
    if not fitting:
        return []
    others = f", and so are they in {' or '.join(fitting[1:])}" if fitting[1:] else ""
    return [Suggestion(
        f"input.{setting}", fitting[0], f"In {fitting[0]} the amplitudes are those of "
        f"EEG{others}. Set it if you know that the files are in this unit.", len(paths),
    )]  # fmt: skip


def _bipolar(paths: list[Path], n_usable: int, options: ReadOptions) -> list[Suggestion]:
    """Suggest the bipolar montage where most recordings are bipolar."""
    if len(paths) <= n_usable:
        return []
    pairs: Counter[str] = Counter()
    some = _some(paths)
    for path in some:
        try:
            pairs.update(set(bipolar_channels(path, options)))
        except (RecordingError, MachineError):
            continue
    common = [pair for pair, n in pairs.items() if n == len(some)]
    why = f"{len(paths)} recordings are bipolar, and pairs are never re-referenced."
    suggestions = [Suggestion("montage.kind", "bipolar", why, len(paths))]
    if common:
        why = "These pairs are in all the recordings that were looked at."
        suggestions.append(Suggestion("montage.channels", sorted(common), why, len(paths)))
    return suggestions


def _unknown(refused: dict[str, list[Path]]) -> list[Suggestion]:
    """Name the settings whose values only a person can know."""
    settings = {
        "rate_unknown": ("input.sfreq_hz", "The files do not state their sampling rate."),
        "names_unknown": (
            "input.file_channels", "The files do not name their channels; list them in order.",
        ),
    }  # fmt: skip
    return [
        Suggestion(setting, None, why, len(refused[code]))
        for code, (setting, why) in settings.items()
        if refused.get(code)
    ]


def _filters(usable: Sequence[RecordingSummary], options: ReadOptions) -> list[Suggestion]:
    """Suggest the filter that some headers state for those that state none."""
    suggestions = []
    for name, words in (("lowpass_hz", "low-pass"), ("highpass_hz", "high-pass")):
        stated = Counter(getattr(summary, name) for summary in usable)
        silent = stated.pop(None, 0)
        if getattr(options, name) is not None or not silent or len(stated) != 1:
            continue
        ((value, n),) = stated.items()
        suggestions.append(Suggestion(
            f"input.{name}", value, f"{n} headers state a {words} filter of {value:g} Hz and the "
            "others state none. Set it if all files were filtered.", silent,
        ))  # fmt: skip
    return suggestions


def _never_there(usable: Sequence[RecordingSummary], options: ReadOptions) -> list[Suggestion]:
    """Suggest a montage without channels that no recording has."""
    absent = set(options.channels).intersection(*(s.missing for s in usable)) if usable else set()
    if not absent:
        return []
    rest = [name for name in options.channels if name not in absent]
    return [Suggestion(
        "montage.channels", rest, f"No recording has {', '.join(sorted(absent))}.", len(usable)
    )]  # fmt: skip


def _toml(value: object) -> str:
    """Write a value as TOML does."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"
