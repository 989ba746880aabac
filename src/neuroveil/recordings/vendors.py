"""Recorders' own formats that mne reads, with what mne gets wrong put right.

Where mne takes an unknown unit for volts, resamples channels or guesses labels in silence,
the file is described as it is, or refused.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from neuroveil.recordings.contents import FileChannel, FileContents
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.parts import parts_of
from neuroveil.recordings.through_mne import contents_from_raw
from neuroveil.types.recording import QualityFinding

Channels = tuple[FileChannel, ...]

# Codes of ISO/IEEE 11073-10101 as GDF 2 uses them; mne scales µV and mV, and takes the rest
# for volts.
_GDF_UNITS = {4256: "V", 4274: "V", 4275: "V", 4276: "nV"}

_EOG_NAMES = ("HEOG", "VEOG", "HEO", "VEO", "EOG")


def open_gdf(path: Path, options: ReadOptions) -> FileContents:
    """Open a GDF 1 or GDF 2 recording.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    FileContents
        Channels and signal.

    Raises
    ------
    RecordingError
        If its signals have different sampling rates, which mne would resample.
    """

    def change(raw: Any, channels: Channels) -> Channels:
        lengths = {int(n) for n in raw._raw_extras[0]["n_samps"]}
        if len(lengths) > 1:
            raise options.refusal(
                "GDF signals that share one sampling rate", f"{len(lengths)} rates",
                "Export the EEG channels alone, or as EDF+.", code="different_rates",
            )  # fmt: skip
        extras = raw._raw_extras[0]
        stated = int(extras["data_offset"]) + int(extras["n_records"]) * int(extras["bytes_tot"])
        _need_bytes(path, stated, options)
        units = _gdf_units(path, len(channels))
        return tuple(replace(c, unit=u) for c, u in zip(channels, units, strict=True))

    return contents_from_raw(
        lambda mne: mne.io.read_raw_gdf(path, stim_channel=False, verbose="CRITICAL"),
        "GDF", change=change,
    )  # fmt: skip


def _need_bytes(path: Path, n_bytes: int, options: ReadOptions) -> None:
    """Refuse a file that is shorter than its header says; mne would fill up with zeros."""
    if path.stat().st_size < n_bytes:
        raise options.refusal(
            "as many samples as the header states", "a file that ends before",
            "The recording was cut off. Export it again.", code="truncated",
        )  # fmt: skip


def _gdf_units(path: Path, n_channels: int) -> list[str | None]:
    """Units of the values as mne gives them, from the channel headers of GDF."""
    with path.open("rb") as file:
        data = file.read(256 * (n_channels + 1))
    if data[4:6] < b"1.9":
        start = 256 + 96 * n_channels
        spelled = [
            data[start + 8 * i : start + 8 * (i + 1)].decode("latin-1").strip("\x00 ")
            for i in range(n_channels)
        ]
        return ["V" if unit.startswith("uV") else unit or None for unit in spelled]
    codes = struct.unpack_from(f"<{n_channels}H", data, 256 + 102 * n_channels)
    return [_GDF_UNITS.get(code) for code in codes]


def open_neuroscan(path: Path, options: ReadOptions) -> FileContents:
    """Open a Neuroscan ``.cnt`` recording.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Not needed; here for the common signature of readers.

    Returns
    -------
    FileContents
        Channels and signal.
    """
    del options
    return contents_from_raw(
        lambda mne: mne.io.read_raw_cnt(path, eog=_EOG_NAMES, verbose="CRITICAL"), "Neuroscan"
    )


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


def open_nicolet(path: Path, options: ReadOptions) -> FileContents:
    """Open a Nicolet ``.data`` recording with its ``.head`` file.

    Parameters
    ----------
    path : Path
        The ``.data`` file.
    options : ReadOptions
        For the role in errors.

    Returns
    -------
    FileContents
        Channels and signal.

    Raises
    ------
    RecordingError
        If there are fewer samples than the header states.
    """

    def change(raw: Any, channels: Channels) -> Channels:
        _need_bytes(path, int(raw.n_times) * len(channels) * 2, options)
        return channels

    return contents_from_raw(
        lambda mne: mne.io.read_raw_nicolet(path, "eeg", verbose="CRITICAL"), "Nicolet",
        change=change,
    )  # fmt: skip


def open_egi(path: Path, options: ReadOptions) -> FileContents:
    """Open an EGI recording: simple binary (``.raw``) or a folder (``.mff``).

    EGI numbers its sensors. ``file_channels`` of the study says which electrode each is.

    Parameters
    ----------
    path : Path
        File or folder.
    options : ReadOptions
        Names of the sensors in the file's order.

    Returns
    -------
    FileContents
        Channels and signal.
    """
    if path.is_dir():
        import_module("mffpy")  # which mne needs for folders

    def change(raw: Any, channels: Channels) -> Channels:
        # Range and bits give microvolts a step (EGI's description of the simple binary
        # format); mne takes the step for volts.
        extras = raw._raw_extras[0]
        stepped = extras.get("value_range", 0) != 0 and extras.get("bits", 0) != 0
        eeg = [i for i, c in enumerate(channels) if c.kind == "eeg"]
        names = dict(zip(eeg, options.file_channels, strict=False))
        if len(options.file_channels) != len(eeg):
            names = {}
        return tuple(
            replace(
                c, label=names.get(i, c.label), unit="uV" if stepped and c.kind == "eeg" else c.unit
            )
            for i, c in enumerate(channels)
        )

    return contents_from_raw(
        lambda mne: mne.io.read_raw_egi(
            path, events_as_annotations=True, verbose="CRITICAL"
        ), "EGI", change=change,
    )  # fmt: skip


def open_nihon_kohden(path: Path, options: ReadOptions) -> FileContents:
    """Open a Nihon Kohden recording with its ``.21E`` file of electrode names.

    Parameters
    ----------
    path : Path
        The ``.EEG`` file.
    options : ReadOptions
        Not needed; here for the common signature of readers.

    Returns
    -------
    FileContents
        Channels and signal. Without a file of names, those of the factory are taken, and a
        finding says so.
    """
    del options
    with ExitStack() as stack:
        # mne looks for capital endings only, and would take the factory's names for the
        # recording's in silence.
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="neuroveil-")))
        found = {part.suffix.upper(): part.resolve() for part in parts_of(path)[1:]}
        for suffix, part in (found | {".EEG": path.resolve()}).items():
            (folder / f"recording{suffix}").symlink_to(part)
        findings = () if ".21E" in found else (QualityFinding(
            "factory_names", "There is no .21E file beside the recording; the factory's names "
            "of the electrodes were taken.",
        ),)  # fmt: skip
        contents = contents_from_raw(
            lambda mne: mne.io.read_raw_nihon(
                folder / "recording.EEG", encoding="latin-1", verbose="CRITICAL"
            ), "Nihon Kohden", findings=findings,
        )  # fmt: skip
        contents.resources.push(stack.pop_all())
        return contents
