"""Which channels of a file are the study's, and what has to be said about the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from neuroveil.recordings.channels import ChannelLabel, parse_label
from neuroveil.recordings.contents import FileChannel, FileContents
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.units import unit_factor
from neuroveil.types.recording import FloatArray, QualityFinding

MIN_SFREQ_HZ, MAX_SFREQ_HZ = 1.0, 200_000.0
"""Sampling rates outside this range are taken for damage."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The chosen channels of a file.

    Parameters
    ----------
    ch_names, eog_names : tuple of str
        Canonical names, EEG in the montage's order.
    indices : tuple of int
        Positions in the file, EEG first, then EOG.
    factors : ndarray of float64, shape (n_channels,)
        Microvolts per file unit.
    sfreq : float
        Sampling rate in Hz.
    highpass_hz, lowpass_hz : float or None
        The narrowest filters of the chosen channels, in Hz.
    findings : tuple of QualityFinding
        What was noticed.
    """

    ch_names: tuple[str, ...]
    eog_names: tuple[str, ...]
    indices: tuple[int, ...]
    factors: FloatArray
    sfreq: float
    highpass_hz: float | None
    lowpass_hz: float | None
    findings: tuple[QualityFinding, ...] = field(default=())


def select_channels(contents: FileContents, options: ReadOptions) -> Selection:
    """Choose the study's channels of a file.

    Parameters
    ----------
    contents : FileContents
        The file as its reader describes it.
    options : ReadOptions
        The study's montage, unit and rates.

    Returns
    -------
    Selection
        What to read and how to scale it.

    Raises
    ------
    RecordingError
        If no channel of the montage is usable, the file is bipolar where the study is
        not, or a unit or rate is unknown.
    """
    channels = contents.channels
    labels = tuple(_label(channel) for channel in channels)
    found, findings = _montage_channels(channels, labels, options)
    sfreq, rate_findings = _sampling_rate([channels[i] for i in found.values()], options)
    found = {name: i for name, i in found.items() if _same_rate(channels[i], sfreq)}
    eyes, eye_findings = _eye_channels(channels, labels, sfreq)
    chosen = [*found.values(), *eyes.values()]
    picked, scalp = [channels[i] for i in chosen], [channels[i] for i in found.values()]
    return Selection(
        ch_names=tuple(found), eog_names=tuple(eyes), indices=tuple(chosen),
        factors=_factors(picked, options), sfreq=sfreq,
        highpass_hz=options.highpass_hz or max(_stated(c.highpass_hz for c in scalp), default=None),
        lowpass_hz=options.lowpass_hz or min(_stated(c.lowpass_hz for c in scalp), default=None),
        findings=(
            *contents.findings, *findings, *rate_findings, *eye_findings,
            *_missing(found, options), *_mixed_references(found, labels),
        ),
    )  # fmt: skip


def _label(channel: FileChannel) -> ChannelLabel:
    """Understand a label; what the file itself declares as no EEG is none."""
    label = parse_label(channel.label)
    if channel.kind in (None, "eeg", label.kind):
        return label
    return ChannelLabel(channel.kind or "other")


def _montage_channels(
    channels: tuple[FileChannel, ...], labels: tuple[ChannelLabel, ...], options: ReadOptions
) -> tuple[dict[str, int], list[QualityFinding]]:
    """Find the montage's channels, the first usable of each name."""
    wanted_kind = "eeg" if options.montage == "referential" else "bipolar"
    candidates: dict[str, list[int]] = {name: [] for name in options.channels}
    for index, label in enumerate(labels):
        if label.kind == wanted_kind and label.name in candidates:
            candidates[label.name].append(index)
    findings: list[QualityFinding] = []
    found: dict[str, int] = {}
    for name, indices in candidates.items():
        usable = [i for i in indices if channels[i].problem is None]
        if usable:
            found[name] = usable[0]
        elif indices:
            findings.append(QualityFinding(
                "unusable_channel", f"{name} is left out: {channels[indices[0]].problem}.", name
            ))  # fmt: skip
        if len(indices) > 1:
            findings.append(QualityFinding(
                "duplicate_channel", f"{name} stands in the file {len(indices)} times; "
                "the first usable one is read.", name, len(indices),
            ))  # fmt: skip
    if not found:
        raise _nothing_found(labels, options)
    return found, findings


def _nothing_found(labels: tuple[ChannelLabel, ...], options: ReadOptions) -> Exception:
    """Say why a file has no channel of the montage."""
    counts = Counter(label.kind for label in labels)
    found = f"none usable among {len(labels)} channels"
    if options.montage == "referential" and counts["bipolar"]:
        return options.refusal(
            "a recording against a common reference",
            f"a bipolar recording ({counts['bipolar']} pairs of electrodes)",
            "Set montage.kind to 'bipolar' and list the pairs, or export with a common "
            "reference. Pairs are never re-referenced.", code="bipolar_file",
        )  # fmt: skip
    if options.montage == "bipolar" and counts["eeg"]:
        return options.refusal(
            "bipolar channels of the montage", f"{found}; {counts['eeg']} are referential",
            "Set montage.kind to 'referential', or export the pairs.", code="referential_file",
        )  # fmt: skip
    return options.refusal(
        "EEG channels of the montage", found,
        "Check that this is an EEG recording and that montage.channels fits its labels.",
        code="no_montage_channel",
    )  # fmt: skip


