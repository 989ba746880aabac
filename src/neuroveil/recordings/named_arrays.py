"""Plain MAT and HDF5 files: a matrix, a sampling rate and names under any sensible key.

Which axis holds the channels is decided by the number of names, and by nothing else: a file
in which both axes fit, or neither, is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuroveil.recordings.contents import (
    FileChannel,
    MatrixSegment,
    RawSegment,
    SegmentMaker,
)
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.tree import (
    Leaf,
    Matrix,
    Path,
    as_matrix,
    as_number,
    as_texts,
    leaves,
    nearest,
    plain,
)
from neuroveil.types.recording import FloatArray, QualityFinding

Parts = tuple[tuple[FileChannel, ...], SegmentMaker, tuple[QualityFinding, ...]]

_SIGNAL_KEYS = frozenset({
    "data", "eeg", "signal", "signals", "x", "eegdata", "rawdata", "raw", "recording", "record",
    "val", "values", "samples", "eegsignal", "eegsignals", "rawsignal", "sig", "timeseries",
})  # fmt: skip
_RATE_KEYS = frozenset({
    "fs", "sfreq", "srate", "samplingrate", "samplerate", "samplingfrequency", "fsample",
    "samplingfreq", "samplefrequency", "samplefreq", "fshz", "sfreqhz",
})  # fmt: skip
_NAME_KEYS = frozenset({
    "chnames", "channames", "channels", "channelnames", "labels", "label", "channellabels",
    "chanlabels", "electrodes", "electrodenames", "chlabels", "channel", "channelslabels",
    "montage", "clab", "sensors", "chans", "chan",
})  # fmt: skip
_NAME_PARENTS = _NAME_KEYS | {"chanlocs", "chaninfo"}
_UNIT_KEYS = frozenset({
    "unit", "units", "chunits", "chunit", "chanunit", "chanunits", "dataunit", "dataunits",
    "physicaldimension", "physicaldimensions", "channelunits", "channelunit", "unitofmeasure",
})  # fmt: skip
_GAIN_KEYS = frozenset({
    "gain", "gains", "scale", "scales", "scaling", "scalefactor", "resolution", "lsb",
    "conversionfactor", "conversion", "channelgain", "channelgains", "bitvolts", "calibration",
})  # fmt: skip


def plain_contents(tree: dict[str, Any], options: ReadOptions) -> Parts:
    """Find signal, names, rate and unit in a file without a known layout.

    Parameters
    ----------
    tree : dict
        All variables.
    options : ReadOptions
        Names, rate and unit where the file states none.

    Returns
    -------
    channels, segments, findings
        What the file holds.

    Raises
    ------
    RecordingError
        If anything is missing or could be read in two ways.
    """
    all_leaves = list(leaves(tree))
    names_found = [
        (path, texts)
        for path, node in all_leaves
        if _is_name_key(path) and (texts := as_texts(node)) is not None
    ]
    where, matrix = _signal(all_leaves, {len(n) for _, n in names_found}, options)
    names = nearest(
        names_found, where, options, "list of channel names",
        prefer=lambda n: len(n) in matrix.shape,
    ) or options.file_channels  # fmt: skip
    matrix, channels_first = _oriented(matrix, names, options)
    rates = _numbers(all_leaves, _RATE_KEYS)
    sfreq = nearest(rates, where, options, "sampling rate")
    units = _units(all_leaves, where, len(names), options)
    gains, findings = _gains(all_leaves, where, matrix, len(names), options)
    channels = tuple(
        FileChannel(name, unit, sfreq) for name, unit in zip(names, units, strict=True)
    )

    def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
        chosen = None if gains is None else gains[list(indices)]
        return (MatrixSegment(matrix.stored, indices, channels_first, chosen),)

    return channels, segments, findings


def _is_name_key(path: Path) -> bool:
    """Whether a path may lead to channel names; a bare ``name`` may be a patient's."""
    key = plain(path[-1])
    if key in _NAME_KEYS:
        return True
    return len(path) > 1 and key in {"name", "names"} and plain(path[-2]) in _NAME_PARENTS


def _numbers(all_leaves: list[Leaf], keys: frozenset[str]) -> list[tuple[Path, float]]:
    """All single numbers under some keys."""
    return [
        (path, number)
        for path, node in all_leaves
        if plain(path[-1]) in keys and (number := as_number(node)) is not None
    ]


