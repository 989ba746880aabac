"""FieldTrip raw data: one or many trials of channels x samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuroveil.recordings.contents import (
    FileChannel,
    MatrixSegment,
    RawSegment,
    SegmentMaker,
    gap_findings,
)
from neuroveil.recordings.options import ReadOptions
from neuroveil.recordings.tree import Matrix, as_matrix, as_number, as_texts
from neuroveil.types.recording import QualityFinding

Parts = tuple[tuple[FileChannel, ...], SegmentMaker, tuple[QualityFinding, ...]]


def fieldtrip_struct(tree: dict[str, Any]) -> dict[str, Any] | None:
    """Find a raw data struct: a variable with ``trial`` and ``label``.

    Parameters
    ----------
    tree : dict
        All variables.

    Returns
    -------
    dict or None
        None where the file has no such struct, or more than one.
    """
    found = [
        node
        for node in (tree, *tree.values())
        if isinstance(node, dict) and {"trial", "label"} <= node.keys()
    ]
    return found[0] if len(found) == 1 else None


def fieldtrip_contents(raw: dict[str, Any], options: ReadOptions) -> Parts:
    """Describe FieldTrip data; every trial is a segment.

    Parameters
    ----------
    raw : dict
        The struct.
    options : ReadOptions
        For the role in errors, and the unit where ``hdr.chanunit`` is absent.

    Returns
    -------
    channels, segments, findings
        What the file holds.

    Raises
    ------
    RecordingError
        If trials do not have one row a label.
    """
    labels = as_texts(raw["label"]) or ()
    trials = _trials(raw["trial"], len(labels))
    if not labels or not trials or any(t.shape[0] != len(labels) for t in trials):
        raise options.refusal(
            "FieldTrip trials with one row a label", f"{len(trials)} trials, {len(labels)} labels",
            "Save raw data of FieldTrip (ft_datatype_raw), labels as text.", code="damaged",
        )  # fmt: skip
    units = _units(raw, labels)
    sfreq = as_number(raw.get("fsample")) or _rate_of(raw.get("time"))
    channels = tuple(
        FileChannel(label, unit, sfreq) for label, unit in zip(labels, units, strict=True)
    )

    def segments(indices: tuple[int, ...]) -> tuple[RawSegment, ...]:
        return tuple(
            MatrixSegment(t.stored, indices, channels_first=not t.transposed) for t in trials
        )

    return channels, segments, gap_findings(len(trials))


def _trials(node: Any, n_labels: int) -> list[Matrix]:
    """See the cell of trials as matrices; a file reader may have unpacked a single one."""
    items = node if isinstance(node, list) else [node]
    matrices = [matrix for item in items if (matrix := as_matrix(item)) is not None]
    if len(matrices) != len(items):
        return []
    if n_labels == 1:
        matrices = [Matrix(m.stored.reshape(1, -1)) if len(m.shape) == 1 else m for m in matrices]
    return matrices if all(len(m.shape) == 2 for m in matrices) else []


def _units(raw: dict[str, Any], labels: tuple[str, ...]) -> tuple[str | None, ...]:
    """Units of the header by label, where it states them."""
    header = raw.get("hdr")
    header = header if isinstance(header, dict) else raw
    units, names = as_texts(header.get("chanunit")), as_texts(header.get("label"))
    if units is None or names is None or len(units) != len(names):
        return (None,) * len(labels)
    by_name = dict(zip(names, units, strict=True))
    return tuple(by_name.get(label) for label in labels)


def _rate_of(time: Any) -> float | None:
    """Sampling rate in Hz from the time axis of the first trial, in seconds."""
    axis = as_matrix(time[0] if isinstance(time, list) and time else time)
    if axis is None or int(np.prod(axis.shape)) < 2:
        return None
    seconds = axis.load().ravel()
    span = float(seconds[-1] - seconds[0])
    return round((seconds.size - 1) / span, 6) if span > 0 else None
