"""ANT Neuro and Curry, which mne reads with the libraries of the extra ``formats``.

What mne gets wrong is put right here: units that it takes for volts, references and epochs
that it forgets.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from neuroveil.recordings.contents import FileChannel, FileContents
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.parts import parts_of
from neuroveil.recordings.through_mne import contents_from_raw

Channels = tuple[FileChannel, ...]


def open_ant(path: Path, options: ReadOptions) -> FileContents:
    """Open an ANT Neuro ``.cnt`` recording, where the library antio is installed.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Not needed; here for the common signature of readers.

    Returns
    -------
    FileContents
        Channels and signal. A channel with another reference than most has it in its name,
        since it may be a bipolar one.
    """
    del options
    _, read_info = import_module("antio"), import_module("antio.parser").read_info

    def change(raw: Any, channels: Channels) -> Channels:
        from mne.io.ant.ant import _UNITS as SCALED

        cnt = import_module("antio").read_cnt(path)
        _, units, references, _, _ = read_info(cnt, encoding="latin-1")
        usual = Counter(references).most_common(1)[0][0]
        return tuple(
            replace(
                channel, unit="V" if unit in SCALED else unit or None,
                label=channel.label if reference == usual else f"{channel.label}-{reference}",
            )
            for channel, unit, reference in zip(channels, units, references, strict=True)
        )  # fmt: skip

    return contents_from_raw(
        lambda mne: mne.io.read_raw_ant(path, verbose="CRITICAL"), "ANT Neuro", change=change
    )


def open_curry(path: Path, options: ReadOptions) -> FileContents:
    """Open a Curry recording of any version, where the library curryreader is installed.

    Parameters
    ----------
    path : Path
        The ``.cdt`` or ``.dat`` file.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    FileContents
        Channels and signal.

    Raises
    ------
    RecordingError
        If it holds epochs, whose borders would be lost, or states two sampling rates.
    """
    stated = _curry_numbers(path)
    if stated.get("NumTrials", 1.0) > 1:
        raise options.refusal(
            "a continuous Curry recording", "one that was cut into epochs",
            "Export the continuous recording, or as EDF+.", code="epochs",
        )  # fmt: skip
    interval, sfreq = stated.get("SampleTimeUsec", 0.0), stated.get("SampleFreqHz", 0.0)
    if interval and sfreq and not math.isclose(1e6 / interval, sfreq, rel_tol=1e-4):
        raise options.refusal(
            "one sampling rate", "an interval and a rate that contradict each other",
            "Export the recording again, or as EDF+.", code="damaged",
        )  # fmt: skip

    import_module("curryreader")

    def change(raw: Any, channels: Channels) -> Channels:
        # mne scales uV, and takes every other unit for volts.
        units = raw._orig_units
        return tuple(
            c if units.get(c.label) in ("µV", "uV") else replace(c, unit=units.get(c.label))
            for c in channels
        )

    return contents_from_raw(
        lambda mne: mne.io.read_raw_curry(path, verbose="CRITICAL"), "Curry", change=change
    )


def _curry_numbers(path: Path) -> dict[str, float]:
    """Read the numbers that the file of parameters states, by their names."""
    numbers: dict[str, float] = {}
    for part in parts_of(path)[1:]:
        if part.suffix.lower() in (".dpa", ".dpo", ".dap"):
            text = part.read_text(encoding="latin-1")
            for name, value in re.findall(r"^\s*(\w+)\s*=\s*([0-9.]+)\s*$", text, re.MULTILINE):
                numbers.setdefault(name, float(value))
    return numbers