def _signal(
    all_leaves: list[Leaf], name_counts: set[int], options: ReadOptions
) -> tuple[Path, Matrix]:
    """Find the one matrix that is the signal: by its key, then by the number of names."""
    counts = name_counts | ({len(options.file_channels)} if options.file_channels else set())
    matrices = [
        (path, matrix)
        for path, node in all_leaves
        if (matrix := as_matrix(node)) is not None
        and (len(matrix.shape) == 2 or (len(matrix.shape) == 1 and 1 in counts))
        and int(np.prod(matrix.shape)) > 1
    ]
    for candidates in (
        [(p, m) for p, m in matrices if plain(p[-1]) in _SIGNAL_KEYS],
        [(p, m) for p, m in matrices if counts & set(m.shape) and plain(p[-1]) not in _GAIN_KEYS],
    ):
        fitting = [(p, m) for p, m in candidates if counts & set(m.shape)] or candidates
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise options.refusal(
                "one matrix that is the signal", f"{len(fitting)} that could be",
                "Save the recording alone: one matrix, its names and its sampling rate.",
                code="ambiguous",
            )  # fmt: skip
    raise options.refusal(
        "a matrix of channels x samples", "none in the file",
        "Save the signal as a two-dimensional array named 'data' with 'ch_names', 'sfreq' and "
        "'unit' beside it.", code="no_signal",
    )  # fmt: skip


def _oriented(matrix: Matrix, names: tuple[str, ...], options: ReadOptions) -> tuple[Matrix, bool]:
    """Decide by the number of names which stored axis holds the channels."""
    if not names:
        raise options.refusal(
            "names of the channels", "none in the file",
            "Save them as 'ch_names' (MATLAB's string class needs the extra 'formats' and a "
            "variable of its own; cellstr always works), or list them in input.file_channels of "
            "the study.", code="names_unknown",
        )  # fmt: skip
    if len(matrix.shape) == 1:
        matrix = Matrix(np.reshape(matrix.stored, (1, -1)))
    rows, columns = (n == len(names) for n in matrix.shape)
    if rows == columns:
        raise options.refusal(
            f"a matrix with one axis of {len(names)}, the number of channel names",
            "both axes of that length" if rows else "neither axis of that length",
            "Correct the names, or save a longer piece: which axis holds the channels is not "
            "guessed.", code="ambiguous",
        )  # fmt: skip
    return matrix, rows != matrix.transposed


def _units(
    all_leaves: list[Leaf], where: Path, n_channels: int, options: ReadOptions
) -> tuple[str | None, ...]:
    """Units of the channels: one for all, or one each."""
    found = [
        (path, texts)
        for path, node in all_leaves
        if plain(path[-1]) in _UNIT_KEYS and (texts := as_texts(node)) is not None
    ]
    stated = nearest(found, where, options, "unit")
    units: tuple[str | None, ...] = (None,) if stated is None else stated
    if len(units) not in (1, n_channels):
        raise options.refusal(
            f"one unit, or {n_channels}",
            f"{len(units)}",
            "Correct the units in the file.",
            code="ambiguous",
        )
    return units * n_channels if len(units) == 1 else units


def _gains(
    all_leaves: list[Leaf], where: Path, matrix: Matrix, n_channels: int, options: ReadOptions
) -> tuple[FloatArray | None, tuple[QualityFinding, ...]]:
    """Gains of integer samples; a gain beside other samples has been applied already."""
    found = [
        (path, tuple(np.ravel(m.load()).tolist()))
        for path, node in all_leaves
        if plain(path[-1]) in _GAIN_KEYS
        and (m := as_matrix(np.asarray(node) if as_number(node) else node)) is not None
        and int(np.prod(m.shape)) in (1, n_channels)
    ]
    gains = nearest(found, where, options, "gain")
    if gains is None:
        return None, ()
    if not matrix.is_integer:
        return None, (QualityFinding(
            "gain_not_applied", "The file states a gain beside samples that are no whole "
            "numbers; it is taken as applied already.",
        ),)  # fmt: skip
    values = np.array(gains * (n_channels if len(gains) == 1 else 1), dtype=np.float64)
    if not bool(np.isfinite(values).all() and (values != 0).all()):
        raise options.refusal(
            "finite gains other than zero",
            "others",
            "Correct the gains in the file.",
            code="damaged",
        )
    return values, ()