def _rate(channel: FileChannel, options: ReadOptions) -> float | None:
    """Sampling rate of a channel: the file's, else the study's."""
    return channel.sfreq if channel.sfreq is not None else options.sfreq


def _sampling_rate(
    picked: list[FileChannel], options: ReadOptions
) -> tuple[float, list[QualityFinding]]:
    """Find the one rate that most of the montage's channels have."""
    rates = Counter(rate for c in picked if (rate := _rate(c, options)) is not None)
    if not rates:
        raise options.refusal(
            "a sampling rate", "none in the file",
            "Set input.sfreq_hz in the study if you know it for all such files.",
            code="rate_unknown",
        )  # fmt: skip
    sfreq, count = rates.most_common(1)[0]
    if not MIN_SFREQ_HZ <= sfreq <= MAX_SFREQ_HZ:
        raise options.refusal(
            f"a sampling rate of {MIN_SFREQ_HZ:g} to {MAX_SFREQ_HZ:g} Hz", f"{sfreq:g} Hz",
            "The header may be damaged. Export the recording again.", code="rate_impossible",
        )  # fmt: skip
    findings = []
    if count < len(picked):
        findings.append(QualityFinding(
            "different_rates", f"{len(picked) - count} channels of the montage have another "
            f"sampling rate than {sfreq:g} Hz and are left out.", count=len(picked) - count,
        ))  # fmt: skip
    if options.sfreq is not None and options.sfreq != sfreq:
        findings.append(QualityFinding(
            "rate_differs_from_study", f"The file states {sfreq:g} Hz, the study "
            f"{options.sfreq:g} Hz; the file's rate is used.",
        ))  # fmt: skip
    return float(sfreq), findings


def _same_rate(channel: FileChannel, sfreq: float) -> bool:
    """Whether a channel has the chosen rate; a file without rates has one rate."""
    return channel.sfreq is None or channel.sfreq == sfreq


def _eye_channels(
    channels: tuple[FileChannel, ...], labels: tuple[ChannelLabel, ...], sfreq: float
) -> tuple[dict[str, int], list[QualityFinding]]:
    """Find eye channels that run at the EEG's rate and have a known unit."""
    eyes: dict[str, int] = {}
    left_out = 0
    for index, (channel, label) in enumerate(zip(channels, labels, strict=True)):
        if label.kind != "eog":
            continue
        usable = channel.problem is None and _same_rate(channel, sfreq)
        name = label.name if label.name and label.name not in eyes else f"EOG{len(eyes) + 1}"
        if usable and name not in eyes:
            eyes[name] = index
        else:
            left_out += 1
    findings = []
    if left_out:
        findings.append(QualityFinding(
            "eye_channel_left_out", f"{left_out} eye channels have another sampling rate or "
            "cannot be read, and are not used.", count=left_out,
        ))  # fmt: skip
    return eyes, findings


def _factors(picked: list[FileChannel], options: ReadOptions) -> FloatArray:
    """Microvolts per file unit for every channel, or a refusal that says how many."""
    factors = [
        unit_factor(options.unit_override or channel.unit or options.unit or "")
        for channel in picked
    ]
    if options.unit is not None and options.unit_override is None:
        # An unknown spelling counts as not stated, once the study says which unit it is.
        factors = [unit_factor(options.unit) if f is None else f for f in factors]
    unknown = sum(factor is None for factor in factors)
    if unknown:
        blank = sum(_is_blank(channel.unit) for channel in picked)
        raise options.refusal(
            "a unit of voltage for every channel (nV, µV, mV or V)",
            f"{blank} channels without a unit and {unknown - blank} with an unknown one, "
            f"of {len(picked)}",
            "Set input.unit in the study if you know the unit of these files for certain.",
            code="unit_unknown",
        )  # fmt: skip
    return np.array(factors, dtype=np.float64)


def _is_blank(unit: str | bytes | None) -> bool:
    """Whether a file states no unit at all."""
    text = unit.decode("latin-1") if isinstance(unit, bytes) else (unit or "")
    return not text.replace("\x00", " ").strip()


def _stated(values: Iterable[float | None]) -> list[float]:
    """Keep the values that a file states."""
    return [value for value in values if value is not None]


def _missing(found: dict[str, int], options: ReadOptions) -> list[QualityFinding]:
    """One finding for each channel of the montage that was not found."""
    return [
        QualityFinding("missing_channel", f"{name} is not in the file, or not usable.", name)
        for name in options.channels
        if name not in found
    ]


def _mixed_references(
    found: dict[str, int], labels: tuple[ChannelLabel, ...]
) -> list[QualityFinding]:
    """A finding where labels name more than one reference."""
    references = {labels[i].reference for i in found.values()} - {""}
    if len(references) < 2:
        return []
    return [QualityFinding(
        "mixed_references", "The labels name more than one reference electrode.",
        count=len(references),
    )]  # fmt: skip
