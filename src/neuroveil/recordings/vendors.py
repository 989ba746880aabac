"""Recorders' own formats that mne reads, with what mne gets wrong put right.

Where mne takes an unknown unit for volts, resamples channels or guesses labels in silence,
the file is described as it is, or refused.
"""

from __future__ import annotations

import struct
from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from neuroveil.recordings.channels import parse_label
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
        If its EEG is slower than other signals: mne would resample it.
    """

    def change(raw: Any, channels: Channels) -> Channels:
        channels = _at_full_rate(raw, channels, options)
        extras = raw._raw_extras[0]
        stated = int(extras["data_offset"]) + int(extras["n_records"]) * int(extras["bytes_tot"])
        _need_bytes(path, stated, options)
        units = _gdf_units(path, len(channels))
        return tuple(replace(c, unit=u) for c, u in zip(channels, units, strict=True))

    return contents_from_raw(
        lambda mne: mne.io.read_raw_gdf(path, stim_channel=False, verbose="CRITICAL"),
        "GDF", change=change,
    )  # fmt: skip


def _at_full_rate(raw: Any, channels: Channels, options: ReadOptions) -> Channels:
    """Set signals aside that are slower than the fastest; mne gives them resampled."""
    lengths = [int(n) for n in raw._raw_extras[0]["n_samps"]]
    slower = [length < max(lengths) for length in lengths]
    left = [c for c, slow in zip(channels, slower, strict=True) if not slow]
    if any(slower) and not any(parse_label(c.label).kind in ("eeg", "bipolar") for c in left):
        raise options.refusal(
            "GDF signals of which the EEG is the fastest", "EEG that is slower than others",
            "Export the EEG channels alone, or as EDF+.", code="different_rates",
        )  # fmt: skip
    why = "it has another sampling rate than the fastest signals of its file"
    return tuple(
        replace(c, problem=why) if slow else c for c, slow in zip(channels, slower, strict=True)
    )


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
